/* SPDX-License-Identifier: MIT */
/* hint.c - a hint of the current tick, by the clocks that are dearest to read. */
#include "draw/hint.h"

uint64_t sfid__hint_ms(struct sfid__generator *g) {
    int64_t ms;
    if (likely(g->source == SFID__TICK_PRECISE)) {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
    } else {
        ms = sfid__now(g->clock).ms;
    }
    return (uint64_t)(ms - g->layout.epoch_ms) / g->layout.unit_ms;
}
