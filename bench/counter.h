/* SPDX-License-Identifier: MIT */
/* counter.h - the processor's counter, for floors: the cheapest clock that there is. */
#ifndef SFID_BENCH_COUNTER_H
#define SFID_BENCH_COUNTER_H

#include "rows.h"

#if defined(__x86_64__)
#define COUNTER "rdtsc"
static inline uint64_t counter(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
#define COUNTER "cntvct"
static inline uint64_t counter(void) {
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#else
#define COUNTER "clock_gettime"
static inline uint64_t counter(void) { return (uint64_t)now_ns(); }
#endif

#endif
