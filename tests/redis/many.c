/* SPDX-License-Identifier: MIT */
/* Many pids: what a claim costs when most or all are taken, and how a range is walked that is too long for one call. */
#include "support/app.h"

/* Records of pids first to last but one, as of leases that end at T0 + 10 and, one of them, at T0 + 7. */
static void taken(struct app *a, int first, int last, int earlier) {
    char from[16], to[16], soon[16];
    snprintf(from, sizeof from, "%d", first);
    snprintf(to, sizeof to, "%d", last - 1);
    snprintf(soon, sizeof soon, "%d", earlier);
    reply_free(redis_ask(a->redis, "EVAL",
                         "for pid = tonumber(ARGV[1]), tonumber(ARGV[2]) do\n"
                         "local limit = pid == tonumber(ARGV[3]) and '00001000007' or '00001000010'\n"
                         "redis.call('HSET', KEYS[1], pid, limit .. ' 0123456789abcdef some-host-0123abcd:0:T' .. pid) end",
                         "1", a->key, from, to, soon, NULL));
}

static int64_t calls(struct redis *r, const char *command) {
    char field[60], value[200];
    snprintf(field, sizeof field, "cmdstat_%s", command);
    redis_info(r, "commandstats", field, value, sizeof value);
    return strncmp(value, "calls=", 6) == 0 ? strtoll(value + 6, NULL, 10) : 0;
}

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The fastest of some. */
static void timed(struct app *a, const char *what, const char *token) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        char base[60];
        snprintf(base, sizeof base, "m:0:%s%d", token, i);
        const int64_t begin = now_us();
        struct reply *reply = app_ask(a, "claim", "0", "n", base, NULL);
        const int64_t took = now_us() - begin;
        best = took < best ? took : best;
        reply_free(reply);
    }
    diag("%s, %s: %" PRId64 " us", a->redis->program, what, best);
    ok(best < 100000, "%s: less than 100 ms", what);
}

static void most_are_taken(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 2047, a.registration = 1;
    taken(&a, 0, 2000, 1500);
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    says(&a, "OK 1000000 1000010 2000", "2000 of 2048 taken: the first that is not", "claim", "0", "n", "m:0:A", NULL);
    is_i64(calls(r, "eval"), 1, "in one call");
    is_i64(calls(r, "time"), 1, "which reads the clock once");
    is_i64(calls(r, "hmget"), 9, "and records by the hundred");
    is_i64(calls(r, "get"), 1, "and one registration");
    timed(&a, "2000 of 2048 taken", "B");
    taken(&a, 0, 2048, 1500);
    says(&a, "RETRY 1000007 0", "all taken: when the first frees", "claim", "0", "n", "m:0:C", NULL);
    timed(&a, "all taken", "D");
}

/* 10000 pids, 9000 free: three calls. The client goes on where it is told to, at most once round. */
static void walked(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_min = 100, a.pid_max = 10099;
    taken(&a, 100, 10100, 5000);
    redis_do(r, "HDEL", a.key, "9000", NULL);
    says(&a, "RETRY 1000010 0", "the first 4096", "claim", "100", "n", "m:0:A", NULL);
    says(&a, "RETRY 1000007 0", "the next, with one that frees sooner", "claim", "4196", "n", "m:0:A", NULL);
    says(&a, "OK 1000000 1000010 9000", "found", "claim", "8292", "n", "m:0:A", NULL);
    says(&a, "RETRY 1000010 0", "round the end", "claim", "9000", "n", "m:0:B", NULL);
    a.pid_max = 4195;
    says(&a, "RETRY 1000010 0", "4096 pids: all were looked at", "claim", "150", "n", "m:0:B", NULL);
    a.pid_max = 4196;
    says(&a, "RETRY 1000010 0", "4097: not yet", "claim", "150", "n", "m:0:B", NULL);
}

/* Other renewals wait while one call runs. */
static void bounded(struct redis *r) {
    struct app a = app_ready(r);
    a.pid_max = 65535, a.registration = 1;
    taken(&a, 0, 65536, 65535);
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    says(&a, "RETRY 1000010 0", "65536 pids: no more than 4096", "claim", "0", "n", "m:0:A", NULL);
    is_i64(calls(r, "hmget"), 17, "by the hundred");
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000010 1000011 65535", "the last pid", "renew", "65535", "0123456789abcdef", "some-host-0123abcd:0:T65535", "n1",
         "1000010", NULL);
}

static void test(struct redis *r) {
    most_are_taken(r);
    walked(r);
    bounded(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
