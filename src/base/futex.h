/* SPDX-License-Identifier: MIT */
/* futex.h - sleep until a word changes, whatever the width of time_t in the program and in the
 * kernel. */
#ifndef SFID_BASE_FUTEX_H
#define SFID_BASE_FUTEX_H

#include "base/compiler.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A private futex is cheaper. Words of a page are shared between processes. */
#define SFID__FUTEX_SHARED 0
#define SFID__FUTEX_PRIVATE FUTEX_PRIVATE_FLAG

/*
 * On a 32-bit system SYS_futex takes a time of two longs. It would read half of
 * a 64-bit time_t, and the wait would end at once. SYS_futex_time64 takes the
 * wide time. Kernels before 5.1 lack it, and container hosts that do not know
 * it refuse it with EPERM. (x32 has a wide time_t and no SYS_futex_time64:
 * there SYS_futex takes the wide time.)
 */
static inline long sfid__futex_call(_Atomic uint32_t *word, int op, uint32_t value,
                                    const struct timespec *ts) {
#ifdef SYS_futex_time64
    if (sizeof(time_t) > sizeof(long)) {
        const long rc = syscall(SYS_futex_time64, word, op, value, ts, NULL, 0);
        if (rc >= 0 || (errno != ENOSYS && errno != EPERM))
            return rc;
    }
    const struct { long s, ns; } narrow = {ts ? (long)ts->tv_sec : 0, ts ? (long)ts->tv_nsec : 0};
#else
    const struct timespec narrow = ts ? *ts : (struct timespec){0, 0};
#endif
#ifdef SYS_futex
    return syscall(SYS_futex, word, op, value, ts ? &narrow : NULL, NULL, 0);
#else
    (void)narrow;
    return -1;
#endif
}

/*
 * Sleeps while the word has this value, for at most ms (INT64_MAX: no limit). May return early.
 * Returns 0, or an errno, such as EPERM where a sandbox does not allow it. Changes errno.
 */
static inline int sfid__futex_wait(_Atomic uint32_t *word, int scope, uint32_t value, int64_t ms) {
    const struct timespec ts = {(time_t)SFID__MIN(ms / 1000, INT32_MAX),
                                (long)(ms % 1000) * 1000000};
    return sfid__futex_call(word, FUTEX_WAIT | scope, value, ms == INT64_MAX ? NULL : &ts) < 0
               ? errno
               : 0;
}

/* Wakes at most n sleepers. Async-signal-safe; keeps errno. */
static inline void sfid__futex_wake(_Atomic uint32_t *word, int scope, int n) {
    const int saved = errno;
    sfid__futex_call(word, FUTEX_WAKE | scope, (uint32_t)n, NULL);
    errno = saved;
}

#endif
