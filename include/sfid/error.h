/* SPDX-License-Identifier: MIT */
/**
 * sfid/error.h - the error codes of libsfid.
 *
 * Every call that can fail returns one of these. All are negative, so one
 * comparison with zero tells an ID from an error. The list is the only source
 * of the codes, their values and the texts of sfid_strerror(). Behind each code
 * stand its names in C++, Rust and Go, and the status with which sfid(1) ends.
 */
#ifndef SFID_ERROR_H
#define SFID_ERROR_H

/* clang-format off */
#define SFID_ERROR_LIST(X) \
    X(EINVAL, -1, "invalid argument")                                       /* invalid_argument, Invalid, Inval: USAGE */ \
    X(ENOMEM, -2, "out of memory")                                          /* no_memory, OutOfMemory, NoMem: INTERNAL */ \
    X(EAGAIN, -3, "sequence used up for now, try again")                    /* again, Again, Again: BUSY */ \
    X(EBUSY, -4, "process ID in use on this host")                          /* busy, Busy, Busy: BUSY */ \
    X(ECLOCK, -5, "clock out of range (before the epoch, or too far back)") /* clock, Clock, Clock: INTERNAL */ \
    X(EOVERFLOW, -6, "past the end of the layout")                          /* overflow, Overflow, Overflow: INTERNAL */ \
    X(ELEASE, -7, "no right to issue IDs now (window over or lease lost)")  /* lease, Lease, Lease: LEASE */ \
    X(ENOPID, -8, "all process IDs are taken")                              /* no_pid, NoPid, NoPid: BUSY */ \
    X(EREDIS, -9, "Redis unreachable or misbehaving")                       /* redis, Redis, Redis: UNREACHABLE */ \
    X(EAUTH, -10, "not authorised by Redis")                                /* not_authorised, Auth, Auth: AUTH */ \
    X(ELAYOUT, -11, "the app uses another layout")                          /* other_layout, Layout, Layout: CONFIG */ \
    X(ESTATE, -12, "run or state directory unusable")                       /* state, State, State: STATE */ \
    X(ECLOSED, -13, "generator closed")                                     /* closed, Closed, Closed: INTERNAL */ \
    X(EUNSUPPORTED, -14, "not supported by this build or system")           /* unsupported, Unsupported, Unsupported: CONFIG */
/* clang-format on */

/** The codes: SFID_EINVAL = -1, SFID_ENOMEM = -2, and so on down the list. */
enum sfid_error {
#define SFID__ERROR_CODE(name, value, text) SFID_##name = (value),
    SFID_ERROR_LIST(SFID__ERROR_CODE)
#undef SFID__ERROR_CODE
        SFID_OK = 0 /**< no error */
};

#endif
