/* SPDX-License-Identifier: MIT */
/* Layouts: the macro, the checker and the text form agree; IDs go apart and together; ranges, facts
 * and fields. */
#include "id/layout.h"

#include "support/tap.h"

/* Not to be made by SFID_LAYOUT: the sequence stands above the pid. 39:8:16/10ms as Sonyflake has
 * it. */
static const sfid_layout sonyflake = {
    INT64_C(1409529600000), 10,           39, 16, 8, 24, 0, 16, 0, {0, 0, 0, 0, 0}, SFID__ONES(39),
    SFID__ONES(16),         SFID__ONES(8)};

static const struct known {
    const char *text;
    unsigned t, p, s;
    uint32_t unit;
    int64_t epoch;
    sfid_layout layout;
} known[] = {
#define KNOWN(text, t, p, s, unit, epoch) \
    { text, t, p, s, unit, epoch, SFID_LAYOUT(t, p, s, unit, epoch) }
    KNOWN("sfid", 36, 11, 17, 1000, SFID_EPOCH_MS),
    KNOWN("36:11:17/1s", 36, 11, 17, 1000, SFID_EPOCH_MS),
    KNOWN("ms", 41, 10, 12, 1, SFID_EPOCH_MS),
    KNOWN("41:10:12", 41, 10, 12, 1, SFID_EPOCH_MS),
    KNOWN("41:10:12/1ms@0", 41, 10, 12, 1, 0),
    KNOWN("46:0:18@-1", 46, 0, 18, 1, -1),
    KNOWN("30:2:31/1s", 30, 2, 31, 1000, SFID_EPOCH_MS),         /* 63 bits */
    KNOWN("39:10:15/10ms@5", 39, 10, 15, 10, 5),                 /* 64 bits */
    KNOWN("32:32:0/1000ms", 32, 32, 0, 1000, SFID_EPOCH_MS),     /* widest pid */
    KNOWN("2:0:61/7ms", 2, 0, 61, 7, SFID_EPOCH_MS),             /* widest sequence */
    KNOWN("63:0:1", 63, 0, 1, 1, SFID_EPOCH_MS),                 /* widest tick */
    KNOWN("2:0:0/4294967s", 2, 0, 0, 4294967000, SFID_EPOCH_MS), /* longest unit of whole seconds */
    KNOWN("41:10:12@-62135596800000", 41, 10, 12, 1, SFID__EPOCH_MIN),
    KNOWN("41:10:12@253402300799999", 41, 10, 12, 1, SFID__EPOCH_MAX),
#undef KNOWN
};

static void macro_parse_and_make_agree(void) {
    for (size_t i = 0; i < COUNT(known); i++) {
        const struct known *k = &known[i];
        sfid_layout parsed;
        memset(&parsed, 0x55, sizeof parsed);
        const sfid_layout made = sfid__layout_make(k->t, k->p, k->s, k->unit, k->epoch);
        ok(sfid_layout_parse(k->text, &parsed) == 0 &&
               memcmp(&parsed, &k->layout, sizeof parsed) == 0,
           "%s is read as SFID_LAYOUT has it", k->text);
        ok(memcmp(&made, &k->layout, sizeof made) == 0,
           "%s is made from widths as SFID_LAYOUT has it", k->text);
        is_i64(sfid_layout_check(&k->layout), 0, "%s passes the check", k->text);
    }
    sfid_layout parsed;
    ok(sfid_layout_parse("sfid", &parsed) == 0 &&
           memcmp(&parsed, &SFID_LAYOUT_DEFAULT, sizeof parsed) == 0,
       "sfid is the default");
    is_i64(sfid_layout_check(NULL), 0, "NULL is the default, and passes");
    is_i64(sfid_layout_check(&sonyflake), 0, "the sequence may stand above the pid");
}

/* ---- IDs ----------------------------------------------------------------- */

static uint64_t seed = 1;

static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Bit by bit, to be simple rather than fast. */
static uint64_t place(uint64_t value, unsigned bits, unsigned shift) {
    uint64_t id = 0;
    for (unsigned i = 0; i < bits; i++)
        if (value >> i & 1)
            id |= UINT64_C(1) << (i + shift);
    return id;
}

static bool round_trips(const sfid_layout *l, uint64_t tick, uint64_t pid, uint64_t seq) {
    const sfid_parts in = {tick, pid, seq, -77};
    sfid_parts out = {1, 2, 3, 4};
    int64_t id = -1;
    if (sfid_compose(l, &in, &id) != 0 || id < 0 || sfid_parse(l, id, &out) != 0)
        return false;
    return (uint64_t)id ==
               (place(tick, l->time_bits, l->time_shift) | place(pid, l->pid_bits, l->pid_shift) |
                place(seq, l->seq_bits, l->seq_shift)) &&
           out.tick == tick && out.pid == pid && out.seq == seq &&
           out.unix_ms == l->epoch_ms + (int64_t)(tick * l->unit_ms);
}

static void ids_go_apart_and_together(const char *name, const sfid_layout *l) {
    unsigned lost = 0;
    const uint64_t tick[] = {0, 1, l->max_tick - 1, l->max_tick},
                   pid[] = {0, l->max_pid / 2, l->max_pid}, seq[] = {0, l->max_seq / 2, l->max_seq};
    for (size_t t = 0; t < COUNT(tick); t++)
        for (size_t p = 0; p < COUNT(pid); p++)
            for (size_t s = 0; s < COUNT(seq); s++)
                lost += !round_trips(l, tick[t], pid[p], seq[s]);
    is_u64(lost, 0, "%s: edges come back", name);
    lost = 0;
    const int rounds = tap_rounds(100000);
    for (int i = 0; i < rounds; i++)
        lost += !round_trips(l, rnd() & l->max_tick, rnd() & l->max_pid, rnd() & l->max_seq);
    is_u64(lost, 0, "%s: %d random IDs come back", name, rounds);

    const uint64_t used = place(l->max_tick, 64 - l->time_shift, l->time_shift) |
                          place(l->max_pid, l->pid_bits, l->pid_shift) |
                          place(l->max_seq, l->seq_bits, l->seq_shift);
    unsigned taken = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        sfid_parts out = {11, 12, 13, 14};
        if (!(used >> bit & 1))
            taken += sfid_parse(l, (int64_t)(UINT64_C(1) << bit | (used & rnd())), &out) !=
                         SFID_EINVAL ||
                     out.tick != 11 || out.unix_ms != 14;
    }
    is_u64(taken, 0, "%s: each reserved bit is refused, and the result left alone", name);

    int64_t id = 99;
    const sfid_parts pids = {0, l->max_pid + 1, 0, 0}, seqs = {0, 0, l->max_seq + 1, 0},
                     ticks = {l->max_tick + 1, 0, 0, 0}, far = {UINT64_MAX, 0, 0, 0};
    ok(sfid_compose(l, &pids, &id) == SFID_EINVAL && sfid_compose(l, &seqs, &id) == SFID_EINVAL &&
           id == 99,
       "%s: a pid or sequence one too large is SFID_EINVAL", name);
    ok(sfid_compose(l, &ticks, &id) == SFID_EOVERFLOW &&
           sfid_compose(l, &far, &id) == SFID_EOVERFLOW && id == 99,
       "%s: a tick one too large is SFID_EOVERFLOW", name);
}

/* The last places where a field may stand, and the longest unit. */
static void bounds_of_the_check(void) {
    sfid_layout l = sfid__layout_make(41, 0, 0, 1, 0);
    l.pid_shift = l.seq_shift = 63;
    is_i64(sfid_layout_check(&l), 0, "fields without bits may stand at the top bit");
    l.seq_shift = 64;
    is_i64(sfid_layout_check(&l), SFID_EINVAL, "and not above it");
    l = sfid__layout_make(31, 0, 0, (uint32_t)(SFID__ALL_MS / SFID__ONES(31)), 0);
    ok(SFID__ALL_MS / l.unit_ms == SFID__ONES(31) && sfid_layout_check(&l) == SFID_EINVAL,
       "a unit with which unix_ms overflows");
    l.unit_ms -= 2; /* with one less the quotient is the same */
    is_i64(sfid_layout_check(&l), 0, "and one with which it does not");
    const sfid_layout odd = {0,
                             1,
                             41,
                             11,
                             11,
                             22,
                             0,
                             11,
                             0,
                             {0, 0, 0, 0, 0},
                             SFID__ONES(41),
                             SFID__ONES(11),
                             SFID__ONES(11)};
    const sfid_parts in = {.tick = 5, .pid = 2047, .seq = 1};
    sfid_parts out;
    int64_t id = 0;
    ok(sfid_compose(&odd, &in, &id) == 0 && sfid_parse(&odd, id, &out) == 0 && out.tick == 5 &&
           out.pid == 2047 && out.seq == 1,
       "a sequence at an odd place");
}

static void bad_ids(void) {
    sfid_parts out = {1, 2, 3, 4};
    int64_t id = 5;
    ok(sfid_parse(NULL, -1, &out) == SFID_EINVAL &&
           sfid_parse(NULL, INT64_MIN, &out) == SFID_EINVAL && out.tick == 1,
       "negative numbers are no IDs");
    is_i64(sfid_parse(NULL, 1, NULL), SFID_EINVAL, "parse wants a place for the parts");
    is_i64(sfid_compose(NULL, NULL, &id), SFID_EINVAL, "compose wants parts");
    is_i64(sfid_compose(NULL, &out, NULL), SFID_EINVAL, "and a place for the ID");
}

static void many_at_once(void) {
    sfid_layout js;
    need(sfid_layout_parse("32:8:13/1s", &js) >= 0, "32:8:13/1s is not read");
    const int64_t ids[] = {0, -1, INT64_C(1) << 52, INT64_C(1) << 53,
                           INT64_C(5) << 21 | 3 << 13 | 9};
    sfid_parts out[5], first;
    memset(out, 0x77, sizeof out);
    is_i64(sfid_parse_n(&js, ids, 5, out), SFID_EINVAL,
           "one ID of five that is none makes the call fail");
    const sfid_parts none = {UINT64_MAX, 0, 0, 0};
    ok(memcmp(&out[1], &none, sizeof none) == 0 && memcmp(&out[3], &none, sizeof none) == 0,
       "such an entry says so by its tick");
    ok(out[0].tick == 0 && out[0].unix_ms == SFID_EPOCH_MS && out[2].tick == UINT64_C(1) << 31 &&
           out[4].tick == 5 && out[4].pid == 3 && out[4].seq == 9 &&
           out[4].unix_ms == SFID_EPOCH_MS + 5000,
       "the others are taken apart");
    ok(sfid_parse_n(&js, ids, 1, &first) == 0 && memcmp(&first, &out[0], sizeof first) == 0,
       "good ones only: 0");
    ok(sfid_parse_n(&js, NULL, 0, NULL) == 0 && sfid_parse_n(&js, ids, 0, NULL) == 0,
       "none at all is 0, whatever the pointers");
    ok(sfid_parse_n(&js, NULL, 1, out) == SFID_EINVAL &&
           sfid_parse_n(&js, ids, 1, NULL) == SFID_EINVAL,
       "else a NULL is refused");
}

static void published_vectors(void) {
    sfid_layout twitter;
    need(sfid_layout_parse("twitter", &twitter) >= 0, "twitter is no preset");
    const struct {
        const char *name;
        const sfid_layout *l;
        int64_t id, ms;
        uint64_t pid, seq;
    } vectors[] = {
        /* 2022-06-28T16:07:40.105Z, 11, 26 */
        {"twitter", &twitter, INT64_C(1541815603606036480), INT64_C(1656432460105), 378, 0},
        /* 2020-01-01T00:00:00.000Z, 0, 1 */
        {"twitter", &twitter, INT64_C(1212161512043450368), INT64_C(1577836800000), 1, 0},
        /* 2021-07-07T17:20:37.710Z */
        {"sonyflake", &sonyflake, INT64_C(362637573840961538), INT64_C(1625678437710), 2, 0},
    };
    for (size_t i = 0; i < COUNT(vectors); i++) {
        sfid_parts p = {0, 0, 0, 0};
        int64_t back = -1;
        ok(sfid_parse(vectors[i].l, vectors[i].id, &p) == 0 && p.unix_ms == vectors[i].ms &&
               p.pid == vectors[i].pid && p.seq == vectors[i].seq,
           "%s %lld means what was published", vectors[i].name, (long long)vectors[i].id);
        ok(sfid_compose(vectors[i].l, &p, &back) == 0 && back == vectors[i].id,
           "and is made of that");
    }
}

/* ---- ranges -------------------------------------------------------------- */

/* A layout so small that all its IDs can be looked at for each moment. */
static void ranges_are_exact(const char *name, const sfid_layout *l) {
    const int64_t end = l->epoch_ms + (int64_t)((l->max_tick + 1) * l->unit_ms);
    unsigned wrong = 0;
    for (int64_t at = l->epoch_ms - 20; at < end + 20; at++) {
        const int64_t in = at < l->epoch_ms ? l->epoch_ms : at >= end ? end - 1 : at;
        int64_t low = INT64_MAX, high = -1;
        for (int64_t id = 0; id < 512; id++) {
            sfid_parts p;
            if (sfid_parse(l, id, &p) == 0 && p.unix_ms <= in && in < p.unix_ms + l->unit_ms) {
                low = low < id ? low : id;
                high = high > id ? high : id;
            }
        }
        wrong += sfid_min_at(l, at) != low || sfid_max_at(l, at) != high;
    }
    is_u64(wrong, 0, "%s: the lowest and highest ID of every moment", name);
}

static void ranges_saturate(const char *name, const sfid_layout *l) {
    const sfid_parts first = {0, l->max_pid, l->max_seq, 0}, last = {l->max_tick, 0, 0, 0},
                     very_last = {l->max_tick, l->max_pid, l->max_seq, 0};
    int64_t id[3] = {-1, -1, -1};
    need(sfid_compose(l, &first, &id[0]) >= 0 && sfid_compose(l, &last, &id[1]) >= 0 &&
             sfid_compose(l, &very_last, &id[2]) >= 0,
         "%s: no IDs at the ends", name);
    ok(sfid_min_at(l, INT64_MIN) == 0 && sfid_min_at(l, l->epoch_ms - 1) == 0 &&
           sfid_max_at(l, INT64_MIN) == id[0] && sfid_max_at(l, l->epoch_ms - 1) == id[0],
       "%s: before the epoch counts as its first tick", name);
    const int64_t end = l->epoch_ms + (int64_t)((l->max_tick + 1) * l->unit_ms);
    ok(sfid_min_at(l, INT64_MAX) == id[1] && sfid_min_at(l, end) == id[1] &&
           sfid_min_at(l, end - 1) == id[1] && sfid_max_at(l, INT64_MAX) == id[2] &&
           sfid_max_at(l, end) == id[2],
       "%s: past the end counts as its last tick", name);
    ok(sfid_min_at(l, end - l->unit_ms - 1) < id[1], "%s: and no moment before that does", name);
}

static void tick_is(const sfid_layout *l, int64_t unix_ms, int rc, uint64_t tick,
                    const char *what) {
    uint64_t got = 77;
    ok(sfid_tick_at(l, unix_ms, &got) == rc && got == (rc ? 77 : tick), "%s", what);
}

static void ticks_of_moments(void) {
    const sfid_layout l = SFID_LAYOUT(4, 2, 3, 7, -100);
    tick_is(&l, -100, 0, 0, "the epoch is in tick 0");
    tick_is(&l, -101, SFID_ECLOCK, 0, "the millisecond before it in none");
    tick_is(&l, INT64_MIN, SFID_ECLOCK, 0, "nor is anything earlier");
    tick_is(&l, -94, 0, 0, "tick 0 is 7 ms long");
    tick_is(&l, -93, 0, 1, "then tick 1 begins");
    tick_is(&l, 11, 0, 15, "the last millisecond is in the last tick");
    tick_is(&l, 12, SFID_EOVERFLOW, 0, "the one after it in none");
    tick_is(&l, INT64_MAX, SFID_EOVERFLOW, 0, "nor is anything later");
    tick_is(NULL, SFID_EPOCH_MS + 1999, 0, 1, "NULL is the default");
    sfid_layout bad = l;
    bad.max_tick--;
    ok(sfid_tick_at(&bad, 0, &(uint64_t){0}) == SFID_EINVAL &&
           sfid_tick_at(&l, 0, NULL) == SFID_EINVAL,
       "an unusable layout has no ticks, and one wants a place");
}

static void ranges(void) {
    const sfid_layout small = SFID_LAYOUT(4, 2, 3, 7, 1000);
    const sfid_layout turned = {-30, 3, 4, 2, 3, 5, 0, 2, 0, {0, 0, 0, 0, 0}, 15, 3, 7};
    ranges_are_exact("4:2:3/7ms", &small);
    ranges_are_exact("4:3:2/3ms, sequence above pid, epoch before 1970", &turned);
    for (size_t i = 0; i < COUNT(known); i++)
        ranges_saturate(known[i].text, &known[i].layout);
    ranges_saturate("sonyflake", &sonyflake);
    ok(sfid_min_at(NULL, INT64_MAX) == sfid_min_at(&SFID_LAYOUT_DEFAULT, INT64_MAX) &&
           sfid_max_at(NULL, SFID_EPOCH_MS) == sfid_max_at(&SFID_LAYOUT_DEFAULT, SFID_EPOCH_MS),
       "NULL is the default");
    sfid_layout bad = small;
    bad.max_tick--;
    ok(sfid_min_at(&bad, 0) == SFID_EINVAL && sfid_max_at(&bad, 0) == SFID_EINVAL,
       "an unusable layout has no ranges");
}

/* ---- facts and fields ---------------------------------------------------- */

static void facts_of(const char *text, const char *name, uint64_t per_tick, uint64_t per_second,
                     uint64_t processes, uint64_t fleet) {
    sfid_layout l;
    sfid_layout_facts f;
    need(sfid_layout_parse(text, &l) >= 0 && sfid_layout_describe(&l, &f) >= 0, "%s is not read",
         text);
    is_str(f.name, name, "%s: name", text);
    is_u64(f.ids_per_tick, per_tick, "%s: IDs per tick", text);
    is_u64(f.ids_per_second, per_second, "%s: IDs per second", text);
    is_u64(f.processes, processes, "%s: processes", text);
    is_u64(f.fleet_per_second, fleet, "%s: IDs per second of all", text);
    is_i64(f.last_ms, l.epoch_ms + (int64_t)((l.max_tick + 1) * l.unit_ms), "%s: its end", text);
}

static void facts(void) {
    sfid_layout_facts f;
    need(sfid_layout_describe(NULL, &f) >= 0, "the default has no facts");
    is_i64(f.last_ms, SFID_EPOCH_MS + (INT64_C(1) << 35) * 1000,
           "the default ends 2^35 seconds after its epoch");
    /* years of mean length: a time_t may end before */
    is_i64(1970 + f.last_ms / 1000 / 31556952, 3114, "that is in 3114");
    facts_of("sfid", "sfid", 131072, 131072, 2048, 268435456);
    facts_of("twitter", "twitter", 4096, 4096000, 1024, 4194304000);
    facts_of("41:10:12/3ms", NULL, 4096, 1365333, 1024, 1398100992);
    facts_of("32:0:0/7s", NULL, 1, 0, 1, 0);
    facts_of("2:32:29", NULL, 536870912, 536870912000, UINT64_C(1) << 32, UINT64_MAX);
    facts_of("2:0:61/1s", NULL, UINT64_C(1) << 61, UINT64_C(1) << 61, 1, UINT64_C(1) << 61);
    ok(sfid_layout_describe(NULL, &f) == 0 && f.order == SFID_ORDER_PID_SEQ && f.first_pid == 0,
       "by default pid decides before seq");
    ok(sfid_layout_describe(&sonyflake, &f) == 0 && f.order == SFID_ORDER_SEQ_PID,
       "sonyflake: seq decides before pid");
    const sfid_layout no_pid = {
        0, 1, 46, 0, 17, 18, 0, 1, 0, {0, 0, 0, 0, 0}, SFID__ONES(45), 0, SFID__ONES(17)};
    ok(sfid_layout_describe(&no_pid, &f) == 0 && f.order == SFID_ORDER_PID_SEQ,
       "a pid of no bits decides nothing");
    facts_of("icicle", "icicle", 4096, 4096000, 1023, 4190208000);
    sfid_layout icicle;
    ok(sfid_layout_parse("icicle", &icicle) == 0 && sfid_layout_describe(&icicle, &f) == 0 &&
           f.first_pid == 1,
       "icicle counts pids from 1");
    sfid_layout bad = SFID_LAYOUT_DEFAULT;
    bad.unit_ms = 0;
    f.last_ms = 42;
    ok(sfid_layout_describe(&bad, &f) == SFID_EINVAL && f.last_ms == 42,
       "an unusable layout has no facts");
    is_i64(sfid_layout_describe(NULL, NULL), SFID_EINVAL, "and they want a place");
}

static void fingerprints(void) {
    static const char *const texts[] = {"41:10:12",     "42:9:12",    "41:9:13",
                                        "41:10:12/2ms", "41:10:12@0", "41:10:11"};
    uint64_t seen[COUNT(texts) + 1];
    sfid_layout l = sonyflake;
    sfid_layout_facts f;
    unsigned same = 0;
    for (size_t i = 0; i < COUNT(texts); i++) {
        need(sfid_layout_parse(texts[i], &l) >= 0 && sfid_layout_describe(&l, &f) >= 0,
             "%s is not read", texts[i]);
        seen[i] = f.fingerprint;
        for (size_t j = 0; j < i; j++)
            same += seen[i] == seen[j];
    }
    const sfid_layout straight = SFID_LAYOUT(39, 16, 8, 10, INT64_C(1409529600000));
    same += sfid__layout_fingerprint(&straight) == sfid__layout_fingerprint(&sonyflake);
    sfid_layout apart = sfid__layout_make(30, 8, 8, 1, 0);
    seen[0] = sfid__layout_fingerprint(&apart);
    apart.time_shift++;
    seen[1] = sfid__layout_fingerprint(&apart);
    apart.pid_shift++;
    same += seen[0] == seen[1] || seen[1] == sfid__layout_fingerprint(&apart);
    is_u64(same, 0, "layouts that make other IDs have other fingerprints");
    sfid_layout named = straight;
    named.pid_low = 4;
    is_u64(sfid__layout_fingerprint(&named), sfid__layout_fingerprint(&straight),
           "a name for half of the pid does not count");
}

/* Of hosts of either byte order: apps are named by it, and leases would be given twice where two
 * hosts read two names. */
static void fingerprint_values(void) {
    const sfid_layout straight = SFID_LAYOUT(39, 16, 8, 10, INT64_C(1409529600000));
    is_u64(sfid__layout_fingerprint(&straight), UINT64_C(0x809fcb0dc8b1b95b),
           "the fingerprint of 39:16:8/10ms is the same on every machine");
    is_u64(sfid__layout_fingerprint(&SFID_LAYOUT_DEFAULT), UINT64_C(0xaaba76e08cc4da55),
           "and that of the default");
}

static void fields_of(const char *name, const sfid_layout *l, const char *want) {
    sfid_field f[SFID_LAYOUT_FIELDS];
    char got[200] = "";
    const int n = sfid_layout_fields(l, f, SFID_LAYOUT_FIELDS);
    for (int i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s %u+%u", i ? ", " : "",
                 f[i].name, f[i].shift, f[i].bits);
    is_str(got, want, "%s: fields", name);
    f[0].bits = 99;
    ok(n > 0 && sfid_layout_fields(l, f, (size_t)n) == n, "%s: room for exactly these is enough",
       name);
    f[0].bits = 99;
    ok(sfid_layout_fields(l, f, (size_t)n - 1) == SFID_EINVAL && f[0].bits == 99, "%s: less is not",
       name);
}

static void fields(void) {
    sfid_layout l, bad = SFID_LAYOUT_DEFAULT;
    fields_of("default", NULL, "time 28+36, pid 17+11, seq 0+17");
    fields_of("sonyflake", &sonyflake, "reserved 63+1, time 24+39, seq 16+8, machine 0+16");
    ok(sfid_layout_parse("twitter", &l) == 0, "twitter is a preset");
    fields_of("twitter", &l, "reserved 63+1, time 22+41, datacenter 17+5, worker 12+5, seq 0+12");
    ok(sfid_layout_parse("46:0:18", &l) == 0, "46:0:18 is read");
    fields_of("46:0:18", &l, "time 18+46, seq 0+18");
    ok(sfid_layout_parse("32:8:13", &l) == 0, "32:8:13 is read");
    fields_of("32:8:13", &l, "reserved 53+11, time 21+32, pid 13+8, seq 0+13");
    ok(sfid_layout_parse("discord", &l) == 0, "discord is a preset");
    fields_of("discord", &l, "time 22+42, worker 17+5, process 12+5, increment 0+12");
    ok(sfid_layout_parse("tso", &l) == 0, "tso is a preset");
    fields_of("tso", &l, "physical 18+46, logical 0+18");
    sfid_field f[SFID_LAYOUT_FIELDS];
    ok(sfid_layout_parse("twitter", &l) == 0 && sfid_layout_fields(&l, f, 5) == 5 &&
           f[0].kind == SFID_FIELD_RESERVED && f[1].kind == SFID_FIELD_TIME &&
           f[2].kind == SFID_FIELD_PID && f[3].kind == SFID_FIELD_PID &&
           f[4].kind == SFID_FIELD_SEQ,
       "and what they hold is told apart from their names");
    bad.seq_shift = 1;
    ok(sfid_layout_fields(&bad, f, SFID_LAYOUT_FIELDS) == SFID_EINVAL &&
           sfid_layout_fields(NULL, NULL, 6) == SFID_EINVAL,
       "an unusable layout has no fields, and NULL no room");
}

int main(void) {
    macro_parse_and_make_agree();
    for (size_t i = 0; i < COUNT(known); i++)
        if (i != 1 && i != 3) /* said before */
            ids_go_apart_and_together(known[i].text, &known[i].layout);
    ids_go_apart_and_together("sonyflake", &sonyflake);
    bounds_of_the_check();
    bad_ids();
    many_at_once();
    published_vectors();
    ticks_of_moments();
    ranges();
    facts();
    fingerprints();
    fingerprint_values();
    fields();
    return done_testing();
}
