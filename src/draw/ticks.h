/* SPDX-License-Identifier: MIT */
/*
 * ticks.h - the current tick by the processor's counter, for units below a
 * second.
 *
 * Reading the clock is nearly the whole cost of an ID. Reading the counter
 * costs less than half of that. So a thread reads the clock once a tick, and
 * computes from the counter's measured rate up to which count that tick lasts.
 * Until then reading the counter is enough. In the last thousandth of a tick,
 * while the rate is in doubt, and if the kernel does not keep time by this
 * counter, every call reads the clock.
 *
 * The result is a hint, like time(): only pace depends on it. ticks.c has the
 * argument.
 */
#ifndef SFID_DRAW_TICKS_H
#define SFID_DRAW_TICKS_H

#include "base/compiler.h"

/*
 * Neither instruction waits for those before it. A count may be some hundred
 * cycles old; the margin at the end of each tick has room for that.
 */
#if defined(__x86_64__)
#define SFID__HAVE_COUNTER 1
/* the kernel's name for its clock source that uses this counter */
#define SFID__COUNTER_SOURCE "tsc"
static inline uint64_t sfid__counter(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
/* The virtual count of the generic timer (Arm Architecture Reference Manual, CNTVCT_EL0); 24 MHz to
 * 1 GHz. */
#define SFID__HAVE_COUNTER 1
#define SFID__COUNTER_SOURCE "arch_sys_counter"
static inline uint64_t sfid__counter(void) {
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#else
#define SFID__HAVE_COUNTER 0
static inline uint64_t sfid__counter(void) { return 0; }
#endif

struct sfid__ticks {
    /* Every call reads these; they are written once a tick. */
    _Alignas(SFID__LINE) _Atomic uint64_t end; /* the count up to which the tick lasts */
    _Atomic uint64_t tick;
    /* counts in a tick, rounded up; 0 while the rate is not known: no end counts then */
    _Atomic uint64_t span;

    /* Written by init, and then only by the thread with the lock. */
    _Alignas(SFID__LINE) _Atomic uint64_t lock; /* sfid__process() of the holder; 0: free */
    /* sfid__counter, read once a tick by ticks.c; tests set their own */
    uint64_t (*counter)(void);
    int64_t epoch_ms;
    uint64_t unit_ms;
    uint64_t rate; /* counts per nanosecond << RATE_SHIFT; 0: not known yet */
    uint64_t base_count, base_width;
    uint64_t newest_count; /* the count at which the clock was read for tick and end */
    int64_t base_ns;
};

/* True if the counter may be used: the kernel keeps its own time by it, and this process may read
 * it. */
bool sfid__counter_is_good(void);

void sfid__ticks_init(struct sfid__ticks *t, int64_t epoch_ms, uint64_t unit_ms);

/* Reads the clock. Returns the precise tick, huge before the epoch. */
uint64_t sfid__ticks_refresh(struct sfid__ticks *t);

/* The tick, if the counter shows it. */
static inline bool sfid__ticks_lasts(struct sfid__ticks *t, uint64_t *tick) {
    /* Acquire, with the release in refresh: the tick read next belongs to this end or to a newer
     * one. */
    const uint64_t end = atomic_load_explicit(&t->end, memory_order_acquire);
    /* Unsigned, so that one comparison makes point 2 of ticks.c. Relaxed span: an old value counts
     * for the rest of one tick at most. */
    if (unlikely(end - sfid__counter() - 1 >= atomic_load_explicit(&t->span, memory_order_relaxed)))
        return false;
    *tick = atomic_load_explicit(&t->tick, memory_order_relaxed);
    return true;
}

static inline uint64_t sfid__ticks_now(struct sfid__ticks *t) {
    uint64_t tick;
    return likely(sfid__ticks_lasts(t, &tick)) ? tick : sfid__ticks_refresh(t);
}

#endif
