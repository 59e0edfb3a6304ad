/* SPDX-License-Identifier: MIT */
/* turns.c - which berth has the next turn: by time, behind doubt, and within what may hang at one time. No thread is needed. */
#include "lease/turns.h"

#include "support/tap.h"

enum { MANY = 1000, ALIKE = 7 };
#define OF_LIKE_HASH (ALIKE + (UINT64_C(1) << 40)) /* has the same place in the table of doubt */

static struct sfid__turns t;
static struct sfid__berth berth[MANY];

static void begin(void) {
    memset(&t, 0, sizeof t);
    memset(berth, 0, sizeof berth);
}

static void end(void) {
    free(t.berth);
    free(t.spare);
    for (int i = 0; i < 4; i++)
        free(t.order[i / 2][i % 2].at);
}

static struct sfid__berth *enter(int i, bool remote, uint64_t group, int64_t due_ms) {
    berth[i].remote = remote;
    berth[i].group = group;
    need(sfid__turns_grow(&t), "no memory");
    sfid__turns_enter(&t, &berth[i], due_ms);
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

static void by_time(void) {
    begin();
    for (int i = 0; i < MANY; i++)
        enter(i, i % 2 == 0, 0, i * 7919 % MANY);
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

static void behind_doubt(bool remote, const char *what) {
    begin();
    enter(0, remote, ALIKE, 1);
    enter(1, remote, OF_LIKE_HASH, 3);
    enter(2, remote, 0, 4);
    sfid__turns_doubt(&t, &berth[0], true);
    is_i64(sfid__turns_next(&t, 2) - berth, 0, "%s: one in doubt has its turn if no other is due", what);
    is_i64(sfid__turns_next(&t, 3) - berth, 1, "%s: one that is due comes before it, also with a like hash", what);
    is_i64(next_of(4), 1, "%s: of those without doubt the earliest", what);
    is_i64(next_of(4), 2, "%s: then the one that depends on nothing", what);
    enter(1, remote, OF_LIKE_HASH, 1);
    enter(2, remote, ALIKE, 2);
    is_i64(sfid__turns_next(&t, 5) - berth, 1, "%s: who comes later is in doubt with its group", what);
    sfid__turns_doubt(&t, &berth[1], true);
    is_i64(sfid__turns_next(&t, 5) - berth, 0, "%s: of two with like hashes the later doubt counts", what);
    sfid__turns_doubt(&t, &berth[1], false);
    is_i64(next_of(5), 0, "%s: without doubt they come by their times", what);
    is_i64(next_of(5), 1, "%s: each of them", what);
    is_i64(next_of(5), 2, "%s: to the last", what);
    end();
}

/* The end of doubt moves all of a group in front of those that still are in doubt. */
static void doubt_ends(void) {
    begin();
    sfid__turns_doubt(&t, &(struct sfid__berth){.remote = true, .group = 1}, true);
    sfid__turns_doubt(&t, &(struct sfid__berth){.remote = true, .group = 2}, true);
    for (int i = 0; i < 20; i++)
        enter(i, true, 1 + (uint64_t)(i % 2), i);
    sfid__turns_doubt(&t, &berth[1], false);
    int wrong = 0;
    for (int i = 0; i < 20; i++)
        wrong += next_of(100) != (i < 10 ? 2 * i + 1 : 2 * (i - 10));
    is_i64(wrong, 0, "end of doubt: all of a group come first, and by their times");
    end();
}

static void failed(void) {
    begin();
    enter(0, true, 0, 5);
    sfid__turns_pick(&t, &berth[0]);
    berth[0].failed = true;
    sfid__turns_wait(&t, &berth[0], 1);
    enter(1, true, 0, 2);
    is_i64(next_of(9), 1, "failed: a berth that failed comes behind one that did not");
    is_i64(next_of(9), 0, "failed: and after it");
    end();
}

static void few_hang(void) {
    begin();
    enter(0, true, 1, 1);
    enter(1, false, 2, 2);
    enter(2, false, 3, 3);
    enter(3, false, 0, 4);
    sfid__turns_doubt(&t, &berth[1], true);
    t.risky[true] = SFID__RISKY_REMOTE - 1;
    is_i64(sfid__turns_next(&t, 9) - berth, 0, "few hang: a server may have one more turn");
    t.risky[true] = SFID__RISKY_REMOTE;
    is_i64(next_of(9), 2, "few hang: no server may, the disk without doubt has the turn");
    is_i64(next_of(9), 3, "few hang: then what depends on nothing");
    t.risky[false] = SFID__RISKY_LOCAL;
    is_i64(next_of(9), -1, "few hang: not the disk in doubt");
    t.risky[false] = 0;
    is_i64(next_of(9), 1, "few hang: unless no turn with a disk is risky");
    is_i64(next_of(9), -1, "few hang: the server still waits");
    t.risky[true] = 0;
    is_i64(next_of(9), 0, "few hang: until then");
    end();
}

int main(void) {
    by_time();
    numbers();
    behind_doubt(true, "server");
    behind_doubt(false, "disk");
    doubt_ends();
    failed();
    few_hang();
    return done_testing();
}
