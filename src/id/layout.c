/* SPDX-License-Identifier: MIT */
#include "id/layout.h"

#include "base/clock.h"
#include "base/hash.h"

#include <sfid/parse.h>
#include <stdio.h>

uint64_t sfid__layout_fingerprint(const sfid_layout *l) {
    const uint64_t what[] = {(uint64_t)l->epoch_ms, l->unit_ms,    l->time_bits, l->pid_bits,
                             l->seq_bits,           l->time_shift, l->pid_shift, l->seq_shift};
    return sfid__hash_words(SFID__HASH_SEED, what, sizeof what / sizeof what[0]);
}

sfid_layout sfid__layout_make(unsigned time_bits, unsigned pid_bits, unsigned seq_bits,
                              uint32_t unit_ms, int64_t epoch_ms) {
    return (sfid_layout){
        .epoch_ms = epoch_ms,
        .unit_ms = unit_ms,
        .time_bits = (uint8_t)time_bits,
        .pid_bits = (uint8_t)pid_bits,
        .seq_bits = (uint8_t)seq_bits,
        .time_shift = (uint8_t)(pid_bits + seq_bits),
        .pid_shift = (uint8_t)seq_bits,
        .max_tick = sfid__ones(time_bits + pid_bits + seq_bits == 64 ? time_bits - 1 : time_bits),
        .max_pid = sfid__ones(pid_bits),
        .max_seq = sfid__ones(seq_bits),
    };
}

int sfid_layout_check(const sfid_layout *l) {
    return sfid_inline_layout_check(sfid__layout_or_default(l));
}

int sfid_parse(const sfid_layout *l, int64_t id, sfid_parts *out) {
    return sfid_inline_parse(sfid__layout_or_default(l), id, out);
}

int sfid_parse_n(const sfid_layout *l, const int64_t *ids, size_t n, sfid_parts *out) {
    if (n == 0)
        return 0;
    if (ids == NULL || out == NULL)
        return SFID_EINVAL;
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        if (sfid_parse(l, ids[i], &out[i]) < 0) {
            out[i] = (sfid_parts){.tick = UINT64_MAX};
            rc = SFID_EINVAL;
        }
    return rc;
}

int sfid_compose(const sfid_layout *l, const sfid_parts *in, int64_t *id) {
    return sfid_inline_compose(sfid__layout_or_default(l), in, id);
}

int sfid_tick_at(const sfid_layout *l, int64_t unix_ms, uint64_t *tick) {
    l = sfid__layout_or_default(l);
    return sfid_layout_check(l) < 0 ? SFID_EINVAL : sfid_inline_tick_at(l, unix_ms, tick);
}

int64_t sfid_min_at(const sfid_layout *l, int64_t unix_ms) {
    l = sfid__layout_or_default(l);
    return sfid_layout_check(l) < 0 ? SFID_EINVAL : sfid_inline_min_at(l, unix_ms);
}

int64_t sfid_max_at(const sfid_layout *l, int64_t unix_ms) {
    l = sfid__layout_or_default(l);
    return sfid_layout_check(l) < 0 ? SFID_EINVAL : sfid_inline_max_at(l, unix_ms);
}

void sfid__layout_say_outside(const sfid_layout *l, uint64_t end, int64_t now_ms, char *out,
                              size_t size) {
    char clock[SFID__TIME_TEXT], bound[SFID__TIME_TEXT];
    const bool early = now_ms < l->epoch_ms;
    sfid__time_text(now_ms, SFID__ANOTHER_DAY, clock);
    sfid__time_text(early ? l->epoch_ms : sfid__tick_begin_ms(l, end), SFID__ANOTHER_DAY, bound);
    snprintf(out, size,
             early ? "the clock says %s, before the layout's epoch (%s)"
                   : "the clock says %s; the layout ends at %s",
             clock, bound);
}
