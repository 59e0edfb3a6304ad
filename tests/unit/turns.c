/* SPDX-License-Identifier: MIT */
/* turns.c - which berth has the next turn: by time, behind doubt, and within what may hang at one
 * time. No thread is needed. */
#include "lease/turns.h"

#include "support/tap.h"

enum { MANY = 1000, ONE = 7, OTHER = 8, THIRD = 9, FOURTH = 10 }; /* servers, or disks */

static struct sfid__turns t;
static struct sfid__berth berth[MANY];

static void begin(void) {
    memset(&t, 0, sizeof t);
    memset(berth, 0, sizeof berth);
}

static void end(void) {
    free(t.berth);
    free(t.spare);
    free(t.group);
}

static struct sfid__berth *enter(int i, bool remote, uint64_t group, int64_t due_ms) {
    berth[i].remote = remote;
    need(sfid__turns_grow(&t), "no memory");
    sfid__turns_enter(&t, &berth[i], group, due_ms);
    return &berth[i];
}

/* Takes out whose turn is next, for good. Its index, or -1. */
static int next_of(int64_t now_ms) {
    struct sfid__berth *b = sfid__turns_next(&t, now_ms);
    if (b == NULL)
        return -1;
    sfid__turns_leave(&t, b);
    return (int)(b - berth);
}

/* Begins the turn that is next. The berth's index, or -1: none that is due may have one. */
static int begins(int64_t now_ms) {
    struct sfid__berth *b = sfid__turns_next(&t, now_ms);
    if (b == NULL || b->due_ms > now_ms)
        return -1;
    sfid__turns_begin(&t, b, now_ms);
    return (int)(b - berth);
}

static void ends(int i, bool failed, int64_t due_ms) {
    sfid__turns_end(&t, &berth[i], failed, t.group[berth[i].at].number);
    sfid__turns_wait(&t, &berth[i], due_ms);
}

/* ---- one after the other ---------------------------------------------------------- */

static void by_time(void) {
    begin();
    for (int i = 0; i < MANY; i++)
        enter(i, i % 2 == 0, i % 4 < 2 ? 0 : ONE, i * 7919 % MANY);
    for (int i = 0; i < 8; i++) /* heaps are flat until then */
        sfid__turns_wait(&t, sfid__turns_next(&t, MANY), 2 * MANY - i);
    for (int i = 0; i < MANY; i += 3)
        sfid__turns_wait(&t, &berth[i], (int64_t)MANY + i * 31 % MANY);
    for (int i = 0; i < MANY; i += 5)
        sfid__turns_leave(&t, &berth[i]);
    int64_t last = -1;
    int count = 0, wrong = 0;
    for (int i; (i = next_of(INT64_MAX)) >= 0; count++, last = berth[i].due_ms)
        wrong += berth[i].due_ms < last || i % 5 == 0;
    is_i64(count, MANY - MANY / 5, "time: all that have not left come");
    is_i64(wrong, 0, "time: in their order, however they were changed");
    end();
}

static void numbers(void) {
    static int used[2 * MANY];
    int twice = 0;
    begin();
    for (int i = 0; i < MANY; i++)
        twice += used[enter(i, false, 0, 0)->number % (2 * MANY)]++;
    is_i64(twice, 0, "numbers: each has its own");
    is_i64(used[0], 0, "numbers: none is 0");
    const uint32_t first = berth[3].number;
    sfid__turns_leave(&t, &berth[3]);
    ok(t.berth[first - 1] == NULL, "numbers: nobody has the one of a berth that left");
    is_u64(enter(3, false, 0, 0)->number, first, "numbers: the next one gets it");
    ok(t.berth[first - 1] == &berth[3], "numbers: and is found by it");
    end();
}

/* As many groups as berths, and others once those have left. */
static void groups(void) {
    begin();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            enter(i, true, 1 + (uint64_t)(round * MANY + i), i);
        for (int i = 0; i < MANY; i++)
            sfid__turns_leave(&t, &berth[i]);
    }
    is_u64(t.groups, MANY, "groups: each is forgotten with its last berth");
    enter(0, true, ONE, 1);
    enter(1, true, OTHER, 2);
    is_i64(begins(5), 0, "groups: of a pool, the one of the first server");
    sfid__turns_end(&t, &berth[0], true, OTHER);
    sfid__turns_wait(&t, &berth[0], 3);
    berth[2].child = &berth[3]; /* as in a copy of a parent's */
    enter(2, true, ONE, 4);
    is_i64(next_of(5), 2,
           "groups: it has gone on to another server, which failed, and the first is not in doubt");
    is_i64(next_of(5), 1, "groups: then those of the other one");
    is_i64(next_of(5), 0, "groups: by their times");
    enter(0, true, ONE, 1);
    for (uint64_t i = 0; i < 2 * MANY; i++) {
        sfid__turns_begin(&t, &berth[0], 5);
        sfid__turns_end(&t, &berth[0], false, THIRD + i);
        sfid__turns_wait(&t, &berth[0], 5);
    }
    is_u64(t.groups, MANY,
           "groups: none is left behind by a berth that goes from server to server");
    end();
}

/* ---- T1 ------------------------------------------------------------------------------- */

static void places_of_servers(void) {
    begin();
    for (int i = 0; i < 4; i++)
        enter(i, true, ONE, i);
    is_i64(begins(9), 0, "places: a server has one turn");
    is_i64(begins(9), 1, "places: and one more");
    is_i64(begins(9), -1, "places: and no third one");
    for (int i = 4; i < 6; i++)
        enter(i, true, OTHER, i);
    is_i64(begins(9), 4, "places: another one has the third place");
    is_i64(begins(9), -1, "places: there is no fourth one");
    enter(7, true, 0, 1);
    is_i64(begins(9), -1,
           "places: not for a berth of no server, either, as long as it waits for one");
    enter(8, false, 0, 9);
    is_i64(begins(9), 8, "places: what needs no server has a turn");
    ends(0, false, 20);
    is_i64(begins(9), 7, "places: who has waited has the place that comes free");
    end();
}

static void places_in_doubt(void) {
    begin();
    for (int i = 0; i < 4; i++)
        enter(i, true, ONE, i);
    begins(9);
    begins(9);
    ends(0, true, 10);
    is_i64(begins(9), -1, "doubt: a server that has failed has no second turn");
    ends(1, true, 9);
    is_i64(begins(9), 2, "doubt: it has one");
    is_i64(begins(9), -1, "doubt: and not two");
    ends(2, false, 20);
    is_i64(begins(9), 3, "doubt: it answers");
    is_i64(begins(9), 1, "doubt: and has two turns again");
    end();
}

static void places_of_disks(void) {
    begin();
    for (int i = 0; i < 2; i++)
        enter(i, false, ONE, i);
    enter(2, false, OTHER, 5);
    enter(3, true, ONE, 6);
    is_i64(begins(9), 0, "disks: one has a turn");
    is_i64(begins(9), 2, "disks: another one has one, before a second berth of the first");
    is_i64(begins(9), 3, "disks: and a server of that number, which is no disk");
    is_i64(begins(9), -1, "disks: a disk has one turn at a time");
    ends(0, true, 20);
    enter(4, false, THIRD, 8);
    is_i64(begins(9), 1, "disks: one that says no is not in doubt");
    for (int i = 5; i < 7; i++)
        enter(i, false, 0, i);
    is_i64(begins(9), 5, "disks: what depends on none has a turn by its time");
    is_i64(begins(9), 6, "disks: and another one");
    end();
}

/* ---- T2, T3 --------------------------------------------------------------------------- */

static void sound_first(void) {
    begin();
    enter(0, true, ONE, 1);
    enter(1, true, ONE, 2);
    enter(2, true, OTHER, 3);
    enter(3, true, THIRD, 4);
    is_i64(begins(4), 0, "order: the earliest");
    is_i64(begins(4), 2, "order: a server without a turn comes before one that has one");
    is_i64(begins(4), 3, "order: another one, too");
    ends(2, true, 4);
    is_i64(begins(4), 1, "order: one with a turn comes before one in doubt");
    ends(3, false, 5);
    is_i64(begins(4), 2, "order: which has a turn once no other is due");
    ends(2, true, 4);
    is_i64(sfid__turns_next(&t, 5) - berth, 3, "order: it comes behind one that is due later");
    enter(4, true, OTHER, 2);
    is_i64(sfid__turns_next(&t, 5) - berth, 3, "order: so does each berth of it");
    end();
}

/* Servers in doubt have turns one after the other, however many berths they have, and however long
 * those have been due. */
static void doubt_in_turn(void) {
    begin();
    for (int i = 0; i < 60; i++)
        enter(i, true, i < 50 ? ONE : (uint64_t)(OTHER + i - 50), i);
    for (int i = 0, n; i < 11; i++) {
        n = begins(100 + i);
        ends(n, true, 1000 - i); /* the last one first, by their times */
    }
    int wrong = 0;
    for (int i = 0; i < 33; i++) {
        const int n = begins(2000 + i);
        wrong +=
            n < 0 || t.group[berth[n].at].number != (uint64_t)(i % 11 ? OTHER + i % 11 - 1 : ONE);
        ends(n, true, 1500);
    }
    is_i64(wrong, 0, "in turn: 11 servers in doubt, one of them with 50 berths");
    end();
}

/* Two servers need all three places all the time, and more. */
static void owed(void) {
    enum { FIRST = 100, LAST = FIRST + SFID__TURNS_OWED_MS };
    begin();
    enter(20, true, THIRD, 0);
    enter(21, true, FOURTH, 1);
    for (int i = 20; i < 22; i++)
        ends(begins(1), true, FIRST);
    for (int i = 0; i < 20; i++)
        enter(i, true, i % 2 ? ONE : OTHER, FIRST);
    int under_way[3], early = 0;
    for (int i = 0; i < 3; i++)
        early += (under_way[i] = begins(FIRST)) >= 20;
    int64_t at[2] = {0, 0};
    for (int64_t now = FIRST; now < 3 * LAST; now++) {
        for (int i = 0; i < 3; i++) {
            ends(under_way[i], under_way[i] >= 20, now);
            under_way[i] = begins(now);
            if (under_way[i] >= 20 && at[under_way[i] - 20] == 0)
                at[under_way[i] - 20] = now;
        }
    }
    is_i64(early, 0, "owed: servers in doubt come last");
    is_i64(at[0], LAST, "owed: but after 20 s one of them has a turn");
    is_i64(at[1], LAST + SFID__TURNS_OWED_MS, "owed: and the other after 20 s more");
    end();
}

/* ---- all of it, by events: no thread and no real time --------------------------------------- */

enum { RENEWERS = 10001, TIMEOUT_MS = 2000, RETRY_MS = 100, RETRY_MOST_MS = 10000 };

/* A generator that renews its window. */
struct renewer {
    struct sfid__berth berth; /* first */
    uint64_t group;
    bool fails;
    int64_t turn_ms, period_ms, retry_ms, last_ms, gap_ms, over_ms;
};

static struct renewer renewer[RENEWERS];
static size_t renewers;

struct table {
    /* longest time between two renewals: of the last one, of the others */
    int64_t sound_s, others_s;
};

static void add(uint64_t group, bool fails, int64_t turn_ms, int64_t period_ms, int64_t due_ms) {
    struct renewer *r = &renewer[renewers++];
    *r = (struct renewer){.berth = {.remote = true},
                          .group = group,
                          .fails = fails,
                          .turn_ms = turn_ms,
                          .period_ms = period_ms};
    need(sfid__turns_grow(&t), "no memory");
    sfid__turns_enter(&t, &r->berth, group, due_ms);
}

static void renewed(struct renewer *r, int64_t now_ms) {
    const int64_t gap_ms = now_ms - r->last_ms;
    r->gap_ms = gap_ms > r->gap_ms ? gap_ms : r->gap_ms;
    r->last_ms = now_ms;
}

static void turn_ends(struct renewer *r) {
    const int64_t now_ms = r->over_ms;
    sfid__turns_end(&t, &r->berth, r->fails, r->group);
    if (r->fails) {
        r->retry_ms = r->retry_ms == 0                  ? RETRY_MS
                      : 2 * r->retry_ms > RETRY_MOST_MS ? RETRY_MOST_MS
                                                        : 2 * r->retry_ms;
    } else {
        renewed(r, now_ms);
        r->retry_ms = 0;
    }
    sfid__turns_wait(&t, &r->berth, now_ms + (r->fails ? r->retry_ms : r->period_ms));
}

/* Three threads serve all until then. */
static struct table run(int64_t end_ms) {
    struct renewer *under_way[SFID__TURNS_REMOTE];
    size_t n = 0;
    int64_t now_ms = 0;
    while (now_ms < end_ms) {
        struct sfid__berth *b = sfid__turns_next(&t, now_ms);
        if (b && b->due_ms <= now_ms) {
            sfid__turns_begin(&t, b, now_ms);
            under_way[n] = (struct renewer *)(void *)b;
            under_way[n]->over_ms = now_ms + under_way[n]->turn_ms;
            n++;
            continue;
        }
        size_t first = 0;
        for (size_t i = 1; i < n; i++)
            first = under_way[i]->over_ms < under_way[first]->over_ms ? i : first;
        if (n == 0 || (b && b->due_ms < under_way[first]->over_ms)) {
            now_ms = b ? b->due_ms : end_ms;
            continue;
        }
        now_ms = under_way[first]->over_ms;
        turn_ends(under_way[first]);
        under_way[first] = under_way[--n];
    }
    struct table got = {0, 0};
    for (size_t i = 0; i < renewers; i++) {
        renewed(&renewer[i], now_ms);
        int64_t *s = i == renewers - 1 ? &got.sound_s : &got.others_s;
        *s = renewer[i].gap_ms / 1000 > *s ? renewer[i].gap_ms / 1000 : *s;
    }
    end();
    return got;
}

static void start(void) {
    begin();
    renewers = 0;
}

/* Servers that all stop answering before one of their generators is due, each with some of these;
 * and one generator of another. */
static void dead(int servers, int each, int64_t want_s) {
    start();
    for (int i = 0; i < servers * each; i++)
        add(1 + (uint64_t)(i % servers), true, TIMEOUT_MS, 10000,
            9000 + i * 1000 / (servers * each));
    add(1000, false, 1, 10000, 10000);
    is_i64(run(120000).sound_s, want_s,
           "dead: %d servers of %d generators: one elsewhere is renewed within so many seconds",
           servers, each);
}

/* 10,000 generators of one server, and one of another. */
static void slow(int64_t turn_ms, int64_t period_s, struct table want) {
    start();
    for (int i = 0; i < RENEWERS - 1; i++)
        add(1, false, turn_ms, period_s * 1000, i * period_s * 1000 / (RENEWERS - 1));
    add(2, false, 1, period_s * 1000, period_s * 1000 - 100);
    const struct table got = run(5 * (period_s + 60) * 1000);
    is_i64(got.sound_s, want.sound_s,
           "slow: %d ms a turn, each %d s: one elsewhere is renewed within so many seconds",
           (int)turn_ms, (int)period_s);
    is_i64(got.others_s, want.others_s, "slow: each of the 10,000 within so many");
}

int main(void) {
    by_time();
    numbers();
    groups();
    places_of_servers();
    places_in_doubt();
    places_of_disks();
    sound_first();
    doubt_in_turn();
    owed();
    dead(1, 140, 10);
    dead(3, 50, 11);
    dead(30, 3, 29);
    dead(60, 3, 49);
    slow(5, 10, (struct table){10, 25});
    slow(30, 10, (struct table){10, 150});
    slow(30, 180, (struct table){180, 180});
    slow(100, 180, (struct table){180, 500});
    return done_testing();
}
