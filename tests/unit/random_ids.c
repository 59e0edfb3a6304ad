/* SPDX-License-Identifier: MIT */
/*
 * Random values through every text form, both widths, and every layout: what
 * is written is what the plain way writes, and comes back. 100000 of each, or
 * 10 million with SFID_TEST_LONG.
 */
#include "support/naive.h"

#include "support/tap.h"

static uint64_t rnd(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Of any length, so that short numbers are as frequent as long ones. */
static uint64_t any_length(void) { return rnd() >> (rnd() & 63); }

static uint64_t how_many(void) { return getenv("SFID_TEST_LONG") ? 10000000 : 100000; }

/* Texts of one form and length sort as their numbers do. */
static bool sorted(const char *a, size_t a_len, const char *b, size_t b_len, int order) {
    const int c = a_len == b_len ? memcmp(a, b, a_len) : a_len < b_len ? -1 : 1;
    return (c > 0) - (c < 0) == (order > 0) - (order < 0);
}

static void narrow(const struct naive_form *f, uint64_t count) {
    uint64_t lost = 0;
    char text[2][SFID_TEXT_LEN], want[40];
    sfid_wide before = {0, 0};
    size_t before_len = naive_text(f->digits, before, f->own_narrow, text[1]);
    for (uint64_t i = 0; i < count; i++) {
        const sfid_wide v = {0, any_length() >> 1};
        char *now = text[i & 1];
        int64_t back = -1;
        const size_t len = naive_text(f->digits, v, f->own_narrow, want);
        lost += sfid_to_text(f->form, (int64_t)v.low, now, sizeof text[0]) != (int)len ||
                memcmp(now, want, len + 1) != 0 || sfid_from_text(f->form, now, len, &back) != 0 ||
                back != (int64_t)v.low ||
                !sorted(now, len, text[~i & 1], before_len, sfid_wide_compare(v, before));
        before = v;
        before_len = len;
    }
    is_u64(lost, 0, "%s: %" PRIu64 " random IDs of 64 bits", sfid_form_name(f->form), count);
}

static void wide(const struct naive_form *f, uint64_t count) {
    uint64_t lost = 0;
    char text[2][SFID_WIDE_TEXT_LEN], want[SFID_WIDE_TEXT_LEN];
    sfid_wide before = {0, 0};
    size_t before_len = naive_text(f->digits, before, f->own_wide, text[1]);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t high = any_length();
        const sfid_wide v = {i & 1 ? high : 0, i & 1 ? rnd() : high};
        char *now = text[i & 1];
        sfid_wide back = {1, 2};
        const size_t len = naive_text(f->digits, v, f->own_wide, want);
        lost += sfid_wide_to_text(f->form, v, 0, now, sizeof text[0]) != (int)len ||
                memcmp(now, want, len + 1) != 0 ||
                sfid_wide_from_text(f->form, now, len, &back, NULL) != 0 ||
                sfid_wide_compare(v, back) != 0 ||
                !sorted(now, len, text[~i & 1], before_len, sfid_wide_compare(v, before));
        before = v;
        before_len = len;
    }
    is_u64(lost, 0, "%s: %" PRIu64 " random IDs of 128 bits", sfid_form_name(f->form), count);
}

static void fixed_forms(uint64_t count) {
    uint64_t lost = 0;
    for (uint64_t i = 0; i < count; i++) {
        const sfid_wide v = {rnd(), rnd()};
        char text[SFID_WIDE_TEXT_LEN], digits[40];
        sfid_wide back = {1, 2};
        int64_t id = -1;
        lost += sfid_wide_to_text(SFID_BYTES, v, 0, text, sizeof text) != 16 ||
                sfid_wide_from_text(SFID_BYTES, text, 16, &back, NULL) != 0 ||
                sfid_wide_compare(v, back) != 0;
        lost += sfid_to_text(SFID_BYTES, (int64_t)(v.low >> 1), text, sizeof text) != 8 ||
                sfid_from_text(SFID_BYTES, text, 8, &id) != 0 || id != (int64_t)(v.low >> 1);
        back = (sfid_wide){1, 2};
        lost += sfid_wide_to_text(SFID_UUID, v, 0, text, sizeof text) != 36 ||
                sfid_wide_from_text(SFID_UUID, text, 36, &back, NULL) != 0 ||
                sfid_wide_compare(v, back) != 0;
        naive_text("0123456789abcdef", v, 32, digits);
        lost += memcmp(text, digits, 8) != 0 || memcmp(text + 9, digits + 8, 4) != 0 ||
                memcmp(text + 14, digits + 12, 4) != 0 || memcmp(text + 19, digits + 16, 4) != 0 ||
                memcmp(text + 24, digits + 20, 13) != 0;
    }
    is_u64(lost, 0, "bytes and uuid: %" PRIu64 " random IDs", count);
}

static void preset(const char *name, uint64_t count) {
    uint64_t lost = 0;
    sfid_layout l;
    sfid_layout_facts facts;
    need(sfid_layout_parse(name, &l) >= 0 && sfid_layout_describe(&l, &facts) >= 0,
         "%s is no layout", name);
    int64_t before = 0;
    sfid_parts last = {0, 0, 0, 0};
    for (uint64_t i = 0; i < count; i++) {
        /* Now and then of the same tick, for the order within it. */
        const sfid_parts p = {i & 1 ? last.tick : rnd() & l.max_tick, rnd() & l.max_pid,
                              rnd() & l.max_seq, 0};
        sfid_parts back = {9, 9, 9, 9};
        int64_t id = -1;
        uint64_t tick = UINT64_MAX;
        lost += sfid_compose(&l, &p, &id) != 0 || sfid_parse(&l, id, &back) != 0 ||
                back.tick != p.tick || back.pid != p.pid || back.seq != p.seq ||
                sfid_tick_at(&l, back.unix_ms, &tick) != 0 || tick != p.tick ||
                sfid_min_at(&l, back.unix_ms) > id || sfid_max_at(&l, back.unix_ms) < id;
        const bool by_seq =
            facts.order == SFID_ORDER_SEQ_PID ? p.seq != last.seq : p.pid == last.pid;
        const bool higher = p.tick != last.tick ? p.tick > last.tick
                            : by_seq            ? p.seq > last.seq
                                                : p.pid > last.pid;
        lost += higher != (id > before);
        last = p;
        before = id;
    }
    is_u64(lost, 0, "%s: %" PRIu64 " random IDs, in the order its facts tell", name, count);
}

static void wide_preset(const char *name, uint64_t count) {
    uint64_t lost = 0;
    sfid_wide_layout l;
    sfid_wide_facts f;
    need(sfid_wide_layout_parse(name, &l) >= 0 && sfid_wide_layout_describe(&l, &f) >= 0,
         "%s is no wide layout", name);
    for (uint64_t i = 0; i < count; i++) {
        const sfid_wide_parts p = {rnd() & f.max_tick, rnd() & f.max_pid, rnd() & f.max_seq,
                                   rnd() & f.max_random, 0};
        sfid_wide_parts back = {9, 9, 9, 9, 9};
        sfid_wide id = {1, 2}, read = {3, 4};
        char text[SFID_WIDE_TEXT_LEN];
        lost += sfid_wide_compose(&l, &p, &id) != 0 ||
                sfid_wide_to_text(f.form, id, f.width, text, sizeof text) < (int)f.width ||
                sfid_wide_from_text(f.form, text, strlen(text), &read, NULL) != 0 ||
                sfid_wide_parse(&l, read, &back) != 0 || back.tick != p.tick || back.pid != p.pid ||
                back.seq != p.seq || back.random != p.random ||
                back.unix_ms != l.epoch_ms + (int64_t)p.tick;
    }
    is_u64(lost, 0, "%s: %" PRIu64 " random IDs, by way of their text", name, count);
}

int main(void) {
    const uint64_t count = how_many();
    for (size_t f = 0; f < NAIVE_FORMS; f++) {
        narrow(&naive_forms[f], count);
        wide(&naive_forms[f], count);
    }
    fixed_forms(count);
    for (size_t i = 0; sfid_layout_preset(i); i++)
        preset(sfid_layout_preset(i), count);
    for (size_t i = 0; sfid_wide_layout_preset(i); i++)
        wide_preset(sfid_wide_layout_preset(i), count);
    return done_testing();
}
