/* SPDX-License-Identifier: MIT */
/*
 * The range of pids that a server lends, which `lay` has: who may go beyond it is refused, and it
 * changes only while no pid that would leave may be in use.
 */
#include "support/app.h"

#define BITS "36:11:17"
#define REST "/1000@1766361600000 10000 2000"
#define RANGED(range) "2 " BITS "#" range REST

/* The app as asked for by a process whose URL has pids=; or, with bits nothing, pid_min= and
 * pid_max=. */
static struct app with(const struct app *a, const char *bits, int min, int max) {
    struct app b = *a;
    b.bits = bits ? bits : BITS;
    b.pid_min = min;
    b.pid_max = max;
    return b;
}

static void recorded(struct redis *r) {
    struct app all = app_new(r), a = with(&all, BITS "#2-3", 2, 3), inner = with(&all, NULL, 3, 3),
               ahead = with(&all, NULL, 2, 4), below = with(&all, BITS "#1-3", 1, 3),
               tight = with(&all, BITS "#2-2", 2, 2);
    says(&a, "OK", "init records the range", "init", "", NULL);
    has(&all, all.key, "lay", RANGED("2-3"), "with the settings");
    says(&a, "OK 1000000 1000010 2", "who has that range gets a pid", "claim", "2", "n", "m:0:A",
         NULL);
    says(&inner, "OK 1000000 1000010 3", "and who wants less", "claim", "3", "n", "m:0:B", NULL);
    says(&all, "LAYOUT " RANGED("2-3"), "who knows no range is refused", "claim", "0", "n", "m:0:C",
         NULL);
    says(&ahead, "LAYOUT " RANGED("2-3"), "and who wants more, above", "claim", "2", "n", "m:0:C",
         NULL);
    says(&below, "LAYOUT " RANGED("2-3"), "or below", "claim", "2", "n", "m:0:C", NULL);
    says(&all, "LAYOUT " RANGED("2-3"), "init without a range", "init", "", NULL);
    says(&all, "LAYOUT " RANGED("2-3"), "or a look", "look", "0", NULL);
    says(&all, "OK 1000010 1000010 2", "but who has a pid of it may renew", "renew", "2", "n",
         "m:0:A", "n1", "1000010", NULL);
    says(&all, "LAYOUT " RANGED("2-3"), "not one beyond whose window is over", "renew", "4", "n",
         "m:0:D", "n1", "1000000", NULL);
    says(&all, "LAYOUT " RANGED("2-3"), "nor one below", "renew", "1", "n", "m:0:D", "n1",
         "1000000", NULL);
    says(&all, "OK", "and give it back", "release", "2", "n1", "m:0:A", "", "1000001", "1000010",
         NULL);
    says(&inner, "OK", "a smaller one of a process", "init", "", NULL);
    has(&all, all.key, "lay", RANGED("2-3"), "is not recorded");
    says(&tight, "HELD 3 1000012", "one that leaves a holder out is refused", "init", "", NULL);
    /* The server begins anew, and knows the range from the old hash. */
    redis_do(r, "HSET", a.key, "inc", "another", NULL);
    says(&all, "LAYOUT " RANGED("2-3"), "another era: who knows no range is refused", "claim", "0",
         "n", "m:0:C", NULL);
    says(&inner, "RETRY 1000013 1000013", "who wants less waits as ever", "claim", "3", "n",
         "m:0:C", NULL);
    has(&all, all.key, "lay", RANGED("2-3"), "and the range stays");
    redis_do(r, "FLUSHALL", NULL);
    says(&tight, "RETRY 1000013 1000013", "forgotten: the first to come", "claim", "2", "n",
         "m:0:C", NULL);
    has(&all, all.key, "lay", RANGED("2-2"), "brings its range");
    says(&all, "OK 1000010 1000010 0", "but ends no window of one who knows none", "renew", "0",
         "n", "m:0:E", "n1", "1000010", NULL);
    says(&a, "LAYOUT " RANGED("2-2"), "only of one who names another", "renew", "3", "n", "m:0:B",
         "n1", "1000010", NULL);
    app_at(&all, T0 + 9, 0);
    says(&all, "OK 1000010 1000019 0", "who goes on", "renew", "0", "n1", "m:0:E", "n2", "1000010",
         NULL);
    app_at(&all, T0 + 20, 999);
    says(&tight, "HELD 0 1000021", "and in whose way no range comes", "init", "", NULL);
}

/* A holder that does not know the range asks for an ordinary pid, too, and is given none beyond
 * it. */
static void moves_inside(struct redis *r) {
    struct app all = app_new(r), a;
    all.short_ms = 4000, all.share = 4, all.pid_max = 7;
    a = with(&all, BITS "#2-5", 2, 5);
    app_say(&a, "init", "", NULL);
    says(&a, "OK 1000000 1000004 2", "all ordinary pids of the range", "claim", "2", "n", "m:0:A",
         NULL);
    says(&a, "OK 1000000 1000004 4", "are taken", "claim", "2", "n", "m:0:B", NULL);
    says(&a, "OK 1000000 1000004 5", "each once", "claim", "2", "n", "m:0:C", NULL);
    says(&a, "OK 1000000 1000004 3", "then a short one", "claim", "2", "n", "m:0:D", NULL);
    says(&all, "OK 1000004 1000004 3", "whose holder stays", "renew", "3", "n", "m:0:D", "n1",
         "1000004", "6", "k", "m:0:E", NULL);
    app_say(&a, "release", "5", "n", "m:0:C", "", "1000001", "1000004", NULL);
    says(&all, "MOVED 1000001 1000004 5", "until one comes free", "renew", "3", "n1", "m:0:D", "n2",
         "1000004", "6", "k1", "m:0:E", NULL);
}

static void changed(struct redis *r) {
    struct app all = app_ready(r), low = with(&all, BITS "#0-1", 0, 1),
               high = with(&all, BITS "#2-5", 2, 5), most;
    all.pid_max = 5;
    app_say(&all, "claim", "0", "n", "m:0:A", NULL);
    app_say(&all, "claim", "4", "n", "m:0:B", NULL);
    app_say(&all, "claim", "5", "n", "m:0:C", NULL);
    app_say(&all, "release", "5", "n", "m:0:C", "", "1000012", "1000010", NULL);
    char *before = app_contents(&all);
    says(&low, "HELD 5 1000014", "a pid that would go is in use", "init", "", "2", NULL);
    app_at(&all, T0 + 12, 999);
    says(&low, "HELD 5 1000014", "or may be at another's clock", "init", "", "2", NULL);
    app_at(&all, T0 + 13, 999);
    says(&low, "HELD 5 1000014", "until S is past", "init", "", "2", NULL);
    app_is_as(&all, before, "nothing was written");
    app_at(&all, T0 + 14, 0);
    says(&low, "OK", "then it may", "init", "", "2", NULL);
    has(&all, all.key, "lay", RANGED("0-1"), "be recorded");
    has(&all, all.key, "n", "6", "as a step of this era");
    has(&all, all.key, "q", "1000000", "without a word about those who hold");
    says(&all, "LAYOUT " RANGED("0-1"), "the holder that is out is not renewed", "renew", "4", "n",
         "m:0:B", "n1", "1000010", NULL);
    says(&low, "OK 1000014 1000024 0", "those inside go on", "claim", "0", "n", "m:0:E", NULL);
    says(&high, "HELD 0 1000026", "to another range: not while one inside is held", "init", "", "2",
         NULL);
    most = with(&all, BITS "#0-5", 0, 5);
    says(&most, "OK", "to a wider one: at once", "init", "", "2", NULL);
    says(&high, "OK 1000014 1000024 2", "whose pids are granted", "claim", "2", "n", "m:0:F", NULL);
    app_at(&all, T0 + 26, 0);
    says(&high, "OK", "and on to the other", "init", "", "2", NULL);
    says(&all, "OK", "and to none", "init", "", "2", NULL);
    has(&all, all.key, "lay", "2 " BITS REST, "as before");
}

/* Who was forgotten may have any pid. */
static void changed_after_loss(struct redis *r) {
    struct app all = app_ready(r), low = with(&all, BITS "#0-1", 0, 1);
    redis_do(r, "FLUSHALL", NULL);
    says(&low, "HELD - 1000015", "nothing is known: who has the others?", "init", "", "2", NULL);
    has(&all, all.key, "lay", "2 " BITS REST, "so the app has them still");
    app_at(&all, T0 + 14, 999);
    says(&low, "HELD - 1000015", "until S past the last that they may use", "init", "", "2", NULL);
    says(&all, "OK", "no change is none", "init", "", "2", NULL);
    app_at(&all, T0 + 15, 0);
    says(&low, "OK", "then they are known to be free", "init", "", "2", NULL);
    redis_do(r, "FLUSHALL", NULL);
    app_say(&low, "claim", "0", "n", "m:0:A", NULL);
    has(&all, all.key, "lay", RANGED("0-1"),
        "after another loss the first to come brings the range");
    says(&low, "HELD - 1000030", "but others may go on", "init", "", "2", NULL);
    redis_do(r, "FLUSHALL", NULL);
    says(&low, "OK", "init asks nobody: it is the operator who knows", "init", "", NULL);
    has(&all, all.key, "lay", RANGED("0-1"), "and it brings its range");
    redis_do(r, "FLUSHALL", NULL);
    app_say(&low, "claim", "0", "n", "m:0:A", NULL);
    says(&all, "OK", "a wider range has nobody to wait for", "init", "", "2", NULL);
}

static void test(struct redis *r) {
    recorded(r);
    moves_inside(r);
    changed(r);
    changed_after_loss(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
