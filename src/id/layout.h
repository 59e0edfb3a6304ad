/* SPDX-License-Identifier: MIT */
/* layout.h - arithmetic on layouts that is not in the public header. */
#ifndef SFID_ID_LAYOUT_H
#define SFID_ID_LAYOUT_H

#include "base/compiler.h"

#include <sfid.h>

/* The layout of a public call: NULL means the default. */
static inline const sfid_layout *sfid__layout_or_default(const sfid_layout *l) {
    return l ? l : &SFID_LAYOUT_DEFAULT;
}

/* When a tick begins, in Unix milliseconds. Holds for max_tick + 1, too. Unsigned: an unchecked
 * layout overflows harmlessly. */
static inline int64_t sfid__tick_begin_ms(const sfid_layout *l, uint64_t tick) {
    return (int64_t)((uint64_t)l->epoch_ms + tick * l->unit_ms);
}

/* The tick of a moment; 0 before the epoch. */
static inline uint64_t sfid__tick_of_ms(const sfid_layout *l, int64_t unix_ms) {
    return unix_ms < l->epoch_ms ? 0 : ((uint64_t)unix_ms - (uint64_t)l->epoch_ms) / l->unit_ms;
}

/* Converts milliseconds to whole ticks, rounded down. */
static inline uint64_t sfid__ms_to_ticks(const sfid_layout *l, uint64_t ms) {
    return ms / l->unit_ms;
}

/* True if every tick begins at a whole second, so that time() shows the tick. */
static inline bool sfid__layout_in_seconds(const sfid_layout *l) {
    return l->unit_ms % 1000 == 0 && l->epoch_ms % 1000 == 0;
}

/* The first tick that is never issued. A word of 63 bits gives up the layout's last tick: the value
 * behind its last position is the closed mark. */
static inline uint64_t sfid__layout_end(const sfid_layout *l) {
    return l->max_tick + (l->max_tick >> (62 - l->seq_bits) == 0);
}

/*
 * Differs between layouts whose IDs do not mean the same. Names and sub-fields of the pid do not
 * matter. It is slow: compute it once, where a layout is taken in.
 */
uint64_t sfid__layout_fingerprint(const sfid_layout *l);

/* Makes a layout from three widths. sfid_layout_check() says whether it is usable. */
sfid_layout sfid__layout_make(unsigned time_bits, unsigned pid_bits, unsigned seq_bits,
                              uint32_t unit_ms, int64_t epoch_ms);

/* Says that a clock is outside a layout's life, with dates: before its epoch, else behind its end,
 * a tick. */
void sfid__layout_say_outside(const sfid_layout *l, uint64_t end, int64_t now_ms, char *out,
                              size_t size);

#endif
