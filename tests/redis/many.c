/* SPDX-License-Identifier: MIT */
/*
 * Many pids: what a claim costs, where it looks when most or all are taken, and how those that wait
 * take turns.
 *
 * A claim reads the fields of the app, 8 pids from its own place, the 8 released last, and 128 of a
 * search that all share.
 */
#include "support/app.h"

enum { ALL = 65536, STEPS = ALL / 128 };

/* Records of pids first to last but one, as of leases that end at T0 + 10 and, one of them, at T0 +
 * 7. */
static void taken(struct app *a, int first, int last, int earlier) {
    char from[16], to[16], soon[16];
    snprintf(from, sizeof from, "%d", first);
    snprintf(to, sizeof to, "%d", last - 1);
    snprintf(soon, sizeof soon, "%d", earlier);
    reply_free(redis_ask(
        a->redis, "EVAL",
        "for pid = tonumber(ARGV[1]), tonumber(ARGV[2]) do\n"
        "local limit = pid == tonumber(ARGV[3]) and '00001000007' or '00001000010'\n"
        "redis.call('HSET', KEYS[1], pid, limit .. ' 0123456789abcdef some-host-0123abcd:0:T' .. pid) end",
        "1", a->key, from, to, soon, NULL));
}

/* An app whose pids are all taken so. */
static struct app full(struct redis *r, int pids, int earlier) {
    struct app a = app_ready(r);
    a.pid_max = pids - 1;
    taken(&a, 0, pids, earlier);
    return a;
}

static int64_t calls(struct redis *r, const char *command) {
    char field[60], value[200];
    snprintf(field, sizeof field, "cmdstat_%s", command);
    redis_info(r, "commandstats", field, value, sizeof value);
    return strncmp(value, "calls=", 6) == 0 ? strtoll(value + 6, NULL, 10) : 0;
}

/* How many commands one claim is, "time hmget hget get hset". */
static void costs(struct app *a, const char *want, const char *name) {
    static const char *const commands[] = {"time", "hmget", "hget", "get", "hset"};
    char got[100] = "";
    for (size_t i = 0, n = 0; i < COUNT(commands); i++)
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%" PRId64, n ? " " : "",
                              calls(a->redis, commands[i]));
    is_str(got, want, "%s: the commands", name);
}

static bool claims(struct app *a, const char *start, const char *base) {
    redis_do(a->redis, "CONFIG", "RESETSTAT", NULL);
    return strncmp(app_say(a, "claim", start, "n", base, NULL), "OK ", 3) == 0;
}

/* Claims until one is granted, or the search is over. Returns how many it took; *most: commands of
 * the dearest. */
static int until(struct app *a, const char *start, const char *base, bool granted, int64_t *most) {
    int n = 0;
    *most = 0;
    do {
        const bool got = claims(a, start, base);
        const int64_t cost =
            calls(a->redis, "hmget") + calls(a->redis, "hget") + calls(a->redis, "hset");
        *most = cost > *most ? cost : *most;
        n++;
        if (got == granted && (granted || strncmp(a->said, "RETRY 1000000 ", 14) != 0))
            break;
    } while (n < 3 * STEPS);
    return n;
}

/* ---- costs ---------------------------------------------------------------- */

static void each_claim(struct redis *r) {
    struct app a = full(r, ALL, 40000);
    int64_t most;
    a.registration = 1;
    claims(&a, "0", "m:0:A");
    is_str(a.said, "RETRY 1000000 0", "all of 65536 taken: the search goes on");
    costs(&a, "1 3 0 0 2", "while it does");
    is_i64(1 + until(&a, "0", "m:0:A", false, &most), STEPS, "the claims that it takes");
    is_str(a.said, "RETRY 1000007 0", "when the first comes free");
    is_i64(most, 5, "no claim was dearer");
    claims(&a, "0", "m:0:A");
    costs(&a, "1 2 0 0 1", "while that is not yet so");
    app_at(&a, T0 + 6, 999);
    ok(!claims(&a, "40000", "m:0:A"), "1 ms before its limit");
    app_at(&a, T0 + 7, 0);
    const int n = until(&a, "0", "m:0:A", true, &most);
    ok(n <= STEPS && strcmp(a.said, "OK 1000007 1000017 40000") == 0,
       "the one that ran out is found: claim %d: %s", n, a.said);
    ok(most <= 5, "no claim was dearer: %" PRId64, most);
    app_say(&a, "renew", "65535", "0123456789abcdef", "some-host-0123abcd:0:T65535", "n1",
            "1000010", NULL);
    is_str(a.said, "OK 1000010 1000017 65535", "a renewal");
}

static void each_claim_of_two_parts(struct redis *r) {
    struct app a = full(r, ALL, -1);
    int64_t most;
    redis_do(r, "DEL", a.key, NULL);
    a.short_ms = 4000, a.share = 8;
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    claims(&a, "0", "m:0:A");
    is_str(a.said, "RETRY 1000007 1000013", "an app of a young era");
    costs(&a, "1 3 0 0 1", "it has nothing to look for");
    app_say(&a, "init", "", NULL);
    taken(&a, 0, ALL, -1);
    claims(&a, "0", "m:0:A");
    costs(&a, "1 5 0 0 3", "ordinary and short pids taken");
    ok(until(&a, "0", "m:0:A", false, &most) < STEPS && most == 8, "both searches end");
    is_str(a.said, "RETRY 1000010 0", "when the first comes free");
}

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void timed(struct redis *r) {
    struct app a = full(r, ALL, -1);
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        const int64_t begin = now_us();
        reply_free(app_ask(&a, "claim", "0", "n", "m:0:A", NULL));
        best = now_us() - begin < best ? now_us() - begin : best;
    }
    diag("%s, all taken: %" PRId64 " us", r->program, best);
    ok(best < 100000, "all taken: less than 100 ms");
}

/* ---- pids given back ------------------------------------------------------- */

static const char *gives_back(struct app *a, int pid, const char *position) {
    char number[16], base[60];
    snprintf(number, sizeof number, "%d", pid);
    snprintf(base, sizeof base, "some-host-0123abcd:0:T%d", pid);
    return app_say(a, "release", number, "0123456789abcdef", base, "", position, "1000010", NULL);
}

/* All of 1000 pids are taken, and the search has found that out. */
static struct app searched(struct redis *r) {
    struct app a = full(r, 1000, -1);
    int64_t most;
    until(&a, "0", "m:0:A", false, &most);
    need(is_str(a.said, "RETRY 1000010 0", "all are taken"), "they are not");
    return a;
}

static void listed(struct redis *r) {
    struct app a = searched(r);
    is_str(gives_back(&a, 500, "1000001"), "OK", "one is given back");
    ok(claims(&a, "0", "m:0:A"), "the next claim has it, wherever it begins");
    is_str(a.said, "OK 1000001 1000010 500", "from its position on");
    costs(&a, "1 3 0 0 2", "at once");
    gives_back(&a, 501, "1000001");
    ok(claims(&a, "501", "m:0:B"), "one is taken from its own place");
    claims(&a, "0", "m:0:C");
    is_str(a.said, "RETRY 1000010 0", "and is not granted for being listed");
    ok(!strstr(redis_text(r, "HGET", a.key, "i0", NULL), "501"), "nor listed any longer");
    gives_back(&a, 502, "1000001");
    for (int pid = 503; pid < 511; pid++)
        gives_back(&a, pid, "1000008");
    claims(&a, "0", "m:0:C");
    is_str(a.said, "RETRY 1000007 0", "eight that were given back last have their positions ahead");
    claims(&a, "0", "m:0:C");
    is_str(a.said, "OK 1000001 1000010 502", "the claim after looks at the others");
}

static void overflows(struct redis *r) {
    struct app a = searched(r);
    int once = 0, all = 0;
    int64_t most;
    for (int pid = 400; pid < 440; pid++)
        gives_back(&a, pid, "1000000");
    for (int i = 0; i < 40; i++) {
        char base[16];
        snprintf(base, sizeof base, "m:0:%d", i);
        once += until(&a, "0", base, true, &most) == 1;
        all += strncmp(a.said, "OK ", 3) == 0;
    }
    ok(once >= 32, "40 given back: 32 of them are known: %d", once);
    is_i64(all, 40, "the others are searched for");
    int64_t till = until(&a, "0", "m:0:X", false, &most);
    is_str(a.said, "RETRY 1000010 0", "no others are found");
    ok(till <= 9, "and that is known again: claim %" PRId64, till);
}

/* A pid granted for w since the search saw all of them: its holder ends, and it is found when that
 * is over, not W later. */
static void found_after_w(struct redis *r) {
    static const struct {
        const char *start, *name;
        bool searching;
    } rows[] = {{"500", "near the own place", false},
                {"0", "listed", false},
                {"500", "while a search is under way", true}};
    int64_t most;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct app a = full(r, 1000, -1);
        redis_do(r, "DEL", a.key, NULL);
        a.short_ms = 4000, a.share = 512, a.window = 20000;
        app_say(&a, "init", "", NULL);
        taken(&a, 0, 1000, -1);
        until(&a, "0", "m:0:A", false, &most);
        app_at(&a, T0 + 1, 0);
        if (rows[i].searching) /* which has seen pids 400 to 599 */
            redis_do(r, "HSET", a.key, "i0", "0-999 0 600 200 1000010 ", NULL);
        gives_back(&a, 500, "1000001");
        ok(claims(&a, rows[i].start, "m:0:C") && strcmp(a.said, "OK 1000001 1000005 500") == 0,
           "granted, %s: %s", rows[i].name, a.said);
        for (int k = 0; rows[i].searching && k < 8; k++)
            claims(&a, "0", "m:0:B");
        app_at(&a, T0 + 5, 0);
        const int n = until(&a, "0", "m:0:D", true, &most);
        ok(n <= 16 && strcmp(a.said, "OK 1000005 1000009 500") == 0,
           "found at its limit: claim %d: %s", n, a.said);
    }
}

/* ---- when an index is not to be trusted ------------------------------------- */

static void other_ranges(struct redis *r) {
    struct app a = full(r, 2048, 700), b = a;
    int64_t rounds = 0;
    redis_do(r, "HSET", a.key, "1700", "00001000000 n m:0:X", NULL);
    redis_do(r, "HSET", a.key, "700", "00001000000 n m:0:X", NULL);
    a.pid_max = 1023, b.pid_min = 1024;
    bool got[2] = {false};
    for (; rounds < 300 && !(got[0] && got[1]); rounds++) {
        app_at(&a, T0, rounds % 40 * 20);
        if (!got[0] && claims(&a, "0", "m:0:A"))
            got[0] = ok(strstr(a.said, " 700") != NULL, "of one range: %s", a.said);
        app_at(&b, T0, rounds % 40 * 20 + 10);
        if (!got[1] && claims(&b, "1024", "m:0:B"))
            got[1] = ok(strstr(b.said, " 1700") != NULL, "of the other: %s", b.said);
        if (got[0] != got[1]) /* somebody of the other range still polls */
            claims(got[0] ? &a : &b, got[0] ? "0" : "1024", "m:0:C");
    }
    ok(got[0] && got[1], "two ranges in turn: each has its own in %" PRId64 " rounds", rounds);
    a = searched(r), b = a;
    b.pid_max = 99;
    is_str(gives_back(&b, 500, "1000000"), "OK",
           "a pid is given back by one that has another range by now");
    claims(&b, "0", "m:0:A");
    ok(strncmp(b.said, "RETRY ", 6) == 0, "that range does not get it: %s", b.said);
    ok(until(&a, "0", "m:0:A", true, &rounds) <= 8 && strstr(a.said, " 500"), "its own does: %s",
       a.said);
}

static void begins_anew(struct redis *r) {
    static const char *const texts[] = {"", "0-999", "0-999 x 0 0 0", "0-999 1000010 99999999 0 0 ",
                                        "0-999 0 0 0 0 7 8 9 1001 65536 x"};
    struct app a = searched(r);
    claims(&a, "0", "m:0:B");
    costs(&a, "1 2 0 0 1", "all taken, as is known");
    app_at(&a, T0 - 100, 0);
    claims(&a, "0", "m:0:B");
    costs(&a, "1 3 0 0 2", "the clock set back: not known any more");
    a = searched(r);
    app_say(&a, "init", "", NULL);
    claims(&a, "0", "m:0:B");
    costs(&a, "1 3 0 0 2", "nor after init");
    for (size_t i = 0; i < COUNT(texts); i++) {
        a = searched(r);
        redis_do(r, "HSET", a.key, "i0", texts[i], NULL);
        claims(&a, "0", "m:0:B");
        ok(strncmp(a.said, "RETRY ", 6) == 0, "an index that says \"%s\" grants nothing: %s",
           texts[i], a.said);
    }
    a = searched(r);
    redis_do(r, "HSET", a.key, "20", "00001000000 n m:0:X", NULL);
    ok(claims(&a, "15", "m:0:B"),
       "what has run out near the own place is found, whatever the index says");
}

/* ---- nothing is lost ---------------------------------------------------------- */

enum { SOME = 300, LEASES = 1000 };

/* A lease of a random history. */
struct lease {
    char base[24], pid[16], limit[24];
};

static void keep(struct lease *l, const struct app *a, const char *base) {
    long long lo, limit;
    int pid;
    need(sscanf(a->said, "OK %lld %lld %d", &lo, &limit, &pid) == 3, "no grant: %s", a->said);
    snprintf(l->base, sizeof l->base, "%s", base);
    snprintf(l->pid, sizeof l->pid, "%d", pid);
    snprintf(l->limit, sizeof l->limit, "%lld", limit);
}

/* Claims, renewals, releases and ends of leases on pids of two ranges, with a clock that is set
 * back at times. Returns its latest tick. */
static int64_t random_history(struct app *a, unsigned *seed) {
    static struct lease leases[LEASES];
    int64_t tick = T0, latest = T0;
    size_t n = 0;
    for (int i = 0; i < LEASES; i++) {
        char base[24], start[16], position[24];
        const int what = rand_r(seed) % 10;
        const size_t k = n ? (size_t)rand_r(seed) % n : 0;
        tick += rand_r(seed) % 20 == 0 ? (rand_r(seed) % 5 == 0 ? -20 : 3) : 0;
        latest = tick > latest ? tick : latest;
        app_at(a, tick, i % 1000);
        a->pid_max = rand_r(seed) % 8 ? SOME - 1 : SOME / 2;
        snprintf(base, sizeof base, "m:0:%d", i);
        snprintf(start, sizeof start, "%d", rand_r(seed) % SOME);
        snprintf(position, sizeof position, "%" PRId64, tick + rand_r(seed) % 6 - 3);
        if (what < 6 && strncmp(app_say(a, "claim", start, "n", base, NULL), "OK ", 3) == 0)
            keep(&leases[n++], a, base);
        else if (n > 0 && what < 7)
            app_say(a, "finish", leases[k].pid, leases[k].base, NULL);
        else if (n > 0)
            app_say(a, "release", leases[k].pid, "n", leases[k].base, "", position, leases[k].limit,
                    NULL);
        if (n > 0 && what == 9)
            leases[k] = leases[--n];
    }
    return latest;
}

/* Whatever the index says by then, every pid is granted once its window is over. */
static void all_come_back(struct redis *r) {
    unsigned seed = 20261122;
    for (int game = 0; game < 4; game++) {
        struct app a = app_ready(r);
        if (game % 2) {
            redis_do(r, "DEL", a.key, NULL);
            a.short_ms = 4000, a.share = 8;
            app_say(&a, "init", "", NULL);
        }
        app_at(&a, random_history(&a, &seed) + 60, 0);
        a.pid_max = SOME - 1;
        int got = 0, n = 0;
        for (; n < 4 * SOME && got < SOME; n++) {
            char base[16];
            snprintf(base, sizeof base, "m:1:%d", got);
            got += claims(&a, "0", base);
        }
        ok(got == SOME, "after a random history all pids come back: %d of %d, by %d claims", got,
           SOME, n);
    }
}

/* ---- turns ----------------------------------------------------------------- */

static void polls(struct app *a, int64_t want, const char *name) {
    app_say(a, "claim", "0", "n", "m:0:A", NULL);
    ok(strncmp(a->said, "RETRY ", 6) == 0 && a->poll == want, "%s: %s, in %" PRId64 " ms", name,
       a->said, a->poll);
}

static void turns(struct redis *r) {
    struct app a = app_new(r);
    polls(&a, 2000, "the first that waits comes again in 2 s");
    for (int i = 1; i < 999; i++)
        app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    polls(&a, 11990, "the thousandth 10 ms after the one before");
    app_at(&a, T0 + 5, 0);
    polls(&a, 7000, "time passes: the queue shrinks");
    redis_do(r, "HSET", a.key, "p", "9999999999999", NULL);
    polls(&a, 60010, "a queue that cannot be is a minute long");
    redis_do(r, "HSET", a.key, "p", "text", NULL);
    polls(&a, 2000, "or none");
    redis_do(r, "HDEL", a.key, "p", NULL);
    app_at(&a, T0 + 12, 300);
    polls(&a, 700, "no later than a pid comes free");
    redis_do(r, "HDEL", a.key, "p", NULL);
    app_at(&a, T0 + 12, 995);
    polls(&a, 10, "but not at once");
    a = full(r, 1000, -1);
    polls(&a, 10, "a search under way");
    polls(&a, 20, "goes on by the next");
}

static void test(struct redis *r) {
    each_claim(r);
    each_claim_of_two_parts(r);
    timed(r);
    listed(r);
    overflows(r);
    found_after_w(r);
    other_ranges(r);
    begins_anew(r);
    all_come_back(r);
    turns(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
