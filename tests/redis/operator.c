/* SPDX-License-Identifier: MIT */
/* What an operator's commands are made of: `look`, `init` and `finish`. */
#include "support/app.h"

#define LAY_REST " 36:11:17/1000@1766361600000 10000 2000"
#define LAY "2" LAY_REST

static void looks(struct redis *r) {
    struct app a = app_new(r);
    says(&a, "OK none - - - 3", "an app that nobody knows", "look", "0", NULL);
    has(&a, a.key, "q", "nil", "and nothing is written");
    a = app_ready(r);
    a.pid_max = 4;
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    app_say(&a, "claim", "2", "n", "m:0:B", NULL);
    app_say(&a, "release", "2", "n", "m:0:B", "", "1000001", "1000010", NULL);
    app_say(&a, "claim", "4", "n", "host-a1:12:T", NULL);
    char *before = app_contents(&a);
    says(&a,
         "OK current " LAY
         " 0 1000003 5 0 held 1000010 m:0:A 2 released 1000001 - 4 held 1000010 host-a1:12:T",
         "leases", "look", "0", NULL);
    says(&a, "OK current " LAY " 0 1000003 5 4 held 1000010 host-a1:12:T", "from a pid on", "look",
         "3", NULL);
    says(&a, "OK current " LAY " 0 1000003 5", "past the last", "look", "5", NULL);
    app_is_as(&a, before, "looking changes nothing");
    redis_do(r, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(r);
    says(&a, "OK old " LAY " 0 1000003 5 0 held 1000010 m:0:A *",
         "what is to be forgotten still can be seen", "look", "0", NULL);
}

/* So many at a time. */
static void looks_far(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 600;
    app_say(&a, "claim", "255", "n", "m:0:A", NULL);
    app_say(&a, "claim", "256", "n", "m:0:B", NULL);
    says(&a, "OK current " LAY " 0 1000003 256 255 held 1000010 m:0:A", "the first 256", "look",
         "0", NULL);
    says(&a, "OK current " LAY " 0 1000003 512 256 held 1000010 m:0:B", "the next", "look", "256",
         NULL);
    says(&a, "OK current " LAY " 0 1000003 601", "the last", "look", "512", NULL);
}

/* A registration of ours lasts S longer than the lease that the server has forgotten. What cannot
 * be read somebody may use, too. */
static void looks_at_the_unshown(struct redis *r) {
    struct app a = app_ready(r);
    a.registration = 1;
    a.pid_max = 259;
    redis_do(r, "SET", "sfid:{app}:\1\1", "host-a1:3:0123456789abcdef", "PX", "12000", NULL);
    redis_do(r, "HSET", a.key, "258", "00001000010 n", NULL);
    redis_do(r, "SET", "sfid:{app}:\3\1", "host-a1:3:0123456789abcde", "PX", "12000", NULL);
    says(&a,
         "OK current " LAY
         " 0 1000003 260 257 unshown 1000010 host-a1:3:0123456789abcdef 258 unshown - ? "
         "259 foreign 1000012 host-a1:3:0123456789abcde",
         "a registration of ours, a record that cannot be read, and a stranger's", "look", "257",
         NULL);
    a.registration = 0;
    says(&a, "OK current " LAY " 0 1000003 260 258 unshown - ?", "without registration, too",
         "look", "257", NULL);
}

/* Nor more than 16000 bytes, but for the one with which it is more. */
static void looks_at_long_names(struct redis *r) {
    struct app a = app_ready(r);
    char base[200], pid[8];
    a.pid_max = 599;
    for (int i = 0; i < 200; i++) {
        snprintf(pid, sizeof pid, "%d", i);
        snprintf(base, sizeof base, "%0120d-%d:0:T", 0, i);
        app_say(&a, "claim", pid, "n", base, NULL);
    }
    struct reply *reply = app_ask(&a, "look", "0", NULL);
    size_t bytes = 0;
    for (size_t i = 8; i + 1 < reply->count; i++)
        bytes += reply->list[i].size;
    ok(bytes <= 16000 && bytes + reply->list[reply->count - 1].size > 16000,
       "long names: as many as fit in 16000 bytes");
    is_i64(strtoll(reply->list[7].text, NULL, 10), (int64_t)reply->count - 8, "and where to go on");
    reply_free(reply);
}

static void inits(struct redis *r) {
    struct app a = app_new(r);
    app_say(&a, "look", "0", NULL);
    says(&a, "OK", "init of an app that nobody knows", "init", a.state, NULL);
    has(&a, a.key, "lay", LAY, "its settings");
    has(&a, a.key, "q", "1000000", "no waiting");
    has(&a, a.key, "g", "1000003", "a holder still has to prove itself");
    says(&a, "GONE 0", "as this one cannot", "renew", "0", "n", "m:0:A", "n1", "1000002", NULL);
    app_say(&a, "look", "0", NULL);
    app_say(&a, "claim", "0", "n", "m:0:B", NULL);
    says(&a, "OK", "init again", "init", a.state, NULL);
    says(&a, "OK 1000000 1000010 1", "takes no lease away", "claim", "0", "n", "m:0:C", NULL);
}

/* What the server forgot before may have been issued at any tick until then. */
static void clock_goes_back(struct redis *r) {
    struct app a = app_new(r);
    app_say(&a, "init", "", NULL);
    says(&a, "OK 1000000 1000010 0", "after init pids are granted at once", "claim", "0", "n",
         "m:0:A", NULL);
    app_at(&a, T0 - 1, 999);
    says(&a, "RETRY 1000000 1000000", "but not if the clock is set back", "claim", "1", "n",
         "m:0:B", NULL);
    app_at(&a, T0, 0);
    says(&a, "OK 1000000 1000010 1", "until it is there again", "claim", "1", "n", "m:0:B", NULL);
    redis_do(r, "FLUSHALL", NULL);
    says(&a, "OK 1000000 1000010 0", "nor where the asker says that the app is new", "claim", "0",
         "n", "m:0:A", "1", NULL);
    app_at(&a, T0 - 1, 999);
    says(&a, "RETRY 1000000 1000000", "and the clock is set back", "claim", "1", "n", "m:0:B", "1",
         NULL);
}

/* Between looking and saying so, things may have changed. */
static void inits_what_it_saw(struct redis *r) {
    struct app a = app_new(r);
    app_say(&a, "look", "0", NULL);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    says(&a, "CHANGED", "somebody came meanwhile", "init", a.state, NULL);
    has(&a, a.key, "q", "1000013", "q stays");
    app_say(&a, "look", "0", NULL);
    redis_do(r, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(r);
    char *before = app_contents(&a);
    says(&a, "CHANGED", "a failover came meanwhile", "init", a.state, NULL);
    app_is_as(&a, before, "nothing is written");
    app_say(&a, "look", "0", NULL);
    says(&a, "OK", "seen as it is", "init", a.state, NULL);
    redis_do(r, "FLUSHALL", NULL);
    says(&a, "CHANGED", "flushed meanwhile", "init", a.state, NULL);
    says(&a, "OK", "whatever there is", "init", "", NULL);
    app_say(&a, "look", "0", NULL);
    redis_do(r, "FLUSHALL", NULL);
    app_at(&a, T0 + 5, 0);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    says(&a, "CHANGED", "flushed, and known anew", "init", a.state, NULL);
    has(&a, a.key, "q", "1000018", "q stays");
}

/* What the holder has it may use up, and nothing brings it more. */
static void finishes(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 1;
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    says(&a, "CHANGED", "finish: another has it", "finish", "0", "m:0:B", NULL);
    says(&a, "CHANGED", "finish: nobody has it", "finish", "1", "m:0:A", NULL);
    says(&a, "OK 1000001 1000010 0", "nothing has changed", "claim", "0", "n", "m:0:A", NULL);
    says(&a, "OK 1000010", "finish", "finish", "0", "m:0:A", NULL);
    says(&a, "OK current " LAY " 0 1000003 2 0 ending 1000010 m:0:A", "it is ending", "look", "0",
         NULL);
    says(&a, "LOST", "it is not renewed", "renew", "0", "n", "m:0:A", "n1", "1000010", NULL);
    says(&a, "LOST", "nor given back", "release", "0", "n", "m:0:A", "n1", "1000001", "1000010",
         NULL);
    says(&a, "OK 1000001 1000010 0", "a claim that comes late has what was granted", "claim", "0",
         "z", "m:0:A", NULL);
    says(&a, "LOST", "and it is still not renewed", "renew", "0", "z", "m:0:A", "z1", "1000010",
         NULL);
    says(&a, "OK 1000010", "finish again", "finish", "0", "m:0:A", NULL);
    a.pid_max = 0;
    says(&a, "RETRY 1000010 0", "the pid is not to be had", "claim", "0", "n", "m:0:B", NULL);
    app_at(&a, T0 + 9, 999);
    says(&a, "RETRY 1000010 0", "before its window has ended", "claim", "0", "n", "m:0:B", NULL);
    app_at(&a, T0 + 10, 0);
    says(&a, "OK 1000010 1000020 0", "then it is", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "CHANGED", "finish: it is another's by now", "finish", "0", "m:0:A", NULL);
    says(&a, "OK 1000020 1000020 0", "who has it as ever", "renew", "0", "n", "m:0:B", "n1",
         "1000020", NULL);
    app_say(&a, "release", "0", "n1", "m:0:B", "", "1000011", "1000020", NULL);
    says(&a, "CHANGED", "finish: it was given back", "finish", "0", "m:0:B", NULL);
}

/* The hash as an older version left it, whose rules had no number yet: nobody but an upgrade
 * changes it. */
static struct app older(struct redis *r) {
    struct app a = app_ready(r);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    app_say(&a, "claim", "1", "n", "m:0:B", NULL);
    app_say(&a, "release", "1", "n", "m:0:B", "n", "1000004", "1000010", NULL);
    redis_do(r, "HSET", a.key, "lay", &LAY[2], NULL);
    redis_do(r, "HDEL", a.key, "b", "n", NULL);
    return a;
}

static void upgrades(struct redis *r) {
    static const char barred[] = "LAYOUT 36:11:17/1000@1766361600000 10000 2000";
    struct app a = older(r), other;
    char *before = app_contents(&a), *kept = app_contents(&a);
    says(&a, barred, "older rules: a claim", "claim", "0", "n", "m:0:C", NULL);
    says(&a, barred, "a renewal", "renew", "0", "n", "m:0:A", "n1", "1000010", NULL);
    says(&a, barred, "init alone", "init", "", NULL);
    says(
        &a,
        "OK barred 36:11:17/1000@1766361600000 10000 2000 0 1000003 3 0 held 1000010 m:0:A 1 released 1000004 -",
        "seen as it is", "look", "0", NULL);
    says(&a, "HELD 0 1000010", "a holder's window is open", "init", a.state, "1", NULL);
    app_at(&a, T0 + 9, 999);
    says(&a, "HELD 0 1000010", "to its last millisecond", "init", "", "1", NULL);
    other = a, other.window += 1000;
    says(&other, barred, "other settings, too", "init", "", "1", NULL);
    says(&other, barred, "and to look", "look", "0", NULL);
    app_is_as(&a, before, "nothing was written");
    app_at(&a, T0 + 10, 0);
    says(&a, "CHANGED", "not what was seen", "init", "x", "1", NULL);
    app_is_as(&a, kept, "nothing was written");
    says(&a, "OK", "an upgrade", "init", a.state, "1", NULL);
    has(&a, a.key, "lay", LAY, "its rules are of now");
    has(&a, a.key, "0", "nil", "records are gone");
    says(&a, "OK 1000010 1000020 0", "and pids are granted", "claim", "0", "n", "m:0:C", NULL);
    before = app_contents(&a);
    redis_do(r, "HSET", a.key, "lay", "3" LAY_REST, NULL);
    says(&a, "LAYOUT 3" LAY_REST, "newer rules", "look", "0", NULL);
    says(&a, "LAYOUT 3" LAY_REST, "are not taken back", "init", "", "1", NULL);
    redis_do(r, "HSET", a.key, "lay", LAY, NULL);
    app_is_as(&a, before, "nothing was written");
    a = older(r);
    redis_do(r, "HDEL", a.key, "0", NULL);
    app_at(&a, T0 + 3, 999);
    says(&a, "HELD 1 1000004", "a position that is not past", "init", "", "1", NULL);
    app_at(&a, T0 + 20, 0);
    redis_do(r, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(r);
    says(&a, "OK", "an upgrade of a hash from before a promotion", "init", "", "1", NULL);
    says(&a, "RETRY 1000033 1000033", "frees no pid that somebody may hold", "claim", "0", "n",
         "m:0:C", NULL);
    a = older(r);
    redis_do(r, "HDEL", a.key, "0", NULL);
    redis_do(r, "HSET", a.key, "q", "1000021", NULL);
    app_at(&a, T0 + 20, 0);
    says(&a, "OK", "an upgrade of a hash in a young era", "init", "", "1", NULL);
    says(&a, "RETRY 1000033 1000033", "does not either", "claim", "0", "n", "m:0:C", NULL);
}

static void test(struct redis *r) {
    upgrades(r);
    looks(r);
    looks_far(r);
    looks_at_long_names(r);
    looks_at_the_unshown(r);
    inits(r);
    clock_goes_back(r);
    inits_what_it_saw(r);
    finishes(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
