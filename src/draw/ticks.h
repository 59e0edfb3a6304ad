/* SPDX-License-Identifier: MIT */
/*
 * ticks.h - the current tick by the processor's counter, for units below a second.
 *
 * Reading the clock is nearly the whole cost of an ID, and reading the counter
 * costs less than half of that. So the clock is read once a tick: it tells the
 * tick and, by the counter's measured rate, a count up to which that tick
 * certainly lasts. Until then reading the counter is enough. In the last
 * thousandth of a tick, after any doubt, and wherever the kernel itself does
 * not go by this counter, the clock is read each time.
 *
 * A hint, like time(): nothing but pace hangs on it. It is never early; it is
 * late only when the clock steps, and then for the rest of one tick.
 */
#ifndef SFID_DRAW_TICKS_H
#define SFID_DRAW_TICKS_H

#include "base/compiler.h"

/*
 * Neither instruction waits for those before it: a count may be some hundred
 * cycles old, which the margin at the end of each tick has room for.
 */
#if defined(__x86_64__)
#define SFID__HAVE_COUNTER 1
#define SFID__COUNTER_SOURCE "tsc" /* as the kernel's clock source is called that goes by it */
static inline uint64_t sfid__counter(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
/* The virtual count of the generic timer (Arm Architecture Reference Manual, CNTVCT_EL0); 24 MHz to 1 GHz. */
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
    /* Read by every call, written once a tick. */
    _Alignas(SFID__LINE) _Atomic uint64_t end; /* count up to which tick lasts */
    _Atomic uint64_t tick;
    _Atomic uint64_t span; /* counts in a tick, rounded up; 0 until the rate is known: then nothing is ever current */

    /* Of whoever holds the lock. */
    _Alignas(SFID__LINE) _Atomic uint64_t lock; /* sfid__process() of the holder; 0: free */
    uint64_t (*counter)(void);                  /* sfid__counter, as ticks.c reads it once a tick; tests bring one of their own */
    int64_t epoch_ms;
    uint64_t unit_ms;
    uint64_t rate; /* counts per nanosecond << RATE_SHIFT, 0: not known yet */
    uint64_t base_count, base_width;
    uint64_t newest_count; /* at which the clock was read that tick and end are from */
    int64_t base_ns;
};

/* True where the counter may be used: the kernel keeps its own time by it, and this process may read it. */
bool sfid__counter_is_good(void);

void sfid__ticks_init(struct sfid__ticks *t, int64_t epoch_ms, uint64_t unit_ms);

/* Reads the clock: the precise tick, huge before the epoch. */
uint64_t sfid__ticks_refresh(struct sfid__ticks *t);

static inline uint64_t sfid__ticks_now(struct sfid__ticks *t) {
    /* Acquire, with the release in refresh: the tick read next is the one this end belongs to, or a newer one. */
    const uint64_t end = atomic_load_explicit(&t->end, memory_order_acquire);
    /* Unsigned: an end that is past, or further off than a tick lasts (the counter went back), is no less than span.
       Relaxed span: it changes only where end is 0 or past. */
    if (likely(end - sfid__counter() - 1 < atomic_load_explicit(&t->span, memory_order_relaxed)))
        return atomic_load_explicit(&t->tick, memory_order_relaxed);
    return sfid__ticks_refresh(t);
}

#endif
