/* SPDX-License-Identifier: MIT */
#include "id/layout.h"

#include "base/hash.h"

static uint64_t ones(unsigned bits) { return bits == 0 ? 0 : ~UINT64_C(0) >> (64 - bits); }

uint64_t sfid__layout_fingerprint(const sfid_layout *l) {
    const uint64_t what[] = {(uint64_t)l->epoch_ms, l->unit_ms,    l->time_bits, l->pid_bits,
                             l->seq_bits,           l->time_shift, l->pid_shift, l->seq_shift};
    return sfid__hash_words(SFID__HASH_SEED, what, sizeof what / sizeof what[0]);
}

sfid_layout sfid__layout_make(unsigned time_bits, unsigned pid_bits, unsigned seq_bits, uint32_t unit_ms, int64_t epoch_ms) {
    return (sfid_layout){
        .epoch_ms = epoch_ms,
        .unit_ms = unit_ms,
        .time_bits = (uint8_t)time_bits,
        .pid_bits = (uint8_t)pid_bits,
        .seq_bits = (uint8_t)seq_bits,
        .time_shift = (uint8_t)(pid_bits + seq_bits),
        .pid_shift = (uint8_t)seq_bits,
        .max_tick = ones(time_bits + pid_bits + seq_bits == 64 ? time_bits - 1 : time_bits),
        .max_pid = ones(pid_bits),
        .max_seq = ones(seq_bits),
    };
}

int sfid_layout_check(const sfid_layout *l) {
    l = sfid__layout_or_default(l);
    if (l->time_bits < 2 || l->time_bits > 63 || l->pid_bits > 32 || l->seq_bits > 61 || l->pid_low > l->pid_bits)
        return SFID_EINVAL;
    if (l->unit_ms < 1 || l->epoch_ms < SFID__EPOCH_MIN || l->epoch_ms > SFID__EPOCH_MAX)
        return SFID_EINVAL;

    for (size_t i = 0; i < sizeof l->reserved; i++)
        if (l->reserved[i] != 0)
            return SFID_EINVAL;

    if (l->pid_shift > 63 || l->seq_shift > 63) /* also for a field without bits: other code shifts by it */
        return SFID_EINVAL;
    if (l->time_bits + l->time_shift > 64 || l->pid_bits + l->pid_shift > 64 || l->seq_bits + l->seq_shift > 64)
        return SFID_EINVAL;

    /* Only the tick can give up a top bit: it comes from the clock. So tick and sequence have at most 63 bits, and the state word
       has one left for its closed mark. */
    const unsigned tick_bits = l->time_bits + l->time_shift == 64 ? l->time_bits - 1u : l->time_bits;
    if (l->max_tick != ones(tick_bits) || l->max_pid != ones(l->pid_bits) || l->max_seq != ones(l->seq_bits))
        return SFID_EINVAL;

    const uint64_t time = ones(l->time_bits) << l->time_shift, pid = l->max_pid << l->pid_shift, seq = l->max_seq << l->seq_shift;
    if ((time & pid) || (time & seq) || (pid & seq) || (pid | seq) >= time) /* IDs sort by time first */
        return SFID_EINVAL;
    return l->max_tick < ((uint64_t)INT64_MAX - (uint64_t)SFID__EPOCH_MAX) / l->unit_ms ? 0 : SFID_EINVAL;
}

/* The bits that some field covers. The masks keep a shift inside the word if nobody checked the layout. */
static uint64_t used_bits(const sfid_layout *l) {
    return ones(l->time_bits & 63) << (l->time_shift & 63) | l->max_pid << (l->pid_shift & 63) | l->max_seq << (l->seq_shift & 63);
}

int sfid_parse(const sfid_layout *l, int64_t id, sfid_parts *out) {
    l = sfid__layout_or_default(l);
    const uint64_t bits = (uint64_t)id;
    if (out == NULL || id < 0 || (bits & ~used_bits(l)) != 0)
        return SFID_EINVAL;
    out->tick = bits >> (l->time_shift & 63) & l->max_tick;
    out->pid = bits >> (l->pid_shift & 63) & l->max_pid;
    out->seq = bits >> (l->seq_shift & 63) & l->max_seq;
    out->unix_ms = sfid__tick_begin_ms(l, out->tick);
    return 0;
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
    l = sfid__layout_or_default(l);
    if (in == NULL || id == NULL || in->pid > l->max_pid || in->seq > l->max_seq)
        return SFID_EINVAL;
    if (in->tick > l->max_tick)
        return SFID_EOVERFLOW;
    *id = (int64_t)(in->tick << (l->time_shift & 63) | in->pid << (l->pid_shift & 63) | in->seq << (l->seq_shift & 63));
    return 0;
}

int sfid_tick_at(const sfid_layout *l, int64_t unix_ms, uint64_t *tick) {
    l = sfid__layout_or_default(l);
    if (tick == NULL || sfid_layout_check(l) < 0)
        return SFID_EINVAL;
    if (unix_ms < l->epoch_ms)
        return SFID_ECLOCK;
    const uint64_t at = sfid__tick_of_ms(l, unix_ms);
    if (at > l->max_tick)
        return SFID_EOVERFLOW;
    *tick = at;
    return 0;
}

/* The tick of a moment; for a moment out of range, the nearer end of the range. False for an unusable layout. */
static bool nearest_tick(const sfid_layout *l, int64_t unix_ms, uint64_t *tick) {
    *tick = 0;
    const int rc = sfid_tick_at(l, unix_ms, tick);
    if (rc == SFID_EOVERFLOW)
        *tick = l->max_tick;
    return rc != SFID_EINVAL;
}

int64_t sfid_min_at(const sfid_layout *l, int64_t unix_ms) {
    uint64_t tick;
    l = sfid__layout_or_default(l);
    return nearest_tick(l, unix_ms, &tick) ? (int64_t)(tick << l->time_shift) : SFID_EINVAL;
}

int64_t sfid_max_at(const sfid_layout *l, int64_t unix_ms) {
    uint64_t tick;
    l = sfid__layout_or_default(l);
    if (!nearest_tick(l, unix_ms, &tick))
        return SFID_EINVAL;
    return (int64_t)(tick << l->time_shift | l->max_pid << l->pid_shift | l->max_seq << l->seq_shift);
}
