/* SPDX-License-Identifier: MIT */
/*
 * What sfid decode --guess says of IDs whose layout this test knows: Discord's of many ages, epochs
 * from 2010 to 2026 with and without a known time, random numbers, counters, few IDs, mixtures.
 * Each row of the table is written as a comment. An answer is the first line of the output. It
 * counts as certain if the status is 0; a certain answer has to be right.
 */
#include "guess_scene.h"

#include <stdarg.h>

/* ---- judging
 * ----------------------------------------------------------------------------------- */

static struct { unsigned rows, family, named, silent; /* silent: certain, and wrong */ } tally;

/* Returns whether the first line reads the same bits, whatever its epoch. */
static bool is_family(const sfid_layout *l) {
    char text[80];
    sfid_layout first;
    snprintf(text, sizeof text, "%s", got.first);
    char *open = strstr(text, "@?");
    if (open)
        strcpy(open, strncmp(text, "sonyflake", 9) == 0 ? "" : "@0");
    else if (strchr(text, '?'))
        *strchr(text, '?') = '\0';
    return sfid_layout_parse(text, &first) == 0 && first.time_shift == l->time_shift &&
           first.unit_ms == l->unit_ms && first.pid_shift == l->pid_shift &&
           first.seq_shift == l->seq_shift && first.max_pid == l->max_pid &&
           first.max_seq == l->max_seq;
}

static bool is_named(const sfid_layout *l, int64_t within) {
    sfid_layout first;
    return is_family(l) && sfid_layout_parse(got.first, &first) == 0 &&
           first.epoch_ms - l->epoch_ms <= within && l->epoch_ms - first.epoch_ms <= within;
}

static void row(const sfid_layout *l, int64_t within, const char *fmt, ...) TAP_PRINTF(3, 4);
static void row(const sfid_layout *l, int64_t within, const char *fmt, ...) {
    char name[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    const bool family = l && is_family(l), named = l && is_named(l, within);
    tally.rows++;
    tally.family += family;
    tally.named += named && got.status == STATUS_GOOD;
    tally.silent += !named && (got.status == STATUS_GOOD || got.said[0] == '\0');
    diag("%s%-58s | %-28s | %d | %s",
         !named && got.status == STATUS_GOOD ? "WRONG "
         : l && !family                      ? "other "
                                             : "      ",
         name, got.first, got.status, got.said);
}

static void begin_rows(void) { memset(&tally, 0, sizeof tally); }

static void end_rows(const char *name, unsigned family_percent, unsigned named_percent) {
    is_u64(tally.silent, 0, "%s: no wrong answer without a word", name);
    ok(tally.family * 100 >= tally.rows * family_percent, "%s: the family is right in %u of %u",
       name, tally.family, tally.rows);
    ok(tally.named * 100 >= tally.rows * named_percent, "%s: certain and right in %u of %u", name,
       tally.named, tally.rows);
}

/* ---- the table
 * ------------------------------------------------------------------------------------ */

static void discord(void) {
    static const int ages[] = {0, 2, 8, 35, 95, 200, 370, 800};
    const sfid_layout l = layout_of("discord", INT64_C(1420070400000));
    for (int knowns = 0; knowns <= 1; knowns++) {
        begin_rows();
        for (size_t i = 0; i < COUNT(ages); i++) {
            ids.count = 0;
            make(&l, NOW - ages[i] * DAY - HOUR, 1000, MOST, FEW);
            ask(knowns, 500, true);
            row(&l, 0, "discord, %d days old, %d known", ages[i], knowns);
            if (i == 0 && knowns == 0)
                ok(got.status == 0 && strcmp(got.first, "discord") == 0,
                   "Discord's IDs of this hour are known");
        }
        end_rows("Discord", 95, knowns ? 98 : 12);
    }
}

/* The half years from 2010 on. */
static int64_t half_year(int i) {
    char text[32];
    struct moment moment;
    snprintf(text, sizeof text, "%d-%s-01", 2010 + i / 2, i % 2 ? "07" : "01");
    if (read_time(text, (struct moment){NOW, false}, &moment) != NULL)
        exit(1);
    return moment.unix_ms;
}

static const char *const shapes[] = {"twitter", "instagram", "sonyflake", "sfid", "js53"};

static void epochs(void) {
    for (int knowns = 0; knowns <= 2; knowns++)
        for (size_t s = 0; s < COUNT(shapes); s++) {
            begin_rows();
            for (int i = knowns == 2; i < 33; i += knowns == 2 ? 3 : 1) {
                const int64_t days = i < 31 ? 30 * (int64_t)rnd(5) : 0;
                const sfid_layout l = layout_of(shapes[s], half_year(i));
                ids.count = 0;
                make(&l, NOW - days * DAY - HOUR, 1000, MOST, FEW);
                ask(knowns, 500, i % 2);
                row(&l, 0, "%s of %d-%s, %d days old, %d known", shapes[s], 2010 + i / 2,
                    i % 2 ? "07" : "01", (int)days, knowns);
            }
            end_rows(shapes[s], 95, knowns ? 98 : 0);
        }
}

/* Whatever the makers do with pids and sequences; epochs that are no round time; rows in
 * batches. */
static void habits_of_makers(void) {
    for (int knowns = 0; knowns <= 2; knowns++)
        for (enum habit habit = FEW; habit < HABITS; habit++) {
            begin_rows();
            for (size_t s = 0; s < COUNT(shapes); s++)
                for (int i = 0; i < 4; i++) {
                    const int64_t epoch = half_year(0) + (int64_t)rnd(16 * 365) * DAY +
                                          (int64_t)rnd((uint64_t)DAY) - HOUR;
                    const sfid_layout l = layout_of(shapes[s], epoch);
                    ids.count = 0;
                    make(&l, NOW - HOUR - (int64_t)rnd(20) * DAY, 1000, MOST, habit);
                    ask(knowns, 500, i % 2);
                    row(&l, 5000, "%s, %s, %d known", shapes[s], habits[habit], knowns);
                }
            end_rows(habits[habit], 95, knowns ? 95 : 0);
        }
}

static void few_ids(void) {
    static const size_t counts[] = {1, 2, 5, 20, 100};
    for (int knowns = 0; knowns <= 1; knowns++)
        for (size_t n = 0; n < COUNT(counts); n++) {
            begin_rows();
            for (size_t s = 0; s < COUNT(shapes); s++)
                for (int i = 0; i < 4; i++) {
                    const sfid_layout l = layout_of(shapes[s], half_year(8 * i));
                    ids.count = 0;
                    make(&l, NOW - 3 * HOUR - (int64_t)rnd(20) * DAY, 100000, counts[n], FEW);
                    ask(knowns, 500, true);
                    row(&l, 0, "%s, %zu IDs, %d known", shapes[s], counts[n], knowns);
                }
            end_rows("few", n > 2 ? 95 : 0, knowns ? (n > 2 ? 98 : 0) : 0);
        }
}

/* If pids and sequences are random, no IDs show where the time ends: only an epoch that somebody
 * chose tells. */
static void random_low_bits(void) {
    static const size_t counts[] = {20, 100, 300, 1000, 2000};
    static const int64_t steps[] = {1000, 100000};
    for (int round = 0; round <= 1; round++) {
        begin_rows();
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (size_t n = 0; n < COUNT(counts) * COUNT(steps); n++) {
                const int64_t odd = round ? 0 : 5 * DAY + 1234567;
                const sfid_layout l = layout_of(shapes[s], half_year(4 + 2 * (int)n) + odd);
                const int64_t step = steps[n % COUNT(steps)];
                ids.count = 0;
                make(&l, NOW - 20 * DAY - 2000 * step, step, counts[n / COUNT(steps)], FEW);
                for (size_t i = 0; i < ids.count; i++)
                    ids.id[i] ^= rnd(UINT64_C(1) << l.time_shift);
                ask(1, 0, true);
                row(&l, 5000, "%s, %zu IDs, low bits random, %s epoch, 1 known", shapes[s],
                    ids.count, round ? "round" : "odd");
            }
        end_rows("random low bits", round ? 98 : 0, round ? 98 : 0);
    }
}

static void no_layout(void) {
    static const size_t counts[] = {1, 2, 10, 100, 1000};
    begin_rows();
    for (size_t n = 0; n < COUNT(counts); n++)
        for (int i = 0; i < (counts[n] > 10 ? 10 : 300); i++) {
            ids.count = 0;
            while (ids.count < counts[n])
                ids.id[ids.count++] = rnd(UINT64_C(1) << 53) << 10 | rnd(1024);
            ask(0, 0, true);
            row(NULL, 0, "%zu random numbers", counts[n]);
        }
    end_rows("random numbers", 0, 0);
}

/* IDs of two layouts whose numbers lie among one another, of some days; with a time known of the
 * first. */
static void overlaps(void) {
    static const int shares[] = {10, 50, 80};
    unsigned told = 0;
    begin_rows();
    for (size_t a = 0; a < COUNT(shapes); a++)
        for (size_t b = 0; b < COUNT(shapes); b++)
            for (size_t i = 0; i < COUNT(shares) && a != b; i++) {
                const sfid_layout one = layout_of(shapes[a], half_year(20));
                sfid_layout two = layout_of(shapes[b], 0);
                const int64_t from = NOW - 40 * DAY;
                const uint64_t first = compose(&one, from, 0, 0),
                               last = compose(&one, from + 30 * DAY, 0, 0);
                const int64_t begin = (int64_t)(first >> two.time_shift) * two.unit_ms;
                const int64_t length = (int64_t)((last - first) >> two.time_shift) * two.unit_ms;
                if ((first >> two.time_shift) > two.max_tick || length == 0 || length > 300 * DAY)
                    continue;
                ids.count = 0;
                make(&one, from, 2 * 30 * DAY / 1000, 1000, FEW);
                two.epoch_ms = NOW - 310 * DAY - begin;
                make(&two, NOW - 310 * DAY, 2 * length / (10 * shares[i]), (size_t)(10 * shares[i]),
                     FEW);
                ask(1, 0, true);
                row(&one, 0, "%s, %d %% of %s among them, 1 known", shapes[a],
                    shares[i] * 100 / (100 + shares[i]), shapes[b]);
                told += got.said[0] != '\0';
            }
    end_rows("overlaps", 80, 0);
    ok(told * 6 >= tally.rows * 5, "of %u of %u something is told", told, tally.rows);
}

/* Adds IDs of processes that are busy and of others that are idle, by turns. */
static void make_both(const sfid_layout *l, uint64_t busy_seq) {
    for (size_t i = 0; i < 1000; i++) {
        const int64_t ms = NOW - 20 * DAY + (int64_t)i * 500;
        ids.ms[ids.count] = ms;
        ids.id[ids.count++] =
            i % 2 ? compose(l, ms, rnd(4), rnd(busy_seq)) : compose(l, ms, 4 + rnd(28), 0);
    }
}

/* Few IDs far from the others are strays, more of them a group: no number lies between. */
static void strays_or_group(void) {
    const sfid_layout one = layout_of("sfid", SFID_EPOCH_MS),
                      two = layout_of("discord", INT64_C(1420070400000));
    for (size_t more = 40; more <= 60; more++) {
        ids.count = 0;
        make(&one, NOW - HOUR, 1000, 1000 - more, FEW);
        make(&two, NOW - HOUR, 1000, more, FEW);
        ask_of((const size_t[]){500}, 1);
        ok(strstr(got.said, "two groups far apart") || strstr(got.out, " lie far from the others"),
           "%zu of 1000 that lie far from the others are told: %s", more, got.said);
    }
}

/* One layout whose processes have two habits is not taken for two layouts. */
static void processes_of_two_habits(void) {
    static const size_t alike[] = {400, 600}, each[] = {400, 601};
    begin_rows();
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const sfid_layout l = layout_of(shapes[s], half_year(20));
        ids.count = 0;
        make_both(&l, l.max_seq < 1000 ? l.max_seq + 1 : 1000);
        ask_of(alike, 1);
        row(&l, 0, "%s, busy and idle processes, 1 known", shapes[s]);
        ok(strstr(got.said, "the IDs are of two kinds") &&
               strstr(got.said, "one layout explains both"),
           "it is told: %s", got.said);
        ask_of(alike, 2);
        row(&l, 0, "%s, busy and idle processes, 2 known of one kind", shapes[s]);
        ok(strstr(got.said, "the IDs are of two kinds") != NULL,
           "also if both known are of one kind");
        ask_of(each, 2);
        row(&l, 0, "%s, busy and idle processes, 1 known of each kind", shapes[s]);
        is_str(got.said, "", "but not if a time of each kind is known");
    }
    end_rows("habits of processes", 100, 100);
}

/* IDs of two layouts: of this hour, of a dump, with an epoch that has no name; with a time known of
 * one of them. */
static void mixtures(void) {
    static const struct {
        const char *layout;
        int64_t epoch_ms, days;
    } part[] = {{"twitter", INT64_C(1288834974657), 0},
                {"discord", INT64_C(1420070400000), 0},
                {"instagram", INT64_C(1314220021721), 0},
                {"sonyflake", INT64_C(1409529600000), 0},
                {"sfid", SFID_EPOCH_MS, 0},
                {"twitter", INT64_C(1577836800000), 0},
                {"sonyflake", INT64_C(1577836800000), 0},
                {"twitter", INT64_C(1288834974657), 200},
                {"instagram", INT64_C(1514764800000), 50}};
    for (int knowns = 0; knowns <= 1; knowns++) {
        begin_rows();
        for (size_t a = 0; a < COUNT(part); a++)
            for (size_t b = a + 1; b < COUNT(part); b++) {
                const sfid_layout one = layout_of(part[a].layout, part[a].epoch_ms);
                const sfid_layout two = layout_of(part[b].layout, part[b].epoch_ms);
                ids.count = 0;
                make(&one, NOW - HOUR - part[a].days * DAY, 1000, 500 + rnd(1000), FEW);
                make(&two, NOW - HOUR - part[b].days * DAY, 1000, 500 + rnd(1000), FEW);
                ask(knowns, 500, true);
                row(NULL, 0, "%s@%lld -%d, %s@%lld -%d, %d known", part[a].layout,
                    (long long)part[a].epoch_ms, (int)part[a].days, part[b].layout,
                    (long long)part[b].epoch_ms, (int)part[b].days, knowns);
            }
        end_rows("mixtures", 0, 0);
    }
}

/* ---- what decides, at both sides of its limit
 * ------------------------------------------------------ */

enum { WHOLE = 99, DATE = 10 };

static void newest_of_now(void) {
    const sfid_layout discord = layout_of("discord", INT64_C(1420070400000));
    for (int more = 0; more <= 1; more++) {
        ids.count = 0;
        make(&discord, NOW - HOUR - (more ? 3 : -1) * SECOND, 1, 1, FEW);
        make(&discord, NOW - 20 * DAY, 1000, 200, FEW);
        ask(0, 0, true);
        is_str(got.first, more ? "41:10:12/1ms@?" : "discord", "the newest is an hour old, %s",
               more ? "and a second" : "less a second");
    }
    ids.count = 0;
    make(&discord, NOW - 100 * DAY, 100 * DAY / 1600, MOST - 1, FEW);
    make(&discord, NOW - SECOND, 1, 1, FEW);
    ask(0, 0, true);
    is_str(got.first, "discord", "the newest counts, though it is not in the sample");
}

static void known_times(const sfid_layout *own) {
    ids.count = 0;
    make(own, NOW - 20 * DAY, 100000, 100, FEW);
    for (size_t i = 0; i < ids.count; i++)
        ids.id[i] ^= rnd(UINT64_C(1) << 22);
    ask_off(0, -1, WHOLE);
    ok(got.status == 3 && strstr(got.said, "a tie: "),
       "where pids and sequences are random, families tie: %s", got.said);

    ids.count = 0;
    make(own, NOW - 20 * DAY, 1000000, 500, FEW);
    ask_off(0, 0, WHOLE);
    ok(got.status == 0 && is_named(own, 0),
       "two exact times give an epoch that is no round time: %s", got.first);
    ok(strstr(got.out,
              "by the known times the epoch is 2020-01-06T00:20:34.567Z, or up to 00:00:02 off"),
       "and how sure it is");
    ask_off(20 * SECOND, 0, WHOLE);
    ok(got.status == 3 && strstr(got.said, "leave the epoch open"),
       "a row that was written late leaves it open: %s", got.said);
    ask_off(0, -1, DATE);
    ok(got.status == 3 && strstr(got.said, "12:00:02 either way; give a more exact one"),
       "so does a date: %s", got.said);
    ok(is_family(own), "of the right widths");
    ask_off(2 * HOUR + DAY, 0, WHOLE);
    ok(got.status == 3 && strstr(got.said, "no layout gives the known IDs their times"),
       "times that do not agree: %s", got.said);
}

/* A round epoch is taken for one, another zone's time is not. */
static void round_epochs(const sfid_layout *own) {
    sfid_layout round = *own;
    round.epoch_ms = half_year(20);
    ids.count = 0;
    make(&round, NOW - 20 * DAY, 1000000, 500, FEW);
    ask_off(20 * SECOND, 0, WHOLE);
    ok(got.status == 0 && is_named(&round, 0) && strstr(got.said, "off by up to 00:01:00"),
       "a round epoch is found, and said why: %s", got.said);
    ask_off(0, -1, DATE);
    ok(got.status == 0 && is_named(&round, 0), "also by a date: %s", got.first);

    static const int64_t zones[] = {2 * HOUR, -HOUR * 11 / 2};
    for (size_t i = 0; i < COUNT(zones); i++) {
        const char *names[] = {"twitter", "discord"};
        const sfid_layout l =
            layout_of(names[i], i == 0 ? INT64_C(1288834974657) : INT64_C(1420070400000));
        ids.count = 0;
        make(&l, NOW - 20 * DAY, 1000000, 500, FEW);
        ask_off(zones[i], -1, WHOLE);
        ok(got.status == 3 && strstr(got.said, names[i]) &&
               strstr(got.said, i == 0 ? "02:00:00 after" : "05:30:00 before"),
           "a known time whose zone is wrong: %s", got.said);
    }

    round.epoch_ms = INT64_C(1451606400000);
    ids.count = 0;
    make(&round, NOW - 20 * DAY, 1000000, 500, FEW);
    ask_off(0, -1, WHOLE);
    ok(got.status == 0 && is_named(&round, 0),
       "a midnight in UTC, 11 hours after Kestrel's, is an epoch: %s", got.first);
}

static void odd_times(const sfid_layout *own) {
    sfid_layout round = *own;
    round.epoch_ms = half_year(20);
    ids.count = 0;
    make(&round, NOW - HOUR, 100000, 500, FEW);
    ask_off(0, 0, WHOLE);
    ok(got.status == 3 && strstr(got.said, "into the future") && strchr(got.first, '?'),
       "IDs of the future are told: %s", got.said);

    ids.count = 0;
    make(own, NOW - 20 * DAY, 1000000, 500, FEW);
    for (size_t i = 0; i < ids.count; i++)
        ids.id[i] &= ~(UINT64_C(3) << 22);
    ask_off(0, -1, WHOLE);
    ok(got.status == 3 && strstr(got.said, "of all times are the same"),
       "a time that moves in steps of 4 ms is told: %s", got.said);
}

static void limits(void) {
    const sfid_layout own = layout_of("twitter", half_year(20) + 5 * DAY + 1234567);
    newest_of_now();
    known_times(&own);
    round_epochs(&own);
    odd_times(&own);
}

int main(void) {
    limits();
    mixtures();
    overlaps();
    processes_of_two_habits();
    strays_or_group();
    discord();
    epochs();
    habits_of_makers();
    few_ids();
    random_low_bits();
    no_layout();
    return done_testing();
}
