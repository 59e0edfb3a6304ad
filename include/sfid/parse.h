/* SPDX-License-Identifier: MIT */
/**
 * sfid/parse.h - IDs taken apart and put together in the caller, without the
 * library.
 *
 * These calls are inline. A program that makes no other call needs the headers
 * alone, and links without -lsfid:
 *
 *     int     sfid_inline_layout_check(const sfid_layout *l);
 *     int     sfid_inline_parse(const sfid_layout *l, int64_t id, sfid_parts *out);
 *     int     sfid_inline_compose(const sfid_layout *l, const sfid_parts *in, int64_t *id);
 *     int     sfid_inline_tick_at(const sfid_layout *l, int64_t unix_ms, uint64_t *tick);
 *     int64_t sfid_inline_min_at(const sfid_layout *l, int64_t unix_ms);
 *     int64_t sfid_inline_max_at(const sfid_layout *l, int64_t unix_ms);
 *
 * They have the meanings, arguments, units and errors of sfid_layout_check(),
 * sfid_parse(), sfid_compose(), sfid_tick_at(), sfid_min_at() and sfid_max_at(),
 * with two differences. l is never NULL. All but the first take it as checked:
 * it comes from SFID_LAYOUT(), is SFID_LAYOUT_DEFAULT, or passed
 * sfid_inline_layout_check() once. In C++14 and later all may be used in
 * constant expressions.
 *
 * Threads: any. Fork: safe. Signals: async-safe.
 */
#ifndef SFID_PARSE_H
#define SFID_PARSE_H

#include "error.h"
#include "layout.h"

/* The lowest bits of a word, 0 to 63 of them. */
SFID__PURE uint64_t sfid__ones(unsigned bits) { return (UINT64_C(1) << (bits & 63)) - 1; }

/* A field's value in its place. The mask keeps the shift inside the word if nobody checked the
 * layout, here and below. */
SFID__PURE uint64_t sfid__in_place(uint64_t value, unsigned shift) { return value << (shift & 63); }

/* The bits that some field covers. */
SFID__PURE uint64_t sfid__used_bits(const sfid_layout *l) {
    return sfid__in_place(sfid__ones(l->time_bits), l->time_shift) |
           sfid__in_place(l->max_pid, l->pid_shift) | sfid__in_place(l->max_seq, l->seq_shift);
}

/* Whether a field lies inside the ID. A shift of one without bits counts as well: other code shifts
 * by it. */
SFID__PURE int sfid__field_fits(unsigned bits, unsigned shift) {
    return shift <= 63 && bits + shift <= 64;
}

/* As sfid_layout_check(). */
SFID__PURE int sfid_inline_layout_check(const sfid_layout *l) {
    if (l->time_bits < 2 || l->time_bits > 63 || l->pid_bits > 32 || l->seq_bits > 61 ||
        l->pid_low > l->pid_bits || l->unit_ms < 1 || l->epoch_ms < SFID__EPOCH_MIN ||
        l->epoch_ms > SFID__EPOCH_MAX)
        return SFID_EINVAL;
    if ((l->reserved[0] | l->reserved[1] | l->reserved[2] | l->reserved[3] | l->reserved[4]) != 0)
        return SFID_EINVAL;
    if (!sfid__field_fits(l->time_bits, l->time_shift) ||
        !sfid__field_fits(l->pid_bits, l->pid_shift) ||
        !sfid__field_fits(l->seq_bits, l->seq_shift))
        return SFID_EINVAL;
    /* Only the tick can give up a top bit: it comes from the clock. So tick and sequence have at
     * most 63 bits, and a generator's word has one left. */
    if (l->max_tick != sfid__ones(l->time_bits - (l->time_bits + l->time_shift == 64 ? 1u : 0u)) ||
        l->max_pid != sfid__ones(l->pid_bits) || l->max_seq != sfid__ones(l->seq_bits))
        return SFID_EINVAL;
    const uint64_t tick = sfid__in_place(sfid__ones(l->time_bits), l->time_shift);
    const uint64_t pid = sfid__in_place(l->max_pid, l->pid_shift),
                   seq = sfid__in_place(l->max_seq, l->seq_shift);
    /* IDs sort by time first */
    if ((tick & pid) != 0 || (tick & seq) != 0 || (pid & seq) != 0 || (pid | seq) >= tick)
        return SFID_EINVAL;
    if (l->max_tick >= SFID__ALL_MS / l->unit_ms) /* or unix_ms overflows */
        return SFID_EINVAL;
    return 0;
}

/* As sfid_parse(). */
SFID__PURE int sfid_inline_parse(const sfid_layout *l, int64_t id, sfid_parts *out) {
    const uint64_t bits = SFID__TO(uint64_t, id);
    if (out == SFID__NULL || id < 0 || (bits & ~sfid__used_bits(l)) != 0)
        return SFID_EINVAL;
    out->tick = bits >> (l->time_shift & 63) & l->max_tick;
    out->pid = bits >> (l->pid_shift & 63) & l->max_pid;
    out->seq = bits >> (l->seq_shift & 63) & l->max_seq;
    out->unix_ms = SFID__TO(int64_t, SFID__TO(uint64_t, l->epoch_ms) + out->tick * l->unit_ms);
    return 0;
}

/* As sfid_compose(). */
SFID__PURE int sfid_inline_compose(const sfid_layout *l, const sfid_parts *in, int64_t *id) {
    if (in == SFID__NULL || id == SFID__NULL || in->pid > l->max_pid || in->seq > l->max_seq)
        return SFID_EINVAL;
    if (in->tick > l->max_tick)
        return SFID_EOVERFLOW;
    *id = SFID__TO(int64_t, sfid__in_place(in->tick, l->time_shift) |
                                sfid__in_place(in->pid, l->pid_shift) |
                                sfid__in_place(in->seq, l->seq_shift));
    return 0;
}

/* As sfid_tick_at(). */
SFID__PURE int sfid_inline_tick_at(const sfid_layout *l, int64_t unix_ms, uint64_t *tick) {
    if (tick == SFID__NULL)
        return SFID_EINVAL;
    if (unix_ms < l->epoch_ms)
        return SFID_ECLOCK;
    /* Unsigned: the distance from the epoch may not fit an int64_t. */
    const uint64_t at =
        (SFID__TO(uint64_t, unix_ms) - SFID__TO(uint64_t, l->epoch_ms)) / l->unit_ms;
    if (at > l->max_tick)
        return SFID_EOVERFLOW;
    *tick = at;
    return 0;
}

/* The tick of a moment; for a moment outside the layout's range, the nearer end of the range. */
SFID__PURE uint64_t sfid__nearest_tick(const sfid_layout *l, int64_t unix_ms) {
    uint64_t tick = 0;
    return sfid_inline_tick_at(l, unix_ms, &tick) == SFID_EOVERFLOW ? l->max_tick : tick;
}

/* As sfid_min_at(). */
SFID__PURE int64_t sfid_inline_min_at(const sfid_layout *l, int64_t unix_ms) {
    return SFID__TO(int64_t, sfid__nearest_tick(l, unix_ms) << l->time_shift);
}

/* As sfid_max_at(). */
SFID__PURE int64_t sfid_inline_max_at(const sfid_layout *l, int64_t unix_ms) {
    return SFID__TO(int64_t, sfid__nearest_tick(l, unix_ms) << l->time_shift |
                                 l->max_pid << l->pid_shift | l->max_seq << l->seq_shift);
}

#endif
