/* SPDX-License-Identifier: MIT */
/* layout.h - arithmetic on layouts that the public header has no name for. */
#ifndef SFID_ID_LAYOUT_H
#define SFID_ID_LAYOUT_H

#include "base/compiler.h"

#include <sfid.h>

/* Layout of a public call: NULL stands for the default. */
static inline const sfid_layout *sfid__layout_or_default(const sfid_layout *l) { return l ? l : &SFID_LAYOUT_DEFAULT; }

/* Begin of a tick, Unix milliseconds. Holds for max_tick + 1 as well. Unsigned: of a layout nobody checked it is nonsense, no more. */
static inline int64_t sfid__tick_begin_ms(const sfid_layout *l, uint64_t tick) {
    return (int64_t)((uint64_t)l->epoch_ms + tick * l->unit_ms);
}

/* The tick of a moment; 0 before the epoch. */
static inline uint64_t sfid__tick_of_ms(const sfid_layout *l, int64_t unix_ms) {
    return unix_ms < l->epoch_ms ? 0 : ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms;
}

/* Milliseconds to whole ticks, rounded down. */
static inline uint64_t sfid__ms_to_ticks(const sfid_layout *l, uint64_t ms) { return ms / l->unit_ms; }

/* True where every tick begins at a whole second, so that time() tells the tick. */
static inline bool sfid__layout_in_seconds(const sfid_layout *l) { return l->unit_ms % 1000 == 0 && l->epoch_ms % 1000 == 0; }

/* The first tick that is never issued. A word of 63 bits gives up the layout's last tick: behind its last number
   comes the closed mark. */
static inline uint64_t sfid__layout_end(const sfid_layout *l) { return l->max_tick + (l->max_tick >> (62 - l->seq_bits) == 0); }

/* Whether the IDs of two layouts mean the same. Names and sub-fields of the pid do not count. */
bool sfid__layout_is_alike(const sfid_layout *a, const sfid_layout *b);

/* Differs for layouts that are not alike. It costs some: whoever takes a layout in computes it once. */
uint64_t sfid__layout_fingerprint(const sfid_layout *l);

/* A made-up layout of three widths; what it is worth, sfid_layout_check() tells. */
sfid_layout sfid__layout_make(unsigned time_bits, unsigned pid_bits, unsigned seq_bits, uint32_t unit_ms, int64_t epoch_ms);

#endif
