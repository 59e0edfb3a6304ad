/* SPDX-License-Identifier: MIT */
/* Claims: which pid, which ticks, and when not; each bound one millisecond before, at and after
 * it. */
#include "support/app.h"

/* A server that knows nothing of the app: whoever held a pid before may use up its window. */
static void without_record(struct redis *r) {
    struct app a = app_new(r);
    says(&a, "RETRY 1000013 1000013", "an unknown app: not before q", "claim", "0", "n", "m:0:A",
         NULL);
    has(&a, a.key, "q", "1000013", "q: every window granted so far has ended");
    has(&a, a.key, "g", "1000003", "g: nobody else can have begun");
    app_at(&a, T0 + 12, 999);
    says(&a, "RETRY 1000013 1000013", "1 ms before q", "claim", "0", "n", "m:0:A", NULL);
    app_at(&a, T0 + 13, 0);
    says(&a, "OK 1000013 1000023 0", "at q", "claim", "0", "n", "m:0:A", NULL);
    app_at(&a, T0 + 13, 1);
    says(&a, "OK 1000013 1000023 1", "1 ms after q", "claim", "0", "n", "m:0:B", NULL);
    a = app_ready(r);
    says(&a, "OK 1000000 1000010 0", "after init: at once", "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "0", "00001000010 n m:0:A", "the record");
}

/* Bounds are rounded so that they are never too early. */
static void rounding(struct redis *r) {
    struct app a = app_new(r);
    a.slack = 1500;
    app_at(&a, T0, 499);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "q", "1000012", "q, the sum 1 ms before a tick");
    has(&a, a.key, "g", "1000002", "g, the sum 1 ms before a tick");
    redis_do(r, "FLUSHALL", NULL);
    app_at(&a, T0, 500);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "q", "1000013", "q, the sum at a tick");
    has(&a, a.key, "g", "1000003", "g, the sum at a tick");
    a = app_ready(r);
    app_at(&a, T0, 999);
    says(&a, "OK 1000000 1000010 0", "last ms of a tick: this tick, and the same limit", "claim",
         "0", "n", "m:0:A", NULL);
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000001 1000011 1", "first ms of the next", "claim", "0", "n", "m:0:B", NULL);
}

static void released(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 0;
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    says(&a, "OK", "released at a position ahead", "release", "0", "n", "m:0:A", "", "1000007",
         "1000010", NULL);
    app_at(&a, T0 + 5, 999);
    says(&a, "RETRY 1000006 0", "two ticks before the position", "claim", "0", "n", "m:0:B", NULL);
    app_at(&a, T0 + 6, 0);
    says(&a, "OK 1000007 1000016 0", "the tick before it: from the position", "claim", "0", "n",
         "m:0:B", NULL);
    app_say(&a, "release", "0", "n", "m:0:B", "", "1000007", "1000010", NULL);
    app_at(&a, T0 + 8, 0);
    says(&a, "OK 1000008 1000018 0", "after it: from now", "claim", "0", "n", "m:0:C", NULL);
}

/* What was released to this server needs not wait for q: the holder itself said where it
 * stopped. */
static void released_before_q(struct redis *r) {
    struct app a = app_new(r);
    says(&a, "OK 1000009 1000010 0", "a holder of before goes on", "renew", "0", "n", "m:0:A", "n1",
         "1000009", NULL);
    says(&a, "OK", "and releases", "release", "0", "n1", "m:0:A", "", "1000001", "1000010", NULL);
    says(&a, "OK 1000001 1000010 0", "the next has the pid, before q", "claim", "0", "n", "m:0:B",
         NULL);
    says(&a, "RETRY 1000013 1000013", "the others have to wait", "claim", "0", "n", "m:0:C", NULL);
}

/* The answer was lost: the same claim again. */
static void again(struct redis *r) {
    struct app a = app_ready(r);
    says(&a, "OK 1000000 1000010 0", "a claim", "claim", "0", "n", "m:0:A", NULL);
    says(&a, "OK 1000001 1000010 0", "again at once: not before what was granted first", "claim",
         "0", "n", "m:0:A", NULL);
    app_at(&a, T0 + 3, 0);
    says(&a, "OK 1000003 1000013 0", "again later: from now", "claim", "0", "n", "m:0:A", NULL);
    app_at(&a, T0 - 5, 0);
    says(&a, "OK 1000004 1000013 0",
         "again with the clock set back: the window granted last, no shorter", "claim", "0", "n",
         "m:0:A", NULL);
    has(&a, a.key, "0", "00001000013 n m:0:A", "the record keeps its limit");
    says(&a, "RETRY 1000000 1000000", "another's base that ends like this one is another's",
         "claim", "0", "n", "0:A", NULL);
    app_at(&a, T0, 0);
    says(&a, "OK 1000004 1000013 0", "under the nonce of another attempt", "claim", "0", "n1",
         "m:0:A", NULL);
    has(&a, a.key, "0", "00001000013 n1 m:0:A", "the later one stands");
    says(&a, "OK 1000004 1000013 0", "and the earlier one, late", "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "0", "00001000013 n1 m:0:A", "does not bring back its own");
    says(&a, "OK 1000013 1000013 0", "renewed", "renew", "0", "n1", "m:0:A", "n2", "1000013", NULL);
    says(&a, "OK 1000004 1000013 0", "the claim arrives once more, late", "claim", "0", "n",
         "m:0:A", NULL);
    says(&a, "OK 1000013 1000013 0", "and did not bring back the old nonce", "renew", "0", "n2",
         "m:0:A", "n3", "1000013", NULL);
}

static void held(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 0;
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    app_at(&a, T0 + 9, 999);
    says(&a, "RETRY 1000010 0", "1 ms before the limit", "claim", "0", "n", "m:0:B", NULL);
    has(&a, a.key, "0", "00001000010 n m:0:A", "and the record stays");
    app_at(&a, T0 + 10, 0);
    says(&a, "OK 1000010 1000020 0", "at the limit", "claim", "0", "n", "m:0:B", NULL);
    app_at(&a, T0 + 20, 1);
    says(&a, "OK 1000020 1000030 0", "1 ms after the limit", "claim", "0", "n", "m:0:C", NULL);
}

/* A record that has run out proves nothing before q: it may stand for one that renewed late, after
 * another was forgotten. */
static void held_before_q(struct redis *r) {
    struct app a = app_new(r);
    a.pid_max = 0;
    says(&a, "OK 1000003 1000010 0", "a holder of before goes on", "renew", "0", "n", "m:0:A", "n1",
         "1000003", NULL);
    app_at(&a, T0 + 12, 999);
    says(&a, "RETRY 1000013 1000013", "run out, 1 ms before q", "claim", "0", "n", "m:0:B", NULL);
    app_at(&a, T0 + 13, 0);
    says(&a, "OK 1000013 1000023 0", "at q", "claim", "0", "n", "m:0:B", NULL);
}

static void where(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_min = 5, a.pid_max = 7;
    says(&a, "OK 1000000 1000010 6", "the first asked for", "claim", "6", "n", "m:0:A", NULL);
    says(&a, "OK 1000000 1000010 7", "the next", "claim", "6", "n", "m:0:B", NULL);
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000001 1000011 5", "round the end of the range", "claim", "6", "n", "m:0:C",
         NULL);
    says(&a, "RETRY 1000010 0", "all taken: the first to run out", "claim", "6", "n", "m:0:D",
         NULL);
    says(&a, "RETRY 1000010 0", "a start beyond the range lies in it", "claim", "100", "n", "m:0:D",
         NULL);
    app_say(&a, "release", "5", "n", "m:0:C", "", "1000005", "1000010", NULL);
    says(&a, "RETRY 1000004 0", "a position ahead comes sooner", "claim", "5", "n", "m:0:D", NULL);
    has(&a, a.key, "4", "nil", "nothing below the range");
    has(&a, a.key, "8", "nil", "nothing above the range");
}

static void unreadable(struct redis *r) {
    struct app a = app_ready(r);
    redis_do(r, "HSET", a.key, "0", "?", NULL);
    says(&a, "OK 1000000 1000010 1", "a record that says nothing is passed over", "claim", "0", "n",
         "m:0:A", NULL);
    has(&a, a.key, "0", "?", "and stays");
}

/* Ticks of milliseconds since 2010 have twelve digits. */
static void many_digits(struct redis *r) {
    struct app a = app_ready(r);
    a.key = "sfid:ms", a.unit = 1, a.epoch = INT64_C(1288834974657), a.pid_max = 0;
    app_say(&a, "init", "", NULL);
    says(&a, "OK 478526625343 478526635343 0", "a claim", "claim", "0", "n", "m:0:A", NULL);
    says(&a, "RETRY 478526635343 0", "is held", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "OK 478526635343 478526635343 0", "is renewed", "renew", "0", "n", "m:0:A", "n2",
         "478526635343", NULL);
    says(&a, "OK", "is released", "release", "0", "n2", "m:0:A", "", "478526625350", "478526635343",
         NULL);
    says(&a, "RETRY 478526625349 0", "with its position", "claim", "0", "n", "m:0:B", NULL);
    app_say(&a, "claim", "0", "n", "m:0:B", NULL);
    /* As far as a double counts. */
    a.key = "sfid:far", a.epoch = 0;
    a.prelude = "local real = redis\n"
                "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
                "if command == 'TIME' then return {'9000000000000', '123456'} end\n"
                "return real.pcall(command, ...) end}";
    app_say(&a, "init", "", NULL);
    says(&a, "OK 9000000000000123 9000000000010123 0", "sixteen digits", "claim", "0", "n", "m:0:A",
         NULL);
}

static void test(struct redis *r) {
    without_record(r);
    rounding(r);
    released(r);
    released_before_q(r);
    again(r);
    held(r);
    held_before_q(r);
    where(r);
    unreadable(r);
    many_digits(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
