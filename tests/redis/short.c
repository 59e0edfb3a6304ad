/* SPDX-License-Identifier: MIT */
/*
 * Short pids: how long an app that was forgotten makes a newcomer wait, which windows are granted,
 * and how a holder moves from a short pid to an ordinary one.
 *
 * Of pids 0 to 7 those that end in 3 or 7 are short: w is 4 ticks, W 10, S 2.
 */
#include "support/app.h"

static struct app shorter(struct app a) {
    a.short_ms = 4000, a.share = 4, a.pid_max = 7;
    return a;
}

static struct app fresh(struct redis *r) { return shorter(app_new(r)); }

static struct app ready(struct redis *r) {
    struct app a = fresh(r);
    need(strcmp(app_say(&a, "init", "", NULL), "OK") == 0, "init: %s", a.said);
    return a;
}

/* ---- claims -------------------------------------------------------------- */

static void newcomers(struct redis *r) {
    struct app a = fresh(r);
    says(&a, "RETRY 1000007 1000013", "an unknown app: not before q1", "claim", "0", "n", "m:0:A",
         NULL);
    has(&a, a.key, "lay", "2 36:11:17/1000@1766361600000 10000 2000 4000/4", "the settings");
    has(&a, a.key, "q", "1000013", "q: of ordinary pids");
    has(&a, a.key, "q1", "1000007", "q1: of short ones");
    has(&a, a.key, "g", "1000003", "g: of both");
    app_at(&a, T0 + 6, 999);
    says(&a, "RETRY 1000007 1000013", "1 ms before q1", "claim", "0", "n", "m:0:A", NULL);
    app_at(&a, T0 + 7, 0);
    says(&a, "OK 1000007 1000011 3", "at q1: a short pid, for w", "claim", "0", "n", "m:0:A", NULL);
    says(&a, "OK 1000007 1000011 7", "the other", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "RETRY 1000011 1000013", "no more, but when they run out", "claim", "0", "n", "m:0:C",
         NULL);
    app_at(&a, T0 + 12, 999);
    says(&a, "OK 1000012 1000016 3", "which they do", "claim", "0", "n", "m:0:C", NULL);
    app_say(&a, "renew", "7", "n", "m:0:B", "n1", "1000011", NULL);
    says(&a, "RETRY 1000013 1000013", "1 ms before q", "claim", "0", "n", "m:0:D", NULL);
    app_at(&a, T0 + 13, 0);
    says(&a, "OK 1000013 1000017 0", "at q: an ordinary pid", "claim", "0", "n", "m:0:D", NULL);
}

static void rounding(struct redis *r) {
    struct app a = fresh(r);
    a.slack = 1500;
    app_at(&a, T0, 499);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "q1", "1000006", "q1, the sum 1 ms before a tick");
    redis_do(r, "FLUSHALL", NULL);
    app_at(&a, T0, 500);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "q1", "1000007", "q1, the sum at a tick");
}

static void windows(struct redis *r) {
    struct app a = ready(r);
    says(&a, "OK 1000000 1000004 0", "a claim grants w", "claim", "0", "n", "m:0:A", NULL);
    says(&a, "OK 1000001 1000004 0", "and again", "claim", "0", "n", "m:0:A", NULL);
    says(&a, "OK 1000004 1000010 0", "the first renewal of an ordinary pid grants W", "renew", "0",
         "n", "m:0:A", "n1", "1000004", NULL);
    says(&a, "OK 1000007 1000010 0", "the claim, late: what is left", "claim", "0", "n", "m:0:A",
         NULL);
    has(&a, a.key, "0", "00001000010 n1 m:0:A", "and the renewal's nonce stays");
    a.pid_min = 3, a.pid_max = 3;
    says(&a, "OK 1000000 1000004 3", "a short pid: w", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "OK 1000001 1000004 3", "again: not before what was granted first", "claim", "0", "n",
         "m:0:B", NULL);
    app_at(&a, T0 + 2, 0);
    says(&a, "OK 1000004 1000006 3", "its renewals grant w", "renew", "3", "n", "m:0:B", "n1",
         "1000004", NULL);
    app_at(&a, T0 + 5, 999);
    says(&a, "RETRY 1000006 0", "1 ms before its limit", "claim", "0", "n", "m:0:C", NULL);
    app_at(&a, T0 + 6, 0);
    says(&a, "OK 1000006 1000010 3", "at its limit", "claim", "0", "n", "m:0:C", NULL);
    says(&a, "OK", "released", "release", "3", "n", "m:0:C", "", "1000007", "1000010", NULL);
    says(&a, "OK 1000007 1000010 3", "the next goes on at the position", "claim", "0", "n", "m:0:D",
         NULL);
}

/* A claim of the first, held up on its way, is carried out when another has had the pid: w counts
 * for what it granted. */
static void granted_once_more(struct redis *r, const char *pid) {
    struct app a = ready(r);
    a.pid_min = a.pid_max = (int)strtol(pid, NULL, 10);
    app_say(&a, "claim", "0", "n1", "m:0:A", NULL);
    app_at(&a, T0 + 4, 0);
    app_say(&a, "claim", "0", "n", "m:0:B", NULL);
    says(&a, "OK", "another has had the pid", "release", pid, "n", "m:0:B", "", "1000005",
         "1000008", NULL);
    app_say(&a, "claim", "0", "n1", "m:0:A", NULL);
    says(&a, "LOST", "the first renews, by the window of before", "renew", pid, "n1", "m:0:A", "n2",
         "1000004", NULL);
    says(&a, "LOST", "and releases it", "release", pid, "n1", "m:0:A", "n2", "1000003", "1000004",
         NULL);
    a = ready(r);
    a.pid_min = a.pid_max = (int)strtol(pid, NULL, 10);
    app_say(&a, "claim", "0", "n1", "m:0:A", NULL);
    app_at(&a, T0 + 3, 0);
    app_say(&a, "claim", "0", "n1", "m:0:A", NULL);
    app_say(&a, "renew", pid, "n1", "m:0:A", "n2", "1000004", NULL);
    ok(strncmp(a.said, "OK 1000004 ", 11) == 0,
       "a claim that comes late, but before the limit, does no harm: %s", a.said);
}

/* A clock more than w/2 ahead would be past a short window for most of the time. One behind has
 * longer of it. */
static void other_clocks(struct redis *r) {
    static const int64_t off[] = {2001, 2000, -2001, -300000};
    for (size_t i = 0; i < COUNT(off); i++) {
        struct app a = fresh(r);
        app_say(&a, "claim", "0", "n", "m:0:A", NULL);
        app_at(&a, T0 + 7, 0);
        a.host_ahead = off[i];
        says(&a, i == 0 ? "RETRY 1000013 1000013" : "OK 1000007 1000011 3",
             "a host that is so far off", "claim", "0", "n", "m:0:A", NULL);
    }
}

/* Every pid of a range is granted once, ordinary ones first, wherever the range begins and ends. */
static void ranges(struct redis *r) {
    static const struct {
        int min, max, share;
    } rows[] = {{0, 7, 4}, {5, 10, 4},   {3, 3, 4}, {4, 6, 4},
                {7, 8, 8}, {15, 62, 16}, {0, 5, 2}, {65520, 65535, 8}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct app a = ready(r);
        char start[8], base[16];
        const int pids = rows[i].max - rows[i].min + 1;
        int got = 0, outside = 0, disorder = 0, last = 0;
        redis_do(r, "FLUSHALL", NULL);
        a.share = rows[i].share, a.pid_min = rows[i].min, a.pid_max = rows[i].max;
        app_say(&a, "init", "", NULL);
        for (int k = 0; k <= pids; k++) {
            snprintf(start, sizeof start, "%d", rows[i].min + 5 * k % pids);
            snprintf(base, sizeof base, "m:0:%d", k);
            if (strncmp(app_say(&a, "claim", start, "n", base, NULL), "OK ", 3) != 0)
                break;
            const int pid = (int)strtol(strrchr(a.said, ' '), NULL, 10),
                      part = pid % a.share == a.share - 1;
            got++, outside += pid < a.pid_min || pid > a.pid_max, disorder += part < last,
                last = part;
        }
        ok(got == pids && outside == 0 && disorder == 0 && strncmp(a.said, "RETRY ", 6) == 0,
           "pids %d to %d, each %d. short: %d of them, %d outside, %d out of order", a.pid_min,
           a.pid_max, a.share, got, outside, disorder);
    }
    struct app a = ready(r);
    a.pid_min = 2;
    says(&a, "OK 1000000 1000004 5", "the first asked for", "claim", "5", "n", "m:0:A", NULL);
    says(&a, "OK 1000000 1000004 4", "a short one asked for: the ordinary one behind it", "claim",
         "3", "n", "m:0:B", NULL);
}

/* ---- what was forgotten --------------------------------------------------- */

static void forgotten(struct redis *r) {
    struct app a = fresh(r);
    says(&a, "GONE 1000007", "a short lease too old to show anything: its q", "renew", "3", "n",
         "m:0:A", "n1", "1000002", NULL);
    says(&a, "GONE 1000013", "an ordinary one: its own", "renew", "2", "n", "m:0:A", "n1",
         "1000002", NULL);
    says(&a, "GONE 1000007", "released", "release", "3", "n", "m:0:A", "", "1000001", "1000002",
         NULL);
    says(&a, "OK 1000003 1000004 3", "one that shows g", "renew", "3", "n", "m:0:A", "n1",
         "1000003", NULL);
    a.pid_min = a.pid_max = 3;
    app_at(&a, T0 + 6, 999);
    says(&a, "RETRY 1000007 1000013", "run out, but not before q1", "claim", "0", "n", "m:0:B",
         NULL);
    app_at(&a, T0 + 7, 0);
    says(&a, "OK 1000007 1000011 3", "at q1", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "OK", "init", "init", "", NULL);
    has(&a, a.key, "q1", "1000007", "q1, too, is over");
    app_at(&a, T0 + 6, 0);
    says(&a, "RETRY 1000011 1000007", "but not if the clock is set back", "claim", "0", "n",
         "m:0:C", NULL);
    app_at(&a, T0 + 7, 0);
    redis_do(r, "HDEL", a.key, "q1", NULL);
    says(&a, "RETRY 1000014 1000020", "a hash without q1 begins anew", "claim", "0", "n", "m:0:C",
         NULL);
    a = app_new(r);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "q1", "nil", "no short pids: no q1");
}

/* ---- moves ---------------------------------------------------------------- */

/* A holder of pid 3, until T0 + 11, of an app that was forgotten at T0. Ordinary pids come free at
 * T0 + 13. */
static struct app holds_short(struct redis *r) {
    struct app a = fresh(r);
    app_say(&a, "claim", "0", "n", "m:0:S", NULL);
    app_at(&a, T0 + 7, 0);
    says(&a, "OK 1000007 1000011 3", "a short lease", "claim", "0", "n", "m:0:S", NULL);
    return a;
}

static const char *move(struct app *a, const char *had) {
    return app_say(a, "renew", "3", "n", "m:0:S", "n1", had, "2", "k", "m:0:M", NULL);
}

static void moves(struct redis *r) {
    struct app a = holds_short(r);
    app_at(&a, T0 + 10, 0);
    is_str(move(&a, "1000011"), "OK 1000011 1000014 3", "no ordinary pid before q: renewed");
    has(&a, a.key, "2", "nil", "and nothing else is granted");
    has(&a, a.key, "p", "1767361602000", "nor does it queue with those that wait");
    app_at(&a, T0 + 12, 999);
    is_str(app_say(&a, "renew", "3", "n1", "m:0:S", "n2", "1000014", "2", "k", "m:0:M", NULL),
           "OK 1000014 1000016 3", "1 ms before q");
    app_at(&a, T0 + 13, 0);
    is_str(app_say(&a, "renew", "3", "n2", "m:0:S", "n3", "1000016", "2", "k", "m:0:M", NULL),
           "MOVED 1000013 1000017 2", "at q: the ordinary pid asked for, as by a claim");
    has(&a, a.key, "2", "00001000017 k m:0:M", "its record");
    has(&a, a.key, "3", "00001000016 n3 m:0:S",
        "the short record is neither renewed nor released, and has the new nonce");
    says(&a, "MOVED 1000014 1000017 2", "the answer was lost: the same again", "renew", "3", "n2",
         "m:0:S", "n3", "1000016", "2", "k", "m:0:M", NULL);
    a.pid_min = a.pid_max = 3;
    says(&a, "RETRY 1000016 0", "nobody else has the short pid before its limit", "claim", "0", "n",
         "m:0:B", NULL);
    app_at(&a, T0 + 16, 0);
    says(&a, "OK 1000016 1000020 3", "then it is free", "claim", "0", "n", "m:0:B", NULL);
    a.pid_min = 0, a.pid_max = 7;
    says(&a, "OK 1000017 1000026 2", "the new one is renewed by W", "renew", "2", "k", "m:0:M",
         "k1", "1000017", NULL);
}

static void moves_not(struct redis *r) {
    struct app a = holds_short(r);
    app_at(&a, T0 + 13, 0);
    says(&a, "LOST", "the short lease is not ours: nothing is granted", "renew", "3", "x", "m:0:S",
         "n1", "1000011", "2", "k", "m:0:M", NULL);
    has(&a, a.key, "2", "nil", "nor recorded");
    says(&a, "OK 1000011 1000017 3", "not asked to move", "renew", "3", "n", "m:0:S", "n1",
         "1000011", "", "", "", NULL);
    says(&a, "OK 1000013 1000017 0", "an ordinary lease", "claim", "0", "n", "m:0:O", NULL);
    says(&a, "OK 1000017 1000023 0", "does not move", "renew", "0", "n", "m:0:O", "n1", "1000017",
         "2", "k", "m:0:M", NULL);
    has(&a, a.key, "2", "nil", "whatever it asks");
    for (int i = 0; i < 5; i++) {
        char base[16];
        snprintf(base, sizeof base, "m:1:%d", i);
        app_say(&a, "claim", "0", "n", base, NULL);
    }
    says(&a, "OK 1000017 1000017 3", "all ordinary ones are taken: renewed", "renew", "3", "n1",
         "m:0:S", "n2", "1000017", "2", "k", "m:0:M", NULL);
    says(&a, "OK", "one is given back", "release", "6", "n", "m:1:4", "", "1000014", "1000017",
         NULL);
    says(&a, "MOVED 1000014 1000017 6", "which is taken, from its position on", "renew", "3", "n2",
         "m:0:S", "n3", "1000017", "2", "k", "m:0:M", NULL);
}

/* What was given back to this server needs not wait for q, for a move either. */
static void moves_before_q(struct redis *r) {
    struct app a = holds_short(r);
    app_at(&a, T0 + 8, 0);
    says(&a, "OK 1000009 1000018 4", "an ordinary lease of before goes on", "renew", "4", "n",
         "m:0:O", "n1", "1000009", NULL);
    app_say(&a, "release", "4", "n1", "m:0:O", "", "1000009", "1000018", NULL);
    is_str(move(&a, "1000011"), "MOVED 1000009 1000012 4", "and is given back: a move before q");
}

static void test(struct redis *r) {
    newcomers(r);
    rounding(r);
    windows(r);
    granted_once_more(r, "2");
    granted_once_more(r, "3");
    other_clocks(r);
    ranges(r);
    forgotten(r);
    moves(r);
    moves_not(r);
    moves_before_q(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
