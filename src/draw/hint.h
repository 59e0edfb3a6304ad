/* SPDX-License-Identifier: MIT */
/* hint.h - a hint of the current tick. Hot: reading the clock is most of the cost of an ID. */
#ifndef SFID_DRAW_HINT_H
#define SFID_DRAW_HINT_H

#include "draw/generator.h"

#include <time.h>

/* The tick that the clock shows, or showed a little ago; huge before the epoch. */
static inline uint64_t sfid__hint(struct sfid__generator *g, const struct sfid__record *r) {
    uint64_t units;
    if (likely(g->source == SFID__TICK_SECONDS)) {
        units = (uint64_t)time(NULL) - r->epoch_units;
    } else if (likely(g->source == SFID__TICK_COUNTER)) {
        return sfid__ticks_now(&g->ticks);
    } else if (likely(g->source == SFID__TICK_PRECISE)) {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        units = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 - r->epoch_units;
    } else {
        return (uint64_t)(sfid__now(g->clock).ms - g->layout.epoch_ms) / g->layout.unit_ms;
    }
    return likely(r->unit == 1) ? units : units / r->unit;
}

#endif
