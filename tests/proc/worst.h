/* SPDX-License-Identifier: MIT */
/** worst.h - the longest duration that processes have measured, in memory which they share and may
 * be killed in. */
#ifndef SFID_TESTS_WORST_H
#define SFID_TESTS_WORST_H

#include "support/proc.h"

/* One number, so that a process that is killed leaves no half of it: for how long the machine ran,
 * and above that how long it stood. */
struct worst {
    _Atomic int64_t ran_and_stood;
};

static inline struct took worst_of(const struct worst *w) {
    const int64_t both = atomic_load(&w->ran_and_stood), stood_ms = both & UINT32_MAX;
    return (struct took){(both >> 32) + stood_ms, stood_ms};
}

/* In a process that has begun its witness. The witness is asked only about what may be the
 * longest. */
static inline void worst_since(struct worst *w, int64_t from_ms) {
    const int64_t ran_ms = atomic_load(&w->ran_and_stood) >> 32;
    if (tap_now_ms() - from_ms <= ran_ms)
        return;
    const struct took took = took_since(from_ms);
    raise_to(&w->ran_and_stood, (took.ms - took.stood_ms) << 32 | took.stood_ms);
}

#endif
