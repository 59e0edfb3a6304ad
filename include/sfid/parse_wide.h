/* SPDX-License-Identifier: MIT */
/**
 * sfid/parse_wide.h - wide IDs taken apart and put together in the caller,
 * without the library.
 *
 * The same for wide IDs as sfid/parse.h for those of 64 bits:
 *
 *     int       sfid_inline_wide_layout_check(const sfid_wide_layout *l);
 *     int       sfid_inline_wide_parse(const sfid_wide_layout *l, sfid_wide id, sfid_wide_parts
 *               *out);
 *     int       sfid_inline_wide_compose(const sfid_wide_layout *l, const sfid_wide_parts *in,
 *               sfid_wide *id);
 *     sfid_wide sfid_inline_wide_min_at(const sfid_wide_layout *l, int64_t unix_ms);
 *     sfid_wide sfid_inline_wide_max_at(const sfid_wide_layout *l, int64_t unix_ms);
 *
 * The first returns 0, or SFID_EINVAL for an unusable layout. The others have the
 * meanings, arguments, units and errors of sfid_wide_parse(), sfid_wide_compose(),
 * sfid_wide_min_at() and sfid_wide_max_at(), with three differences. l is never
 * NULL. It is taken as checked: it is {SFID_UUID7, 0, 0} or the like, or passed
 * sfid_inline_wide_layout_check() once. The last two return the ID. In C++14 and
 * later all may be used in constant expressions.
 *
 * Threads: any. Fork: safe. Signals: async-safe.
 */
#ifndef SFID_PARSE_WIDE_H
#define SFID_PARSE_WIDE_H

#include "parse.h"
#include "wide.h"

/*
 * Where the fields are. The time is in the high word, or across both. Pid and
 * random bits are in the low word. The highest seq_high bits of the sequence are
 * the lowest of the high word, and the other seq_low bits are in the low word: in
 * a UUID the variant is in between.
 */
struct sfid__wide_shape {
    uint64_t max_tick;
    sfid_wide fixed, fixed_mask; /* which bits are the same in every ID, and their values */
    uint8_t bits, time_shift, pid_bits, pid_shift, seq_high, seq_low, seq_shift, random_bits;
    sfid_form form; /* how its makers write an ID */
    uint8_t width;
};

/* In the order of sfid_wide_kind. */
SFID__TABLE struct sfid__wide_shape sfid__wide_shapes[4] = {
    /* github.com/boundary/flake: time 64, worker 48, sequence 16. The last tick is the largest
     * value of unix_ms. */
    {INT64_MAX, {0, 0}, {0, 0}, 128, 64, 48, 16, 0, 16, 0, 0, SFID_HEX, 32},
    /* github.com/ccampo133/awsflake: zero 51, time 41, region 5, IP 16, sequence 15. */
    {SFID__ONES(41), {0, 0}, {~SFID__ONES(13), 0}, 77, 36, 21, 15, 0, 15, 0, 0, SFID_BASE62, 1},
    /*
     * RFC 9562, section 5.7: unix_ts_ms 48, ver 4, rand_a 12, var 2, rand_b 62. The sequence
     * follows the time, as in section 6.2 (method 1). Its 14 bits let the pid and the random bits
     * begin with a hex digit:
     *     tttttttt-tttt-7sss-Sppp-prrrrrrrrrrr     S: the variant and two bits of the sequence
     */
    {SFID__ONES(48),
     {0x7000, UINT64_C(1) << 63},
     {0xf000, UINT64_C(3) << 62},
     128,
     80,
     16,
     44,
     12,
     2,
     60,
     44,
     SFID_UUID,
     36},
    /* github.com/casualjim/flakeid, the Go program: its README has flake's widths, its IDs have
     * time 48, zero 16. */
    {SFID__ONES(48), {0, 0}, {0xffff, 0}, 128, 80, 48, 16, 0, 16, 0, 0, SFID_HEX, 32}};

/* The mask keeps the place inside the table if nobody checked the layout. */
SFID__PURE const struct sfid__wide_shape *sfid__wide_shape_of(const sfid_wide_layout *l) {
    return &sfid__wide_shapes[(l->kind - SFID_FLAKE) & 3];
}

/* The ID of parts that fit. */
SFID__PURE sfid_wide sfid__wide_place(const struct sfid__wide_shape *s, uint64_t tick, uint64_t pid,
                                      uint64_t seq, uint64_t random) {
    sfid_wide id = s->fixed;
    id.high |= seq >> s->seq_low;
    id.low |= sfid__in_place(pid, s->pid_shift) |
              sfid__in_place(seq & sfid__ones(s->seq_low), s->seq_shift) | random;
    if (s->time_shift >= 64) {
        id.high |= sfid__in_place(tick, s->time_shift);
    } else {
        id.high |= tick >> (64 - s->time_shift);
        id.low |= tick << s->time_shift;
    }
    return id;
}

/* Returns 0, or SFID_EINVAL: the layout is unusable. */
SFID__PURE int sfid_inline_wide_layout_check(const sfid_wide_layout *l) {
    const int any_epoch = l->kind == SFID_AWSFLAKE;
    const int64_t first = any_epoch ? SFID__EPOCH_MIN : 0, last = any_epoch ? SFID__EPOCH_MAX : 0;
    const int known = l->kind >= SFID_FLAKE && l->kind <= SFID_FLAKE_GO && l->reserved == 0;
    return known && l->epoch_ms >= first && l->epoch_ms <= last ? 0 : SFID_EINVAL;
}

/* As sfid_wide_parse(). */
SFID__PURE int sfid_inline_wide_parse(const sfid_wide_layout *l, sfid_wide id,
                                      sfid_wide_parts *out) {
    const struct sfid__wide_shape *s = sfid__wide_shape_of(l);
    if (out == SFID__NULL || (id.high & s->fixed_mask.high) != s->fixed.high ||
        (id.low & s->fixed_mask.low) != s->fixed.low)
        return SFID_EINVAL;
    const uint64_t tick = s->time_shift >= 64
                              ? id.high >> (s->time_shift & 63)
                              : id.high << (64 - s->time_shift) | id.low >> s->time_shift;
    if (tick > s->max_tick)
        return SFID_EOVERFLOW;
    out->tick = tick;
    out->pid = id.low >> s->pid_shift & sfid__ones(s->pid_bits);
    out->seq = (id.high & sfid__ones(s->seq_high)) << s->seq_low |
               (id.low >> s->seq_shift & sfid__ones(s->seq_low));
    out->random = id.low & sfid__ones(s->random_bits);
    out->unix_ms = l->epoch_ms + SFID__TO(int64_t, tick);
    return 0;
}

/* As sfid_wide_compose(). */
SFID__PURE int sfid_inline_wide_compose(const sfid_wide_layout *l, const sfid_wide_parts *in,
                                        sfid_wide *id) {
    const struct sfid__wide_shape *s = sfid__wide_shape_of(l);
    if (in == SFID__NULL || id == SFID__NULL || in->pid >> s->pid_bits != 0 ||
        in->seq >> (s->seq_high + s->seq_low) != 0 || in->random >> s->random_bits != 0)
        return SFID_EINVAL;
    if (in->tick > s->max_tick)
        return SFID_EOVERFLOW;
    *id = sfid__wide_place(s, in->tick, in->pid, in->seq, in->random);
    return 0;
}

/* The tick of a moment; for a moment outside the layout's range, the nearer end of the range. */
SFID__PURE uint64_t sfid__wide_nearest_tick(const sfid_wide_layout *l, int64_t unix_ms) {
    const uint64_t last = sfid__wide_shape_of(l)->max_tick;
    const uint64_t tick =
        unix_ms < l->epoch_ms ? 0 : SFID__TO(uint64_t, unix_ms) - SFID__TO(uint64_t, l->epoch_ms);
    return tick < last ? tick : last;
}

/* As sfid_wide_min_at(). */
SFID__PURE sfid_wide sfid_inline_wide_min_at(const sfid_wide_layout *l, int64_t unix_ms) {
    return sfid__wide_place(sfid__wide_shape_of(l), sfid__wide_nearest_tick(l, unix_ms), 0, 0, 0);
}

/* As sfid_wide_max_at(). */
SFID__PURE sfid_wide sfid_inline_wide_max_at(const sfid_wide_layout *l, int64_t unix_ms) {
    const struct sfid__wide_shape *s = sfid__wide_shape_of(l);
    return sfid__wide_place(s, sfid__wide_nearest_tick(l, unix_ms), sfid__ones(s->pid_bits),
                            sfid__ones(s->seq_high + s->seq_low), sfid__ones(s->random_bits));
}

#endif
