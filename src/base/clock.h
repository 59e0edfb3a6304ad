/* SPDX-License-Identifier: MIT */
/*
 * clock.h - time and sleep, through a table so that tests can step the clock.
 *
 * If the table is the system's, the hot path reads the system clock directly
 * (hint.h). Everything slower calls the table.
 */
#ifndef SFID_BASE_CLOCK_H
#define SFID_BASE_CLOCK_H

#include "base/compiler.h"

/* A moment: milliseconds since 1970, and nanoseconds within that millisecond. An int64_t of nanoseconds would end in 2262. */
struct sfid__time {
    int64_t ms;
    int32_t ns;
};

struct sfid__clock {
    struct sfid__time (*now)(const struct sfid__clock *self);     /* wall clock */
    int64_t (*monotonic_ns)(const struct sfid__clock *self);      /* never steps; for deadlines */
    void (*sleep_ns)(const struct sfid__clock *self, int64_t ns); /* may return early (a signal) */
};

extern const struct sfid__clock sfid__system_clock;

static inline struct sfid__time sfid__now(const struct sfid__clock *clock) { return clock->now(clock); }

static inline int64_t sfid__monotonic_ms(const struct sfid__clock *clock) { return clock->monotonic_ns(clock) / 1000000; }

#endif
