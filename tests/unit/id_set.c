/* SPDX-License-Identifier: MIT */
/*
 * Where the IDs of two layouts meet, and when they are in order, against brute force: random pairs
 * of layouts so small that all their IDs can be listed, and all moments of their lives be tried.
 * 2000 pairs.
 */
#include "../../cmd/layout/id_set.h"

#include "support/tap.h"

#define PAIRS 2000
#define MOST_IDS 512

static uint64_t rnd(uint64_t below) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* ---- layouts and their IDs, the plain way ---------------------------------------- */

/* Fields from the top. Parts of IDs are counted from bit `base`, which may lie anywhere in 128
 * bits. */
struct small {
    sfid_field fields[SFID_LAYOUT_FIELDS];
    int count;
    unsigned base;
    uint32_t fixed;    /* the bits that are the same in all IDs */
    uint64_t max_tick; /* may be less than its bits hold */
    int64_t epoch_ms;
    uint32_t unit_ms;
    uint64_t pid_least, pid_most;
};

struct small_id {
    uint32_t number;
    uint64_t pid, seq;
    int64_t begin, end;
};

struct small_ids {
    int count;
    struct small_id ids[MOST_IDS];
};

/* Adds a field below the others; `at` is where they end. */
static void add(struct small *s, unsigned *at, const char *name, unsigned bits,
                sfid_field_kind kind) {
    if (bits == 0)
        return;
    *at -= bits;
    s->fields[s->count++] = (sfid_field){name, *at + s->base, bits, kind};
}

static void add_pid(struct small *s, unsigned *at, unsigned bits) {
    const unsigned high = bits > 1 ? (unsigned)rnd(2) : 0;
    add(s, at, "high", high, SFID_FIELD_PID);
    add(s, at, "pid", bits - high, SFID_FIELD_PID);
}

static struct small random_layout(unsigned base) {
    struct small s = {
        .base = base, .epoch_ms = (int64_t)rnd(80) - 40, .unit_ms = 1 + (uint32_t)rnd(9)};
    const unsigned time = 2 + (unsigned)rnd(4), pid = (unsigned)rnd(3), seq = (unsigned)rnd(3),
                   other = (unsigned)rnd(3), below = (unsigned)rnd(3);
    unsigned at = time + pid + seq + other + below;
    add(&s, &at, "time", time, SFID_FIELD_TIME);
    const bool seq_first = rnd(2), gap_first = rnd(2), fixed = rnd(2);
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) == seq_first)
            add(&s, &at, "seq", seq, SFID_FIELD_SEQ);
        else
            add_pid(&s, &at, pid);
        if ((turn == 0) == gap_first && fixed && other > 0) {
            add(&s, &at, "fixed", other, SFID_FIELD_FIXED);
            s.fixed = (uint32_t)rnd(1u << other) << at;
        } else if ((turn == 0) == gap_first) {
            at -= other; /* bits of no field */
        }
    }
    s.max_tick = (1u << time) - 1 - (rnd(4) == 0 ? rnd(2) : 0);
    s.pid_most = rnd(1u << pid);
    s.pid_least = rnd(s.pid_most + 1);
    if (rnd(2)) {
        s.pid_least = 0;
        s.pid_most = (1u << pid) - 1;
    }
    return s;
}

/* Takes the fields of a kind out of a number, as one value. */
static uint64_t value_of(const struct small *s, uint32_t number, sfid_field_kind kind) {
    uint64_t value = 0;
    for (int i = 0; i < s->count; i++)
        if (s->fields[i].kind == kind)
            value = value << s->fields[i].bits |
                    (number >> (s->fields[i].shift - s->base) & ((1u << s->fields[i].bits) - 1));
    return value;
}

/* Lists the IDs of ticks that are in progress at some moment of a span, in order: each number that
 * could be one is looked at. */
static void list(const struct small *s, int64_t since, int64_t until, struct small_ids *out) {
    const unsigned bits = s->fields[0].shift - s->base + s->fields[0].bits;
    uint32_t used = 0;
    for (int i = 0; i < s->count; i++)
        if (s->fields[i].kind != SFID_FIELD_FIXED)
            used |= ((1u << s->fields[i].bits) - 1) << (s->fields[i].shift - s->base);
    out->count = 0;
    for (uint32_t number = 0; number < 1u << bits; number++) {
        const uint64_t tick = value_of(s, number, SFID_FIELD_TIME),
                       pid = value_of(s, number, SFID_FIELD_PID);
        const int64_t begin = s->epoch_ms + (int64_t)(tick * s->unit_ms), end = begin + s->unit_ms;
        if ((number & ~used) != s->fixed || tick > s->max_tick || pid < s->pid_least ||
            pid > s->pid_most || begin > until || end <= since)
            continue;
        need(out->count != MOST_IDS, "more IDs than there is room for");
        out->ids[out->count++] =
            (struct small_id){number, pid, value_of(s, number, SFID_FIELD_SEQ), begin, end};
    }
}

static sfid_wide wide(const struct small *s, uint32_t number) {
    const unsigned base = s->base;
    if (base >= 64)
        return (sfid_wide){(uint64_t)number << (base - 64), 0};
    return (sfid_wide){base == 0 ? 0 : (uint64_t)number >> (64 - base), (uint64_t)number << base};
}

static struct id_set set_of(const struct small *s) {
    struct id_set set = {.epoch_ms = s->epoch_ms, .unit_ms = s->unit_ms};
    id_set_fields(&set, s->fields, s->count, s->epoch_ms + (int64_t)(s->max_tick + 1) * s->unit_ms,
                  wide(s, s->fixed));
    id_set_pids(&set, s->pid_least, s->pid_most);
    return set;
}

/* ---- one pair ------------------------------------------------------------------------ */

enum { LOWEST, HIGHEST, MEETS, ORDER_FROM, ORDER_UNTIL, ABOVE, CHECKS };
static const char *const names[] = {
    [LOWEST] = "the lowest ID of a span",
    [HIGHEST] = "its highest ID",
    [MEETS] = "the first ID in both: whether, number, moment, pid and sequence in each",
    [ORDER_FROM] = "from when on they are in order",
    [ORDER_UNTIL] = "until when they are in order",
    [ABOVE] = "when the first tick above an ID begins"};
static unsigned faults[CHECKS], yes[CHECKS], no[CHECKS];

static void note(int check, bool good, bool outcome, int pair) {
    (outcome ? yes : no)[check]++;
    if (!good && faults[check]++ == 0)
        diag("%s: pair %d", names[check], pair);
}

static bool same(sfid_wide a, sfid_wide b) { return sfid_wide_compare(a, b) == 0; }

static void bounds(const struct small *s, const struct small_ids *ids, const struct id_set *set,
                   bool any, int pair) {
    note(LOWEST,
         any == (ids->count > 0) && (!any || same(id_set_lowest(set), wide(s, ids->ids[0].number))),
         any, pair);
    note(HIGHEST,
         any == (ids->count > 0) &&
             (!any || same(id_set_highest(set), wide(s, ids->ids[ids->count - 1].number))),
         any, pair);
}

/* Of all equal IDs, the one of which both have been given first; of several, the lowest. */
static bool meet(const struct small_ids *a, const struct small_ids *b, const struct small_id **in_a,
                 const struct small_id **in_b) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < b->count; k++) {
            const struct small_id *x = &a->ids[i], *y = &b->ids[k];
            const int64_t at = x->begin > y->begin ? x->begin : y->begin;
            if (x->number != y->number || at >= best)
                continue;
            best = at;
            *in_a = x;
            *in_b = y;
        }
    return best != INT64_MAX;
}

static void meeting(const struct small *a, const struct small *b, const struct small_ids *a_ids,
                    const struct small_ids *b_ids, const struct id_set *a_set,
                    const struct id_set *b_set, int pair) {
    const struct small_id *x = NULL, *y = NULL;
    sfid_wide id = {0, 0};
    const bool want = meet(a_ids, b_ids, &x, &y),
               got = a_ids->count && b_ids->count && id_sets_meet(a_set, b_set, &id);
    bool good = want == got;
    if (want && got) {
        const uint32_t number = a->base >= 64 ? (uint32_t)(id.high >> (a->base - 64))
                                : a->base > 0
                                    ? (uint32_t)(id.low >> a->base | id.high << (64 - a->base))
                                    : (uint32_t)id.low;
        good = same(id, wide(a, x->number)) && id_set_time(a_set, id) == x->begin &&
               id_set_time(b_set, id) == y->begin &&
               value_of(a, number, SFID_FIELD_PID) == x->pid &&
               value_of(a, number, SFID_FIELD_SEQ) == x->seq &&
               value_of(b, number, SFID_FIELD_PID) == y->pid &&
               value_of(b, number, SFID_FIELD_SEQ) == y->seq;
    }
    note(MEETS, good, want, pair);
}

/* Is each ID of `next` whose tick has not ended above each of `old` whose tick has begun? */
static bool in_order(const struct small_ids *old, const struct small_ids *next, int64_t at) {
    int64_t highest = -1, lowest = INT64_MAX;
    for (int i = 0; i < old->count; i++)
        if (old->ids[i].begin <= at && old->ids[i].number > highest)
            highest = old->ids[i].number;
    for (int i = 0; i < next->count; i++)
        if (next->ids[i].end > at && next->ids[i].number < lowest)
            lowest = next->ids[i].number;
    return highest < lowest;
}

static void order(const struct small_ids *old, const struct small_ids *next,
                  const struct id_set *old_set, const struct id_set *next_set, int pair) {
    enum { FIRST = -50, LAST = 400, MOMENTS = LAST - FIRST };
    bool good_at[MOMENTS];
    int64_t ms = 0, wrong_last = INT64_MIN;
    for (int i = 0; i < MOMENTS; i++) {
        good_at[i] = in_order(old, next, FIRST + i);
        if (!good_at[i])
            wrong_last = FIRST + i;
    }
    const bool ever_wrong = wrong_last != INT64_MIN,
               got = id_sets_order_from(old_set, next_set, &ms);
    note(ORDER_FROM, got == ever_wrong && (!got || ms == wrong_last + 1), got, pair);

    for (int i = 0; i < MOMENTS; i++) {
        if (!good_at[i])
            continue;
        int k = i;
        while (k < MOMENTS && good_at[k])
            k++;
        const bool found = id_sets_order_until(old_set, next_set, FIRST + i, &ms);
        note(ORDER_UNTIL, found == (k < MOMENTS) && (!found || ms == FIRST + k), found, pair);
    }
}

static void above(const struct small *s, const struct small_ids *ids, const struct id_set *set,
                  int pair) {
    const unsigned bits = s->fields[0].shift - s->base + s->fields[0].bits;
    const uint32_t number = (uint32_t)rnd(2u << bits);
    int64_t want = INT64_MAX, got = 0;
    for (int i = 0; i < ids->count; i++) {
        bool all = true;
        for (int k = 0; k < ids->count; k++)
            all &= ids->ids[k].begin < ids->ids[i].begin || ids->ids[k].number > number;
        if (all && ids->ids[i].begin < want)
            want = ids->ids[i].begin;
    }
    const bool found = id_set_above(set, wide(s, number), &got);
    note(ABOVE, found == (want != INT64_MAX) && (!found || got == want), found, pair);
}

static void one_pair(int pair) {
    static struct small_ids old_ids, next_ids;
    const unsigned base = rnd(2) ? (unsigned)rnd(110) : 0;
    const struct small old = random_layout(base), next = random_layout(base);
    struct id_set old_set = set_of(&old), next_set = set_of(&next);
    const int64_t from = (int64_t)rnd(150) - 50, old_since = rnd(2) ? INT64_MIN : from;
    const int64_t old_until = rnd(2) ? INT64_MAX : from + (int64_t)rnd(200);
    const int64_t next_since = rnd(2) ? INT64_MIN : (int64_t)rnd(200) - 50;

    struct id_set given = old_set, coming = next_set;
    const bool gives = id_set_span(&given, old_since, old_until),
               comes = id_set_span(&coming, next_since, INT64_MAX);
    list(&old, old_since, old_until, &old_ids);
    list(&next, next_since, INT64_MAX, &next_ids);
    bounds(&old, &old_ids, &given, gives, pair);
    bounds(&next, &next_ids, &coming, comes, pair);
    meeting(&old, &next, &old_ids, &next_ids, &given, &coming, pair);
    if (!gives || !comes)
        return;
    order(&old_ids, &next_ids, &given, &coming, pair);
    above(&next, &next_ids, &coming, pair);
}

/* ---- sizes that cannot be listed ------------------------------------------------------- */

/* Widths that fill 64 bits, units up to the longest: the numbers are known by thought. */
static struct id_set text_set(const char *text) {
    sfid_layout l;
    sfid_layout_facts facts;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    need(sfid_layout_parse(text, &l) >= 0 && sfid_layout_describe(&l, &facts) >= 0,
         "%s is not a layout", text);
    const int count = sfid_layout_fields(&l, fields, SFID_LAYOUT_FIELDS);
    struct id_set set = {.epoch_ms = l.epoch_ms, .unit_ms = l.unit_ms};
    id_set_fields(&set, fields, count, facts.last_ms, (sfid_wide){0, 0});
    return set;
}

static void large(void) {
    int64_t ms = 0;
    sfid_wide id = {1, 1};
    struct id_set old = text_set("sfid-0.1.13"), next = text_set("sfid");
    ok(id_sets_order_from(&old, &next, &ms), "sfid-0.1.13 to sfid: out of order at some time");
    is_i64(ms, SFID_EPOCH_MS + (INT64_C(1) << 35) * 1000,
           "until OLD is past its end, and NEW past OLD's IDs");
    ok(id_sets_meet(&old, &next, &id) && id.high == 0 && id.low == 0, "they meet in ID 0");
    ok(id_sets_order_from(&next, &old, &ms) && ms == SFID_EPOCH_MS + 1000,
       "sfid to sfid-0.1.13: in order after the first second");
    ok(!id_sets_order_until(&next, &old, ms, &ms), "for good");

    /* OLD rises by 2^20 IDs in 2^20 + 1 ms, NEW by one a ms, so NEW gains one ID in a tick of OLD,
     * and needs 2^20 of them. */
    old = text_set("40:0:20/1048577ms@0");
    next = text_set("60:0:0/1ms@0");
    ok(id_sets_order_from(&old, &next, &ms), "nearly the same rate: out of order at first");
    is_i64(ms, INT64_C(1) << 40, "until NEW has gained all IDs of a tick");
    old = text_set("62:0:0/1ms@0");
    next = text_set("61:0:0/2ms@0");
    ok(!id_sets_order_until(&next, &old, 1, &ms), "half as fast, it never catches up");
    is_i64(id_sets_order_from(&old, &next, &ms) ? ms : -1, INT64_C(1) << 62,
           "twice as fast, it is never caught up with");
}

int main(void) {
    for (int pair = 0; pair < PAIRS; pair++)
        one_pair(pair);
    for (int i = 0; i < CHECKS; i++) {
        is_u64(faults[i], 0, "%s: as brute force finds it", names[i]);
        ok(yes[i] > PAIRS / 50 && no[i] > PAIRS / 50, "%s: %u times yes, %u times no", names[i],
           yes[i], no[i]);
    }
    large();
    return done_testing();
}
