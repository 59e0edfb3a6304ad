/* SPDX-License-Identifier: MIT */
/**
 * sfid/error.h - the error codes of libsfid.
 *
 * Every call that can fail returns one of these. All are negative, so one
 * comparison with zero tells an ID from an error. The list is the only source
 * of the codes, their values and the texts of sfid_strerror().
 */
#ifndef SFID_ERROR_H
#define SFID_ERROR_H

#define SFID_ERROR_LIST(X) \
    X(EINVAL, -1, "invalid argument") \
    X(ENOMEM, -2, "out of memory") \
    X(EAGAIN, -3, "sequence used up for now, try again") \
    X(EBUSY, -4, "process ID in use on this host") \
    X(ECLOCK, -5, "clock out of range (before the epoch, or too far back)") \
    X(EOVERFLOW, -6, "past the end of the layout") \
    X(ELEASE, -7, "no right to issue IDs now (window over or lease lost)") \
    X(ENOPID, -8, "all process IDs are taken") \
    X(EREDIS, -9, "Redis unreachable or misbehaving") \
    X(EAUTH, -10, "not authorised by Redis") \
    X(ELAYOUT, -11, "the app uses another layout") \
    X(ESTATE, -12, "run or state directory unusable") \
    X(ECLOSED, -13, "generator closed") \
    X(EUNSUPPORTED, -14, "not supported by this build or system")

/** The codes: SFID_EINVAL = -1, SFID_ENOMEM = -2, and so on down the list. */
enum sfid_error {
#define SFID__ERROR_CODE(name, value, text) SFID_##name = (value),
    SFID_ERROR_LIST(SFID__ERROR_CODE)
#undef SFID__ERROR_CODE
        SFID_OK = 0 /**< no error */
};

#endif
