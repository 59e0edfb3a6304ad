/* SPDX-License-Identifier: MIT */
/** threads_before.h - how many threads this process has before a scene. */
#ifndef SFID_TESTS_THREADS_BEFORE_H
#define SFID_TESTS_THREADS_BEFORE_H

#include "support/proc.h"

/* Counts them once those of the scene before are gone: a thread that was joined may stay in /proc for a moment. */
static inline int threads_before(void) {
    static int alone; /* the first time, without a generator */
    if (alone == 0)
        alone = count_threads();
    tap_wait_until(threads_are, &alone, patience(2000));
    return count_threads();
}

#endif
