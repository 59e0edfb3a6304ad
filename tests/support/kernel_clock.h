/* SPDX-License-Identifier: MIT */
/* kernel_clock.h - the kernel's clocks with any width of time_t, for replacements of C library
 * functions. */
#ifndef SFID_TESTS_KERNEL_CLOCK_H
#define SFID_TESTS_KERNEL_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int kernel_clock(clockid_t id, struct timespec *to) {
#ifdef SYS_clock_gettime64
    if (sizeof(time_t) > sizeof(long))
        return (int)syscall(SYS_clock_gettime64, id, to);
#endif
#ifdef SYS_clock_gettime
    return (int)syscall(SYS_clock_gettime, id, to);
#else
    return -1;
#endif
}

#endif
