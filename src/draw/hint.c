/* SPDX-License-Identifier: MIT */
/* hint.c - a hint of the current tick, by the generator's clock. */
#include "draw/hint.h"

uint64_t sfid__tick_of_clock(const struct sfid__generator *g) {
    return (uint64_t)(sfid__now(g->clock).ms - g->layout.epoch_ms) / g->layout.unit_ms;
}
