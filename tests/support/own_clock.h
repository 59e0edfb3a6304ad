/* SPDX-License-Identifier: MIT */
/*
 * own_clock.h - a test's own time of day, which the library finds in place of the C library's.
 *
 * Only for programs of one source. From an archive, every program that asks for the time would take
 * it.
 */
#ifndef SFID_TESTS_OWN_CLOCK_H
#define SFID_TESTS_OWN_CLOCK_H

#include "support/kernel_clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

static _Atomic int64_t *own_clock; /* nanoseconds added to the time of day; NULL: none */
static bool own_clock_stands;      /* they are the time of day */

static int64_t own_wall_ns(void) {
    struct timespec t = {0};
    if (own_clock && own_clock_stands)
        return atomic_load(own_clock);
    kernel_clock(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + (own_clock ? atomic_load(own_clock) : 0);
}

int clock_gettime(clockid_t id, struct timespec *to) {
    if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
        return kernel_clock(id, to);
    const int64_t ns = own_wall_ns();
    *to = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    (void)zone;
    const int64_t ns = own_wall_ns();
    *to = (struct timeval){ns / 1000000000, ns % 1000000000 / 1000};
    return 0;
}

time_t time(time_t *to) {
    const time_t now = own_wall_ns() / 1000000000;
    if (to)
        *to = now;
    return now;
}

#endif
