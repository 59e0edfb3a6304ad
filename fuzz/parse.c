/* SPDX-License-Identifier: MIT */
/*
 * parse.c - any number as an ID of any layout: a preset or a struct of random
 * content. Its parts compose the same ID, which lies in the range of its
 * moment.
 */
#include "fuzz.h"

static sfid_layout some_layout(const uint8_t **data, size_t *size) {
    const uint64_t which = fuzz_take(data, size, 1);
    const char *name = sfid_layout_preset((size_t)which);
    sfid_layout l = SFID_LAYOUT_DEFAULT;
    if (name) {
        HOLDS(sfid_layout_parse(name, &l) == 0);
        return l;
    }
    l.epoch_ms = (int64_t)fuzz_take(data, size, 8) >> (which & 1 ? 16 : 0);
    l.unit_ms = (uint32_t)fuzz_take(data, size, 4);
    l.time_bits = (uint8_t)fuzz_take(data, size, 1);
    l.pid_bits = (uint8_t)fuzz_take(data, size, 1);
    l.seq_bits = (uint8_t)fuzz_take(data, size, 1);
    l.time_shift = (uint8_t)fuzz_take(data, size, 1);
    l.pid_shift = (uint8_t)fuzz_take(data, size, 1);
    l.seq_shift = (uint8_t)fuzz_take(data, size, 1);
    l.pid_low = (uint8_t)fuzz_take(data, size, 1);
    l.reserved[which & 3] = which & 64 ? (uint8_t)fuzz_take(data, size, 1) : 0;
    if (which & 32) { /* consistent with the widths, so that some pass the check */
        l.max_tick = ~UINT64_C(0) >> ((64 - l.time_bits + (l.time_bits + l.time_shift == 64)) & 63);
        l.max_pid = (UINT64_C(1) << (l.pid_bits & 63)) - 1;
        l.max_seq = (UINT64_C(1) << (l.seq_bits & 63)) - 1;
    } else {
        l.max_tick = fuzz_take(data, size, 8);
        l.max_pid = fuzz_take(data, size, 8);
        l.max_seq = fuzz_take(data, size, 8);
    }
    return l;
}

static void refused_by_all(const sfid_layout *l) {
    char text[SFID_LAYOUT_STR_LEN];
    sfid_layout_facts facts;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    uint64_t tick;
    HOLDS(sfid_layout_format(l, text, sizeof text) == SFID_EINVAL &&
          sfid_layout_describe(l, &facts) == SFID_EINVAL);
    HOLDS(sfid_layout_fields(l, fields, SFID_LAYOUT_FIELDS) == SFID_EINVAL &&
          sfid_tick_at(l, 0, &tick) == SFID_EINVAL);
    HOLDS(sfid_min_at(l, 0) == SFID_EINVAL && sfid_max_at(l, 0) == SFID_EINVAL);
}

static void narrow(const sfid_layout *l, int64_t id) {
    sfid_parts parts = {1, 2, 3, 4}, many;
    int64_t back = -1;
    uint64_t tick = 0;
    /* with an invalid layout the result may be wrong, but there is no crash */
    const int rc = sfid_parse(l, id, &parts);
    HOLDS(sfid_parse_n(l, &id, 1, &many) == rc && sfid_parse_n(l, NULL, 0, NULL) == 0);
    HOLDS(sfid_parse(l, id, NULL) == SFID_EINVAL && sfid_parse_n(l, NULL, 1, &many) == SFID_EINVAL);
    if (sfid_layout_check(l) < 0) {
        refused_by_all(l);
        return;
    }
    if (rc != 0) {
        HOLDS(rc == SFID_EINVAL && parts.tick == 1 && parts.pid == 2 && parts.seq == 3 &&
              parts.unix_ms == 4);
        HOLDS(many.tick == UINT64_MAX);
        return;
    }
    /* Fields may have any order; text can express only one. */
    char text[SFID_LAYOUT_STR_LEN];
    sfid_layout same;
    const int formatted = sfid_layout_format(l, text, sizeof text);
    HOLDS(formatted == 0 ? sfid_layout_parse(text, &same) == 0 && same.time_shift == l->time_shift
                         : formatted == SFID_EINVAL);
    HOLDS(id >= 0 && parts.tick <= l->max_tick && parts.pid <= l->max_pid &&
          parts.seq <= l->max_seq);
    HOLDS(sfid_compose(l, &parts, &back) == 0 && back == id);
    HOLDS(sfid_tick_at(l, parts.unix_ms, &tick) == 0 && tick == parts.tick);
    HOLDS(sfid_min_at(l, parts.unix_ms) <= id && id <= sfid_max_at(l, parts.unix_ms));
}

static void any_parts(const sfid_layout *l, const sfid_parts *in) {
    int64_t id = -1;
    sfid_parts out;
    const int rc = sfid_compose(l, in, &id);
    if (sfid_layout_check(l) < 0)
        return;
    if (in->pid > l->max_pid || in->seq > l->max_seq)
        HOLDS(rc == SFID_EINVAL && id == -1);
    else if (in->tick > l->max_tick)
        HOLDS(rc == SFID_EOVERFLOW && id == -1);
    else
        HOLDS(rc == 0 && sfid_parse(l, id, &out) == 0 && out.tick == in->tick &&
              out.pid == in->pid && out.seq == in->seq);
    uint64_t tick = 77;
    const int at = sfid_tick_at(l, in->unix_ms, &tick);
    HOLDS(at == 0 ? tick <= l->max_tick
                  : tick == 77 && at == (in->unix_ms < l->epoch_ms ? SFID_ECLOCK : SFID_EOVERFLOW));
    HOLDS(sfid_min_at(l, in->unix_ms) >= 0 &&
          sfid_min_at(l, in->unix_ms) <= sfid_max_at(l, in->unix_ms));
}

static void wide(const sfid_wide_layout *l, sfid_wide id, const sfid_wide_parts *any) {
    sfid_wide_parts parts = {1, 2, 3, 4, 5}, again;
    char text[SFID_LAYOUT_STR_LEN];
    sfid_field fields[SFID_LAYOUT_FIELDS];
    sfid_wide_facts facts;
    sfid_wide back = {77, 77}, low = {77, 77}, high = {77, 77};
    const int rc = sfid_wide_parse(l, id, &parts);
    if (sfid_wide_layout_describe(l, &facts) < 0) {
        HOLDS(rc == SFID_EINVAL && sfid_wide_compose(l, any, &back) == SFID_EINVAL);
        HOLDS(sfid_wide_layout_format(l, text, sizeof text) == SFID_EINVAL &&
              sfid_wide_layout_fields(l, fields, SFID_LAYOUT_FIELDS) == SFID_EINVAL);
        HOLDS(sfid_wide_min_at(l, 0, &low) == SFID_EINVAL &&
              sfid_wide_max_at(l, 0, &high) == SFID_EINVAL && low.low == 77);
        return;
    }
    HOLDS(sfid_wide_min_at(l, parts.unix_ms, &low) == 0 &&
          sfid_wide_max_at(l, parts.unix_ms, &high) == 0);
    if (rc == 0)
        HOLDS(sfid_wide_compose(l, &parts, &back) == 0 && sfid_wide_compare(back, id) == 0 &&
              sfid_wide_compare(low, id) <= 0 && sfid_wide_compare(id, high) <= 0);
    else
        HOLDS((rc == SFID_EINVAL || rc == SFID_EOVERFLOW) && parts.tick == 1 && parts.unix_ms == 5);
    const int made = sfid_wide_compose(l, any, &back);
    if (made == 0)
        HOLDS(sfid_wide_parse(l, back, &again) == 0 && again.tick == any->tick &&
              again.pid == any->pid && again.seq == any->seq && again.random == any->random);
    else
        HOLDS(made == (any->pid > facts.max_pid || any->seq > facts.max_seq ||
                               any->random > facts.max_random
                           ? SFID_EINVAL
                           : SFID_EOVERFLOW));
}

int fuzz_parse(const uint8_t *data, size_t size) {
    const uint64_t id = fuzz_take(&data, &size, 8), high = fuzz_take(&data, &size, 8);
    /* small numbers are valid more often */
    const unsigned narrower = (unsigned)fuzz_take(&data, &size, 1) & 63;
    const sfid_wide_parts any = {
        fuzz_take(&data, &size, 8) >> narrower, fuzz_take(&data, &size, 6) >> narrower,
        fuzz_take(&data, &size, 4) >> (narrower & 31), fuzz_take(&data, &size, 6) >> narrower, 0};
    const sfid_wide_layout w = {(sfid_wide_kind)(fuzz_take(&data, &size, 1) & 7),
                                (uint32_t)fuzz_take(&data, &size, 1) >> 7,
                                (int64_t)fuzz_take(&data, &size, 8) >> 16};
    const sfid_layout l = some_layout(&data, &size);
    const sfid_parts parts = {any.tick, any.pid, any.seq, (int64_t)high >> narrower};
    const unsigned region = (unsigned)high & 63;
    char name[SFID_AWS_REGION_LEN];
    HOLDS(sfid_aws_region_name(region, name, sizeof name) == (region < 32 ? 0 : SFID_EINVAL));
    narrow(&l, (int64_t)id);
    any_parts(&l, &parts);
    wide(&w, (sfid_wide){high, id}, &any);
    return 0;
}

FUZZ_TARGET(parse)
