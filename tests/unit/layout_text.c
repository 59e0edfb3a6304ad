/* SPDX-License-Identifier: MIT */
/* Layouts as text: what is written is read back, presets have names; what is no layout is refused,
 * as text and as a struct. */
#include "id/layout.h"

#include "support/tap.h"

static void written(const sfid_layout *l, const char *want) {
    char text[SFID_LAYOUT_STR_LEN], exact[SFID_LAYOUT_STR_LEN];
    sfid_layout back;
    if (!ok(sfid_layout_format(l, text, sizeof text) == 0, "%s can be written", want))
        return;
    is_str(text, want, "%s is written so", want);
    ok(sfid_layout_parse(text, &back) == 0 &&
           memcmp(&back, l ? l : &SFID_LAYOUT_DEFAULT, sizeof back) == 0,
       "%s is read back", want);
    const size_t len = strlen(want);
    ok(sfid_layout_format(l, exact, len + 1) == 0 && strcmp(exact, want) == 0,
       "%s fits where it just fits", want);
    is_i64(sfid_layout_format(l, exact, len), SFID_EINVAL, "%s does not fit in one byte less",
           want);
}

static void forms(void) {
    const sfid_layout l[] = {
        SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS),
        SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS),
        SFID_LAYOUT(41, 10, 12, 1, 0),
        SFID_LAYOUT(41, 10, 12, 10, -5),
        SFID_LAYOUT(46, 0, 18, 1, INT64_C(1766361600000)),
        SFID_LAYOUT(30, 2, 31, 60000, SFID__EPOCH_MAX),
        SFID_LAYOUT(2, 30, 32, 4294967295, SFID__EPOCH_MIN),
        SFID_LAYOUT(2, 30, 32, 4294967000, SFID__EPOCH_MIN),
    };
    const char *const want[] = {
        "sfid",
        "ms",
        "41:10:12/1ms@0",
        "41:10:12/10ms@-5",
        "46:0:18/1ms@1766361600000",
        "30:2:31/60s@253402300799999",
        "2:30:32/4294967295ms@-62135596800000",
        "2:30:32/4294967s@-62135596800000",
    };
    for (size_t i = 0; i < COUNT(l); i++)
        written(&l[i], want[i]);
    written(NULL, "sfid");
}

static void presets(void) {
    static const char *const names[] = {"sfid",      "sfid-0.1.13", "ms",       "js53",
                                        "twitter",   "leaf",        "discord",  "instagram",
                                        "sonyflake", "sonyflake2",  "mastodon", "icicle",
                                        "kestrel",   "cosid",       "baidu",    "tso"};
    for (size_t i = 0; i < COUNT(names); i++) {
        sfid_layout l;
        is_str(sfid_layout_preset(i), names[i], "preset %zu is %s", i, names[i]);
        ok(sfid_layout_parse(names[i], &l) == 0 && sfid_layout_check(&l) == 0,
           "%s is a good layout", names[i]);
        written(&l, names[i]);
    }
    /* Two presets cut IDs alike. */
    sfid_layout l;
    char text[SFID_LAYOUT_STR_LEN];
    ok(sfid_layout_parse("41:10:12/1ms@1288834974657", &l) == 0 &&
           sfid_layout_format(&l, text, sizeof text) == 0 && strcmp(text, "twitter") == 0,
       "a layout by its widths goes by the first preset that fits");
    ok(sfid_layout_preset(COUNT(names)) == NULL && sfid_layout_preset(SIZE_MAX) == NULL,
       "there is none behind the last");
}

/* A preset with another epoch: the only text of a layout whose sequence stands above the pid. */
static void moved(void) {
    sfid_layout sonyflake, moved, l;
    ok(sfid_layout_parse("sonyflake", &sonyflake) == 0, "sonyflake is there");
    moved = sonyflake;
    moved.epoch_ms = INT64_C(1577836800000);
    moved.pid_low = 0;
    written(&moved, "sonyflake@1577836800000");
    moved.epoch_ms = -7;
    written(&moved, "sonyflake@-7");
    ok(sfid_layout_parse("sonyflake@1409529600000", &l) == 0 &&
           memcmp(&l, &sonyflake, sizeof l) == 0,
       "its own epoch is the preset");
    ok(sfid_layout_parse("sonyflake@1735689600000", &l) == 0, "that of another preset is taken");
    char text[SFID_LAYOUT_STR_LEN];
    is_str(sfid_layout_format(&l, text, sizeof text) == 0 ? text : "", "sonyflake2",
           "and is that preset");
    static const char *const bad[] = {
        "sonyflake@",   "sonyflake@x", "sonyflake@5x", "sonyflak@5",
        "sonyflake 5",  "@5",          "sonyflake@@5", "sonyflake@253402300800000",
        "sonyflake3@5", "Sonyflake@5", "twitter@5"};
    for (size_t i = 0; i < COUNT(bad); i++)
        is_i64(sfid_layout_parse(bad[i], &l), SFID_EINVAL, "%s is no layout", bad[i]);
}

static uint64_t seed = 1;

static uint64_t rnd(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % below;
}

static void random_layouts(void) {
    unsigned good = 0, lost = 0;
    for (int i = 0; i < 20000; i++) {
        const uint32_t unit =
            (uint32_t)rnd(2) ? (uint32_t)rnd(100000) : (uint32_t)(rnd(1000) * 1000);
        const sfid_layout l =
            sfid__layout_make(1 + (unsigned)rnd(64), (unsigned)rnd(34), (unsigned)rnd(63), unit,
                              (int64_t)rnd(UINT64_C(300000000000000)) - INT64_C(62135596800100));
        char text[SFID_LAYOUT_STR_LEN];
        sfid_layout back;
        if (sfid_layout_check(&l) < 0) {
            lost += sfid_layout_format(&l, text, sizeof text) != SFID_EINVAL;
            continue;
        }
        good++;
        lost += sfid_layout_format(&l, text, sizeof text) < 0 ||
                sfid_layout_parse(text, &back) < 0 || memcmp(&l, &back, sizeof l) != 0;
    }
    ok(good > 1000, "%u random layouts are good", good);
    is_u64(lost, 0, "each of them comes back from text, and none of the others is written");
}

static void not_to_be_written(void) {
    const sfid_layout turned = {0,
                                20,
                                39,
                                16,
                                8,
                                24,
                                0,
                                16,
                                0,
                                {0, 0, 0, 0, 0},
                                SFID__ONES(39),
                                SFID__ONES(16),
                                SFID__ONES(8)};
    const sfid_layout apart = {0,
                               10,
                               39,
                               8,
                               8,
                               24,
                               9,
                               0,
                               0,
                               {0, 0, 0, 0, 0},
                               SFID__ONES(39),
                               SFID__ONES(8),
                               SFID__ONES(8)};
    char text[SFID_LAYOUT_STR_LEN];
    ok(sfid_layout_check(&turned) == 0 &&
           sfid_layout_format(&turned, text, sizeof text) == SFID_EINVAL,
       "a sequence above the pid has no text form, but for sonyflake's");
    ok(sfid_layout_check(&apart) == 0 &&
           sfid_layout_format(&apart, text, sizeof text) == SFID_EINVAL,
       "nor has a gap");
    ok(sfid_layout_format(NULL, NULL, 64) == SFID_EINVAL &&
           sfid_layout_format(NULL, text, 0) == SFID_EINVAL,
       "no room, no text");
}

/* clang-format off */
static const char *const bad[] = {
    "", " ", ":", "::", "41", "41:10", "41:10:", ":10:12", "41::12", "41:10:12:", "41:10:12:1", "41,10,12",
    "41:10:12/", "41:10:12/0ms", "41:10:12/0s", "41:10:12/1", "41:10:12/ms", "41:10:12/1m", "41:10:12/1mx", "41:10:12/1min", "41:10:12/1us",
    "41:10:12/1S", "41:10:12/1 ms", "41:10:12/-1ms", "41:10:12/+1ms", "41:10:12/1.5s", "41:10:12/1msx", "41:10:12/1sx",
    "41:10:12/4294967296ms", "41:10:12/4294968s", "41:10:12/18446744073709551617ms", "41:10:12/5000000s",
    "41:10:12@", "41:10:12@x", "41:10:12@-", "41:10:12@--1", "41:10:12@+1", "41:10:12@1.0", "41:10:12@0/1ms", "41:10:12/1ms@0 ",
    "41:10:12/1ms@253402300800000", "41:10:12/1ms@-62135596800001", "41:10:12@18446744073709551616", "41:10:12@9223372036854775808",
    "41:10:14", "41:33:0", "20:33:10", "1:10:12", "0:10:12", "64:0:0", "63:0:0", "62:1:2", "2:0:62", "65:0:0", "41:10:64",
    "-41:10:12", "+41:10:12", "41:+10:12", "41:10:-0", "0x29:10:12", "41:10:12\n", " 41:10:12", "41: 10:12", "41:10:12 ",
    "18446744073709551657:10:12", "41:18446744073709551626:12", "41:10:4294967308", "63:0:0/1s",
    "SFID", "sfid ", "sfi", "sfid2", "ms/1ms", "twitter@0", "default",
};
/* clang-format on */

static void refused(void) {
    for (size_t i = 0; i < COUNT(bad); i++) {
        sfid_layout out, before;
        memset(&before, 0x5a, sizeof before);
        out = before;
        const int rc = sfid_layout_parse(bad[i], &out);
        ok(rc == SFID_EINVAL && memcmp(&out, &before, sizeof out) == 0, "\"%s\" is no layout",
           bad[i]);
    }
    sfid_layout out;
    is_i64(sfid_layout_parse(NULL, &out), SFID_EINVAL, "NULL is no layout");
    is_i64(sfid_layout_parse("ms", NULL), SFID_EINVAL, "and one wants a place");
}

/* ---- the check ----------------------------------------------------------- */

/* Each rule of the check by itself: one member of a good layout is changed. */
static void members_that_disagree(void) {
    const sfid_layout ms = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);
#define REFUSED(member, value) \
    do { \
        sfid_layout l = ms; \
        l.member = value; \
        is_i64(sfid_layout_check(&l), SFID_EINVAL, \
               "41:10:12 with " #member " " #value " is refused"); \
    } while (0)
    REFUSED(epoch_ms, SFID__EPOCH_MIN - 1);
    REFUSED(epoch_ms, SFID__EPOCH_MAX + 1);
    REFUSED(unit_ms, 0);
    REFUSED(unit_ms, 5000000); /* its last tick would end past what milliseconds can tell */
    REFUSED(time_bits, 40);
    REFUSED(time_bits, 43);
    REFUSED(time_bits, 255);
    REFUSED(pid_bits, 9);
    REFUSED(pid_bits, 11);
    REFUSED(seq_bits, 11);
    REFUSED(seq_bits, 13);
    REFUSED(time_shift, 21);
    REFUSED(time_shift, 23);
    REFUSED(time_shift, 24);
    REFUSED(time_shift, 255);
    REFUSED(pid_shift, 11);
    REFUSED(pid_shift, 13);
    REFUSED(pid_shift, 64);
    REFUSED(seq_shift, 1);
    REFUSED(seq_shift, 64);
    REFUSED(pid_low, 11);
    REFUSED(reserved[0], 1);
    REFUSED(reserved[1], 1);
    REFUSED(reserved[2], 1);
    REFUSED(reserved[3], 1);
    REFUSED(reserved[4], 1);
    REFUSED(max_tick, ms.max_tick - 1);
    REFUSED(max_tick, ms.max_tick + 1);
    REFUSED(max_pid, ms.max_pid - 1);
    REFUSED(max_pid, ms.max_pid << 1 | 1);
    REFUSED(max_seq, ms.max_seq - 1);
    REFUSED(max_seq, ms.max_seq << 1 | 1);
#undef REFUSED
}

/* Layouts that are right in all but one thing. */
static const struct {
    const char *rule;
    unsigned t, p, s;
} bad_widths[] = {
    {"a tick of 1 bit", 1, 10, 12},
    {"a pid of 33 bits", 20, 33, 10},
    {"a sequence of 62 bits", 2, 0, 62},
    {"65 bits", 41, 11, 13},
    {"ticks past the range of milliseconds", 63, 0, 0},
};

static const struct {
    const char *rule;
    sfid_layout l;
} bad_places[] = {
    {"a place outside for a pid of no bits",
     {0, 1, 41, 0, 12, 12, 64, 0, 0, {0, 0, 0, 0, 0}, SFID__ONES(41), 0, SFID__ONES(12)}},
    {"a place outside for a sequence of no bits",
     {0, 1, 41, 10, 0, 12, 0, 64, 0, {0, 0, 0, 0, 0}, SFID__ONES(41), SFID__ONES(10), 0}},
    {"a pid in the sign bit",
     {SFID_EPOCH_MS,
      1,
      41,
      10,
      12,
      12,
      54,
      0,
      0,
      {0, 0, 0, 0, 0},
      SFID__ONES(41),
      SFID__ONES(10),
      SFID__ONES(12)}},
    {"a sequence in the sign bit",
     {SFID_EPOCH_MS,
      1,
      41,
      10,
      12,
      10,
      0,
      52,
      0,
      {0, 0, 0, 0, 0},
      SFID__ONES(41),
      SFID__ONES(10),
      SFID__ONES(12)}},
    {"a pid above the tick",
     {SFID_EPOCH_MS,
      1,
      41,
      10,
      12,
      12,
      53,
      0,
      0,
      {0, 0, 0, 0, 0},
      SFID__ONES(41),
      SFID__ONES(10),
      SFID__ONES(12)}},
    {"a sequence above the tick",
     {SFID_EPOCH_MS,
      1,
      41,
      10,
      11,
      10,
      0,
      51,
      0,
      {0, 0, 0, 0, 0},
      SFID__ONES(41),
      SFID__ONES(10),
      SFID__ONES(11)}},
    {"a sequence inside the tick",
     {SFID_EPOCH_MS,
      1,
      41,
      10,
      12,
      10,
      0,
      20,
      0,
      {0, 0, 0, 0, 0},
      SFID__ONES(41),
      SFID__ONES(10),
      SFID__ONES(12)}},
};

static void one_thing_wrong(void) {
    for (size_t i = 0; i < COUNT(bad_widths); i++) {
        const sfid_layout l =
            sfid__layout_make(bad_widths[i].t, bad_widths[i].p, bad_widths[i].s, 1, SFID_EPOCH_MS);
        is_i64(sfid_layout_check(&l), SFID_EINVAL, "%s is refused", bad_widths[i].rule);
    }
    for (size_t i = 0; i < COUNT(bad_places); i++)
        is_i64(sfid_layout_check(&bad_places[i].l), SFID_EINVAL, "%s is refused",
               bad_places[i].rule);
}

int main(void) {
    forms();
    presets();
    moved();
    random_layouts();
    not_to_be_written();
    refused();
    members_that_disagree();
    one_thing_wrong();
    return done_testing();
}
