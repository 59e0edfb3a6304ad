/* SPDX-License-Identifier: MIT */
/*
 * counter.h - the cheapest clock of this machine that tells milliseconds, for floors.
 *
 * That is the processor's counter if the kernel keeps time by it. If it does not, no program can
 * turn a count into a time, as in a virtual machine with kvm-clock: then it is clock_gettime().
 */
#ifndef SFID_BENCH_COUNTER_H
#define SFID_BENCH_COUNTER_H

#include "rows.h"

#if defined(__x86_64__)
#define COUNTER "rdtsc"
#define COUNTER_SOURCE "tsc" /* as the kernel calls it in current_clocksource */
static inline uint64_t read_counter(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
#define COUNTER "cntvct"
#define COUNTER_SOURCE "arch_sys_counter"
static inline uint64_t read_counter(void) {
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#else
#define COUNTER "none"
#define COUNTER_SOURCE "none"
static inline uint64_t read_counter(void) { return 0; }
#endif

/* True if the kernel keeps time by the counter. */
bool time_by_counter(void);

static inline uint64_t cheapest_clock(bool by_counter) {
    return by_counter ? read_counter() : (uint64_t)now_ns();
}

#endif
