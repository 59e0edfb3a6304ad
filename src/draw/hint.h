/* SPDX-License-Identifier: MIT */
/* hint.h - a hint of the current tick. Hot: reading the clock is most of the cost of an ID. */
#ifndef SFID_DRAW_HINT_H
#define SFID_DRAW_HINT_H

#include "draw/generator.h"

#include <time.h>

__typeof__(time) time SFID__BY_ADDRESS; /* saves a cycle a call */

/* The tick in which this second lies; huge before the epoch. Only with SFID__TICK_SECONDS. */
static inline uint64_t sfid__tick_of_second(const struct sfid__generator *g, time_t second) {
    const uint64_t seconds = (uint64_t)second - g->epoch_s;
    return likely(g->unit_s == 1) ? seconds : seconds / g->unit_s;
}

/* Not inlined: what it needs in registers would cost the other sources some. */
uint64_t sfid__tick_of_clock(const struct sfid__generator *g);

/*
 * The tick that the clock shows, or showed a little ago; huge before the epoch. Callers read the
 * record after it: a record that is read before the call of time() would have to be saved on the
 * stack.
 */
static inline uint64_t sfid__hint(struct sfid__generator *g) {
    if (likely(g->source == SFID__TICK_SECONDS))
        return sfid__tick_of_second(g, time(NULL));
    return likely(g->source == SFID__TICK_COUNTER) ? sfid__ticks_now(&g->ticks)
                                                   : sfid__tick_of_clock(g);
}

#endif
