/* SPDX-License-Identifier: MIT */
/* Wide layouts: their text, fields and facts; IDs go apart and together; what is none is
 * refused. */
#include "base/compiler.h"

#include "support/tap.h"

#include <sfid.h>

static const char *const names[] = {"flake", "awsflake", "uuid7", "flake-go"};

static sfid_wide_layout layout(const char *text) {
    sfid_wide_layout l = {(sfid_wide_kind)0, 0, 0};
    need(sfid_wide_layout_parse(text, &l) >= 0, "%s is no wide layout", text);
    return l;
}

/* ---- layouts -------------------------------------------------------------- */

static const struct {
    const char *text, *back;
    sfid_wide_kind kind;
    int64_t epoch_ms;
} known[] = {
    {"flake", "flake", SFID_FLAKE, 0},
    {"awsflake", "awsflake", SFID_AWSFLAKE, SFID_AWSFLAKE_EPOCH_MS},
    {"awsflake@1577836800000", "awsflake", SFID_AWSFLAKE, SFID_AWSFLAKE_EPOCH_MS},
    {"awsflake@1451606400000", "awsflake@1451606400000", SFID_AWSFLAKE, INT64_C(1451606400000)},
    {"awsflake@-1", "awsflake@-1", SFID_AWSFLAKE, -1},
    {"awsflake@-62135596800000", "awsflake@-62135596800000", SFID_AWSFLAKE, SFID__EPOCH_MIN},
    {"uuid7", "uuid7", SFID_UUID7, 0},
    {"flake-go", "flake-go", SFID_FLAKE_GO, 0},
};

static const char *const unknown[] = {
    "",
    "flake ",
    "Flake",
    "flak",
    "flakes",
    "flake@0",
    "flake-",
    "flake-g",
    "flake-go@0",
    "uuid7@0",
    "uuid",
    "uuid4",
    "awsflake@",
    "awsflake@x",
    "awsflake@1 ",
    "awsflake1",
    "awsflake@+1",
    "awsflake@--1",
    "awsflake@1@1",
    "twitter",
    "41:10:12",
    "awsflake@-",
    "awsflake@253402300800000",
    "awsflake@-62135596800001",
    "@0",
};

static void texts(void) {
    for (size_t i = 0; i < COUNT(known); i++) {
        char text[SFID_LAYOUT_STR_LEN];
        const sfid_wide_layout l = layout(known[i].text);
        ok(l.kind == known[i].kind && l.epoch_ms == known[i].epoch_ms && l.reserved == 0,
           "%s is read", known[i].text);
        ok(sfid_wide_layout_format(&l, text, strlen(known[i].back) + 1) == 0 &&
               strcmp(text, known[i].back) == 0,
           "and written");
        is_i64(sfid_wide_layout_format(&l, text, strlen(known[i].back)), SFID_EINVAL,
               "not where it does not fit");
    }
    for (size_t i = 0; i < COUNT(unknown); i++) {
        sfid_wide_layout l = {SFID_UUID7, 5, 6};
        ok(sfid_wide_layout_parse(unknown[i], &l) == SFID_EINVAL && l.kind == SFID_UUID7 &&
               l.reserved == 5 && l.epoch_ms == 6,
           "\"%s\" is no wide layout", unknown[i]);
    }
    sfid_wide_layout l;
    ok(sfid_wide_layout_parse(NULL, &l) == SFID_EINVAL &&
           sfid_wide_layout_parse("flake", NULL) == SFID_EINVAL,
       "nor is NULL");
    for (size_t i = 0; i < COUNT(names); i++)
        is_str(sfid_wide_layout_preset(i), names[i], "%s is listed", names[i]);
    ok(sfid_wide_layout_preset(COUNT(names)) == NULL && sfid_wide_layout_preset(SIZE_MAX) == NULL,
       "there are no others");
}

static void fields_of(const char *name, const char *want) {
    const sfid_wide_layout l = layout(name);
    sfid_field f[SFID_LAYOUT_FIELDS];
    char got[300] = "";
    unsigned bits = 0;
    const int n = sfid_wide_layout_fields(&l, f, SFID_LAYOUT_FIELDS);
    for (int i = 0; i < n; i++) {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s/%d %u+%u", i ? ", " : "",
                 f[i].name, (int)f[i].kind, f[i].shift, f[i].bits);
        bits += f[i].bits;
    }
    is_str(got, want, "%s: fields", name);
    is_u64(bits, 128, "%s: they fill 128 bits", name);
    ok(n > 0 && sfid_wide_layout_fields(&l, f, (size_t)n) == n &&
           sfid_wide_layout_fields(&l, f, (size_t)n - 1) == SFID_EINVAL,
       "%s: room for exactly these is enough", name);
}

static void facts_of(const char *name, const char *want) {
    const sfid_wide_layout l = layout(name);
    sfid_wide_facts f;
    char got[300] = "";
    if (sfid_wide_layout_describe(&l, &f) == 0)
        snprintf(got, sizeof got,
                 "%s %u bits, %s of %u; last %" PRId64 ", %" PRIu64 " %" PRIu64 " %" PRIu64
                 " %" PRIu64 " order %d",
                 f.facts.name, f.bits, sfid_form_name(f.form), f.width, f.facts.last_ms,
                 f.facts.ids_per_tick, f.facts.ids_per_second, f.facts.processes,
                 f.facts.fleet_per_second, (int)f.facts.order);
    is_str(got, want, "%s: facts", name);
    ok(f.facts.first_pid == 0 && f.facts.processes == f.max_pid + 1 &&
           f.facts.ids_per_tick == f.max_seq + 1,
       "%s: they agree", name);
}

static void facts(void) {
    fields_of("flake", "time/1 64+64, worker/2 16+48, seq/3 0+16");
    fields_of("awsflake", "reserved/0 77+51, time/1 36+41, region/2 31+5, ip/2 15+16, seq/3 0+15");
    fields_of(
        "uuid7",
        "time/1 80+48, version/4 76+4, seq/3 64+12, variant/4 62+2, seq_low/3 60+2, pid/2 44+16, random/5 0+44");
    fields_of("flake-go", "time/1 80+48, zero/4 64+16, worker/2 16+48, seq/3 0+16");
    facts_of(
        "flake",
        "flake 128 bits, hex of 32; last 9223372036854775807, 65536 65536000 281474976710656 18446744073709551615 order 0");
    facts_of(
        "awsflake",
        "awsflake 77 bits, base62 of 1; last 3776860055552, 32768 32768000 2097152 68719476736000 order 0");
    facts_of(
        "uuid7",
        "uuid7 128 bits, uuid of 36; last 281474976710656, 16384 16384000 65536 1073741824000 order 1");
    facts_of(
        "flake-go",
        "flake-go 128 bits, hex of 32; last 281474976710656, 65536 65536000 281474976710656 18446744073709551615 order 0");
    sfid_wide_facts a, b;
    const sfid_wide_layout x = layout("awsflake"), y = layout("awsflake@0");
    ok(sfid_wide_layout_describe(&x, &a) == 0 && sfid_wide_layout_describe(&y, &b) == 0 &&
           a.facts.fingerprint != b.facts.fingerprint,
       "another epoch, another fingerprint");
    is_u64(a.facts.fingerprint, UINT64_C(0x34cf6471aa8a4959), "the same on every machine");
}

/* ---- ranges --------------------------------------------------------------- */

static sfid_wide place(const sfid_wide_layout *l, const sfid_wide_parts *parts);

/* A moment's bounds are the IDs with all other bits clear and all of them set, put together bit by
 * bit. */
static bool bounds_are(const sfid_wide_layout *l, const sfid_wide_facts *f, int64_t unix_ms,
                       uint64_t tick) {
    const sfid_wide_parts low = {tick, 0, 0, 0, 0},
                          high = {tick, f->max_pid, f->max_seq, f->max_random, 0};
    sfid_wide min = {1, 2}, max = {3, 4};
    return sfid_wide_min_at(l, unix_ms, &min) == 0 && sfid_wide_compare(min, place(l, &low)) == 0 &&
           sfid_wide_max_at(l, unix_ms, &max) == 0 && sfid_wide_compare(max, place(l, &high)) == 0;
}

/* Is an ID between the bounds of its own millisecond, and of no other near it? */
static bool lies_between(const sfid_wide_layout *l, const sfid_wide_facts *f, sfid_wide id,
                         uint64_t tick) {
    bool right = true;
    for (uint64_t t = tick > 2 ? tick - 2 : 0; t <= tick + 2 && t <= f->max_tick; t++) {
        sfid_wide min, max;
        const int64_t at = l->epoch_ms + (int64_t)t;
        right = right && sfid_wide_min_at(l, at, &min) == 0 && sfid_wide_max_at(l, at, &max) == 0 &&
                (sfid_wide_compare(min, id) <= 0 && sfid_wide_compare(id, max) <= 0) == (t == tick);
    }
    return right;
}

static uint64_t rnd(void);

static void ranges(const char *name) {
    const sfid_wide_layout l = layout(name);
    sfid_wide_facts f;
    need(sfid_wide_layout_describe(&l, &f) >= 0, "%s has no facts", name);
    const uint64_t ticks[] = {
        0, 1, 2, 3, f.max_tick / 3, f.max_tick / 2, f.max_tick - 2, f.max_tick - 1, f.max_tick};
    unsigned wrong = 0, astray = 0;
    for (size_t i = 0; i < COUNT(ticks); i++) {
        wrong += !bounds_are(&l, &f, l.epoch_ms + (int64_t)ticks[i], ticks[i]);
        for (unsigned k = 0; k < 8 + 200; k++) {
            const sfid_wide_parts p =
                k < 8 ? (sfid_wide_parts){ticks[i], k & 1 ? f.max_pid : 0, k & 2 ? f.max_seq : 0,
                                          k & 4 ? f.max_random : 0, 0}
                      : (sfid_wide_parts){ticks[i], rnd() & f.max_pid, rnd() & f.max_seq,
                                          rnd() & f.max_random, 0};
            astray += !lies_between(&l, &f, place(&l, &p), ticks[i]);
        }
    }
    is_u64(wrong, 0, "%s: lowest and highest ID of a millisecond", name);
    is_u64(astray, 0, "%s: each ID lies between those of its own millisecond alone", name);
    ok(bounds_are(&l, &f, INT64_MIN, 0) && bounds_are(&l, &f, l.epoch_ms - 1, 0),
       "%s: before the epoch it is the first one", name);
    const int64_t last = l.epoch_ms + (int64_t)f.max_tick;
    ok(bounds_are(&l, &f, INT64_MAX, f.max_tick) &&
           (last == INT64_MAX || bounds_are(&l, &f, last + 1, f.max_tick)),
       "%s: past the end it is the last one", name);
    sfid_wide id = {5, 6};
    ok(sfid_wide_min_at(NULL, 0, &id) == SFID_EINVAL &&
           sfid_wide_max_at(NULL, 0, &id) == SFID_EINVAL &&
           sfid_wide_min_at(&l, 0, NULL) == SFID_EINVAL &&
           sfid_wide_max_at(&l, 0, NULL) == SFID_EINVAL && id.high == 5 && id.low == 6,
       "%s: NULL has no range", name);
}

/* RFC 9562, A.6: a UUID of another maker. */
static void ranges_of_others(void) {
    const sfid_wide_layout l = layout("uuid7");
    const sfid_wide id = {UINT64_C(0x017f22e279b07cc3), UINT64_C(0x98c4dc0c0c07398f)};
    sfid_wide min = {0, 0}, max = {0, 0};
    char text[SFID_WIDE_TEXT_LEN];
    ok(sfid_wide_min_at(&l, INT64_C(1645557742000), &min) == 0 &&
           sfid_wide_max_at(&l, INT64_C(1645557742000), &max) == 0 &&
           sfid_wide_compare(min, id) < 0 && sfid_wide_compare(id, max) < 0,
       "a published UUID lies in its millisecond");
    ok(sfid_wide_to_text(SFID_UUID, min, 0, text, sizeof text) == 36, "which begins");
    is_str(text, "017f22e2-79b0-7000-8000-000000000000", "as a UUID");
    ok(sfid_wide_to_text(SFID_UUID, max, 0, text, sizeof text) == 36, "and ends");
    is_str(text, "017f22e2-79b0-7fff-bfff-ffffffffffff", "as one");
}

/* ---- IDs ------------------------------------------------------------------ */

static uint64_t rnd(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Field by field, bit by bit, from the list of fields: a value's bits fill the fields of its kind
 * from the top. */
static sfid_wide place(const sfid_wide_layout *l, const sfid_wide_parts *parts) {
    sfid_field f[SFID_LAYOUT_FIELDS];
    const int n = sfid_wide_layout_fields(l, f, SFID_LAYOUT_FIELDS);
    unsigned left[6] = {0};
    for (int i = 0; i < n; i++)
        left[f[i].kind] += f[i].bits;
    sfid_wide id = {0, 0};
    for (int i = 0; i < n; i++) {
        uint64_t value = f[i].kind == SFID_FIELD_TIME     ? parts->tick
                         : f[i].kind == SFID_FIELD_PID    ? parts->pid
                         : f[i].kind == SFID_FIELD_SEQ    ? parts->seq
                         : f[i].kind == SFID_FIELD_RANDOM ? parts->random
                         : f[i].kind == SFID_FIELD_FIXED  ? (f[i].bits == 4   ? 7u
                                                             : f[i].bits == 2 ? 2u
                                                                              : 0u)
                                                          : 0;
        if (f[i].kind != SFID_FIELD_FIXED)
            value >>= left[f[i].kind] -= f[i].bits;
        for (unsigned bit = 0; bit < f[i].bits && bit < 64; bit++)
            if (value >> bit & 1) {
                const unsigned at = f[i].shift + bit;
                *(at < 64 ? &id.low : &id.high) |= UINT64_C(1) << (at & 63);
            }
    }
    return id;
}

static bool round_trips(const sfid_wide_layout *l, sfid_wide_parts in) {
    sfid_wide id = {1, 2};
    sfid_wide_parts out = {9, 9, 9, 9, 9};
    in.unix_ms = -77;
    return sfid_wide_compose(l, &in, &id) == 0 && sfid_wide_compare(id, place(l, &in)) == 0 &&
           sfid_wide_parse(l, id, &out) == 0 && out.tick == in.tick && out.pid == in.pid &&
           out.seq == in.seq && out.random == in.random &&
           out.unix_ms == l->epoch_ms + (int64_t)in.tick;
}

static void apart_and_together(const char *name) {
    const sfid_wide_layout l = layout(name);
    sfid_wide_facts f;
    need(sfid_wide_layout_describe(&l, &f) >= 0, "%s has no facts", name);
    unsigned lost = 0, unordered = 0;
    for (int i = 0; i < 16; i++)
        lost +=
            !round_trips(&l, (sfid_wide_parts){i & 1 ? f.max_tick : 0, i & 2 ? f.max_pid : 0,
                                               i & 4 ? f.max_seq : 0, i & 8 ? f.max_random : 0, 0});
    is_u64(lost, 0, "%s: edges come back", name);
    const int rounds = tap_rounds(100000);
    for (int i = 0; i < rounds; i++) {
        const sfid_wide_parts p = {rnd() & f.max_tick, rnd() & f.max_pid, rnd() & f.max_seq,
                                   rnd() & f.max_random, 0};
        lost += !round_trips(&l, p);
        /* The next number of the same generator is higher, whatever its random bits. */
        const sfid_wide_parts next = {p.tick + (p.seq == f.max_seq), p.pid, (p.seq + 1) & f.max_seq,
                                      rnd() & f.max_random, 0};
        sfid_wide a, b;
        if (next.tick <= f.max_tick)
            unordered += sfid_wide_compose(&l, &p, &a) < 0 ||
                         sfid_wide_compose(&l, &next, &b) < 0 || sfid_wide_compare(a, b) >= 0;
    }
    is_u64(lost, 0, "%s: %d random IDs come back", name, rounds);
    is_u64(unordered, 0, "%s: a generator's next ID is the higher one", name);

    const sfid_wide_parts pid = {0, f.max_pid + 1, 0, 0, 0}, seq = {0, 0, f.max_seq + 1, 0, 0},
                          any = {0, 0, 0, f.max_random + 1, 0}, tick = {f.max_tick + 1, 0, 0, 0, 0};
    sfid_wide id = {1, 2};
    ok(sfid_wide_compose(&l, &pid, &id) == SFID_EINVAL &&
           sfid_wide_compose(&l, &seq, &id) == SFID_EINVAL &&
           sfid_wide_compose(&l, &any, &id) == SFID_EINVAL && id.high == 1 && id.low == 2,
       "%s: pid, seq and random bits one too large are SFID_EINVAL", name);
    ok(sfid_wide_compose(&l, &tick, &id) == SFID_EOVERFLOW && id.high == 1,
       "%s: a tick one too large is SFID_EOVERFLOW", name);
    sfid_wide_parts out;
    ok(sfid_wide_compose(NULL, &pid, &id) == SFID_EINVAL &&
           sfid_wide_compose(&l, NULL, &id) == SFID_EINVAL &&
           sfid_wide_compose(&l, &(sfid_wide_parts){0, 0, 0, 0, 0}, NULL) == SFID_EINVAL &&
           sfid_wide_parse(NULL, id, &out) == SFID_EINVAL &&
           sfid_wide_parse(&l, place(&l, &(sfid_wide_parts){0, 0, 0, 0, 0}), NULL) == SFID_EINVAL,
       "%s: NULL is refused", name);
}

/* Which bits have to be as they are. */
static void not_of_the_layout(const char *name, sfid_wide good, sfid_wide fixed, int rc) {
    const sfid_wide_layout l = layout(name);
    unsigned wrong = 0;
    for (unsigned bit = 0; bit < 128; bit++) {
        sfid_wide_parts out = {1, 2, 3, 4, 5};
        sfid_wide id = good;
        *(bit < 64 ? &id.low : &id.high) ^= UINT64_C(1) << (bit & 63);
        const bool is_fixed = (bit < 64 ? fixed.low : fixed.high) >> (bit & 63) & 1;
        const int got = sfid_wide_parse(&l, id, &out);
        wrong += is_fixed ? got != rc || out.tick != 1 || out.unix_ms != 5 : got != 0;
    }
    is_u64(wrong, 0, "%s: each bit that may not be otherwise is looked at, and no other", name);
}

static void unusable(void) {
    sfid_wide_layout bad[] = {{(sfid_wide_kind)0, 0, 0},
                              {(sfid_wide_kind)5, 0, 0},
                              {SFID_FLAKE, 1, 0},
                              {SFID_FLAKE, 0, 1},
                              {SFID_UUID7, 0, 1},
                              {SFID_AWSFLAKE, 0, SFID__EPOCH_MIN - 1},
                              {SFID_AWSFLAKE, 0, SFID__EPOCH_MAX + 1}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        sfid_field f[SFID_LAYOUT_FIELDS];
        sfid_wide_facts facts;
        sfid_wide_parts parts = {0, 0, 0, 0, 0};
        sfid_wide id = {0x7000, UINT64_C(1) << 63};
        char text[SFID_LAYOUT_STR_LEN];
        ok(sfid_wide_parse(&bad[i], id, &parts) == SFID_EINVAL &&
               sfid_wide_compose(&bad[i], &parts, &id) == SFID_EINVAL &&
               sfid_wide_layout_fields(&bad[i], f, SFID_LAYOUT_FIELDS) == SFID_EINVAL &&
               sfid_wide_layout_describe(&bad[i], &facts) == SFID_EINVAL &&
               sfid_wide_layout_format(&bad[i], text, sizeof text) == SFID_EINVAL &&
               sfid_wide_min_at(&bad[i], 0, &id) == SFID_EINVAL &&
               sfid_wide_max_at(&bad[i], 0, &id) == SFID_EINVAL && id.high == 0x7000,
           "unusable layout %zu is refused by all", i);
    }
    const sfid_wide_layout l = layout("flake");
    ok(sfid_wide_layout_describe(&l, NULL) == SFID_EINVAL &&
           sfid_wide_layout_fields(&l, NULL, 8) == SFID_EINVAL &&
           sfid_wide_layout_format(&l, NULL, 64) == SFID_EINVAL &&
           sfid_wide_layout_describe(NULL, NULL) == SFID_EINVAL,
       "so is a missing place");
}

static void regions(void) {
    char name[SFID_AWS_REGION_LEN];
    unsigned lost = 0;
    for (unsigned i = 0; i < 32; i++)
        lost += sfid_aws_region_name(i, name, sizeof name) != 0 || sfid_aws_region(name) != (int)i;
    is_u64(lost, 0, "32 regions have names that are read back");
    ok(sfid_aws_region("us-east-1") == 0 && sfid_aws_region("sa-east-1") == 11 &&
           sfid_aws_region("region-12") == 12 && sfid_aws_region("region-31") == 31,
       "these are the first and the last of each kind");
    ok(sfid_aws_region_name(32, name, sizeof name) == SFID_EINVAL &&
           sfid_aws_region_name(0, NULL, 9) == SFID_EINVAL &&
           sfid_aws_region_name(0, name, 9) == SFID_EINVAL &&
           sfid_aws_region_name(0, name, 10) == 0,
       "a number too large and a buffer too small are refused");
    ok(sfid_aws_region("US-East-1") == 0 && sfid_aws_region("REGION-31") == 31,
       "letters of either case");
    ok(sfid_aws_region(NULL) == SFID_EINVAL && sfid_aws_region("") == SFID_EINVAL &&
           sfid_aws_region("region-0") == SFID_EINVAL &&
           sfid_aws_region("region-32") == SFID_EINVAL &&
           sfid_aws_region("us-east-11") == SFID_EINVAL,
       "so are names that are none");
}

int main(void) {
    texts();
    facts();
    for (size_t i = 0; i < COUNT(names); i++)
        apart_and_together(names[i]);
    apart_and_together("awsflake@-62135596800000");
    for (size_t i = 0; i < COUNT(names); i++)
        ranges(names[i]);
    ranges("awsflake@-62135596800000");
    ranges("awsflake@253402300799999");
    ranges_of_others();
    not_of_the_layout("awsflake", (sfid_wide){0xe, 5}, (sfid_wide){~UINT64_C(0) << 13, 0},
                      SFID_EINVAL);
    not_of_the_layout("uuid7", (sfid_wide){0x7000, UINT64_C(1) << 63},
                      (sfid_wide){0xf000, UINT64_C(3) << 62}, SFID_EINVAL);
    not_of_the_layout("flake", (sfid_wide){5, 6}, (sfid_wide){UINT64_C(1) << 63, 0},
                      SFID_EOVERFLOW);
    not_of_the_layout("flake-go", (sfid_wide){UINT64_C(5) << 16, 6}, (sfid_wide){0xffff, 0},
                      SFID_EINVAL);
    unusable();
    regions();
    return done_testing();
}
