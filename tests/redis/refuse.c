/* SPDX-License-Identifier: MIT */
/* What is refused, each with a word of its own, before anything is written; and what the server has
 * to permit. */
#include "support/app.h"

/* A claim, a renewal and an init are refused so, and the hash stays as it was. */
static void refused(struct app *a, const char *want, const char *why) {
    char about[200];
    char *before = app_contents(a);
    snprintf(about, sizeof about, "%s: ", why);
    a->about = about;
    says(a, want, "claim", "claim", "0", "n", "m:0:B", NULL);
    says(a, want, "renew", "renew", "0", "n", "m:0:A", "n1", "1000010", NULL);
    says(a, want, "release", "release", "0", "n", "m:0:A", "n1", "1000010", "1000010", NULL);
    says(a, want, "init", "init", "", NULL);
    app_is_as(a, before, "nothing was written");
    a->about = "";
}

static void epoch(struct redis *r) {
    struct app a = app_new(r);
    a.epoch = a.now + 1;
    refused(&a, "EPOCH", "1 ms before the epoch");
    a.epoch = a.now;
    says(&a, "RETRY 13 13", "at the epoch", "claim", "0", "n", "m:0:A", NULL);
    redis_do(r, "FLUSHALL", NULL);
    a.epoch = a.now - 1;
    says(&a, "RETRY 13 13", "1 ms after it", "claim", "0", "n", "m:0:A", NULL);
}

static void skew(struct redis *r) {
    struct app a = app_new(r);
    a.max_skew = 5000, a.host_ahead = 5001;
    refused(&a, "SKEW", "host 1 ms too far ahead");
    a.host_ahead = -5001;
    refused(&a, "SKEW", "host 1 ms too far behind");
    a.host_ahead = 5000;
    says(&a, "OK", "just in bounds, ahead", "init", "", NULL);
    a.host_ahead = -5000;
    says(&a, "OK", "just in bounds, behind", "init", "", NULL);
    a.max_skew = 0, a.host_ahead = 1000000000;
    says(&a, "OK", "any clock will do", "init", "", NULL);
}

static void layout(struct redis *r) {
    static const char want[] = "LAYOUT 2 36:11:17/1000@1766361600000 10000 2000";
    struct app a = app_ready(r), b;
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    b = a, b.bits = "36:10:18";
    refused(&b, want, "other bits");
    b = a, b.unit = 500;
    refused(&b, want, "another unit");
    b = a, b.epoch++;
    refused(&b, want, "another epoch");
    b = a, b.window += 1000;
    refused(&b, want, "another W");
    b = a, b.slack++;
    refused(&b, want, "another S");
    b = a, b.short_ms = 5000, b.share = 2;
    refused(&b, want, "short pids");
    b = a, b.min_good = 1;
    refused(&b, want, "replicas");
    says(&b, want, "looking as well", "look", "0", NULL);
    says(&a, "OK 1000001 1000010 0", "its own goes on", "claim", "0", "n", "m:0:A", NULL);
}

static void no_info(struct redis *r) {
    struct app a = app_new(r);
    a.prelude =
        "local real = redis\n"
        "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
        "if command == 'INFO' then return 'redis_version:7.0.15\\r\\n' end return real.pcall(command, ...) end}";
    refused(&a, "NOINFO", "an INFO that tells nothing");
    a.prelude =
        "local real = redis\n"
        "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
        "local reply = real.pcall(command, ...)\n"
        "if command == 'INFO' then reply = string.gsub(reply, 'role:[^\\r]*\\r\\n', '') end return reply end}";
    refused(&a, "NOINFO", "an INFO without a role");
    a.prelude =
        "local real = redis\n"
        "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
        "local reply = real.pcall(command, ...)\n"
        "if command == 'INFO' then reply = reply .. 'garnet_version:1.0\\r\\n' end return reply end}";
    refused(&a, "-ERR this server may run scripts side by side*", "scripts that are not atomic");
}

/* ---- errors of the server ------------------------------------------------- */

static void errors(struct redis *r) {
    struct app a = app_ready(r);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    redis_do(r, "CONFIG", "SET", "maxmemory", "1", NULL);
    refused(&a, "-OOM *", "out of memory");
    redis_do(r, "CONFIG", "SET", "maxmemory", "0", NULL);
    redis_do(r, "CONFIG", "SET", "min-replicas-to-write", "1", NULL);
    refused(&a, "-NOREPLICAS *", "too few replicas");
    redis_do(r, "CONFIG", "SET", "min-replicas-to-write", "0", NULL);
    redis_do(r, "DEL", a.key, NULL);
    redis_do(r, "SET", a.key, "text", NULL);
    refused(&a, "-WRONGTYPE *", "not a hash");
    redis_do(r, "DEL", a.key, NULL);
    redis_do(r, "RPUSH", a.key, "item", NULL);
    refused(&a, "-WRONGTYPE *", "a list");
}

/* Redis before 7 lets scripts write where a replica is missing, and says in errors where in the
 * script they arose. */
static void old_server(struct redis *r) {
    struct app a = app_ready(r);
    a.prelude =
        "local real = redis\n"
        "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
        "local reply = real.pcall(command, ...)\n"
        "if command == 'INFO' then reply = reply .. 'min_slaves_good_slaves:0\\r\\n' end return reply end}";
    refused(&a, "-NOREPLICAS *", "Redis 6.0, too few replicas");
    says(&a, "OK current *", "which one still may look at", "look", "0", NULL);
    a.prelude =
        "local real = redis\n"
        "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
        "if command == 'HSET' then return {err = \"@user_script: 17: -OOM no more when used memory > 'maxmemory'.\"} end\n"
        "return real.pcall(command, ...) end}";
    says(&a, "-OOM no more *", "Redis 6.0, out of memory", "claim", "0", "n", "m:0:A", NULL);
}

/* A caller's mistake is an error, not an answer. */
static void mistakes(struct redis *r) {
    struct app a = app_new(r), b;
    says(&a, "-*", "no operation of that name", "grab", "0", NULL);
    says(&a, "-*", "no number", "claim", "x", "n", "m:0:A", NULL);
    b = a, b.window = 1000;
    says(&b, "-*", "a window of one tick", "claim", "0", "n", "m:0:A", NULL);
    b = a, b.window = 10500;
    says(&b, "-*", "a window of half a tick", "claim", "0", "n", "m:0:A", NULL);
    static const int briefs[][2] = {{5000, 0}, {5000, 1}, {0, 2}, {1000, 2}, {2500, 2}, {6000, 2}};
    for (size_t i = 0; i < COUNT(briefs); i++) {
        b = a, b.short_ms = briefs[i][0], b.share = briefs[i][1];
        says(&b, "-*", "a short window or a share that cannot be", "claim", "0", "n", "m:0:A",
             NULL);
    }
    b = a, b.pid_min = 3;
    says(&b, "-*", "an empty range", "claim", "0", "n", "m:0:A", NULL);
    b = a, b.pid_max = 65536;
    says(&b, "-*", "pids of more than two bytes", "claim", "0", "n", "m:0:A", NULL);
    has(&a, a.key, "0", "nil", "nothing was granted");
}

/* ---- permissions ---------------------------------------------------------- */

#define OURS "m:0:0123456789abcdef"

static const char *const least[] = {"+eval", "+info",   "+time", "+hmget", "+hget",
                                    "+hset", "+unlink", "+del",  "+get",   "+set"};

enum { LEAST = sizeof least / sizeof least[0] };

/* A connection of a user who has these rights but one (NULL: all), on these keys. */
static struct redis user(struct redis *r, const char *but, const char *keys) {
    const char *args[8 + LEAST] = {"ACL", "SETUSER", "app", "reset", "on", ">secret", keys};
    size_t n = 7;
    for (size_t i = 0; i < LEAST; i++)
        if (!but || strcmp(least[i], but) != 0)
            args[n++] = least[i];
    reply_free(redis_ask_n(r, n, args, NULL));
    struct redis u = *r;
    u.conn = NULL;
    redis_do(&u, "AUTH", "app", "secret", NULL);
    return u;
}

static void enough(struct redis *r) {
    struct app a = app_new(r);
    a.registration = 1;
    redis_do(r, "SET", "sfid:{app}:\1\1", "foreign", NULL);
    a.pid_min = a.pid_max = 257;
    struct redis u = user(r, NULL, "~sfid:*");
    a.redis = &u;
    says(&a, "OK none - - - 258 257 foreign - foreign", "the least rights: look", "look", "257",
         NULL);
    says(&a, "OK", "init", "init", "", NULL);
    redis_do(r, "DEL", "sfid:{app}:\1\1", NULL);
    says(&a, "OK 1000000 1000010 257", "claim", "claim", "257", "n", OURS, NULL);
    says(&a, "OK 1000010 1000010 257", "renew", "renew", "257", "n", OURS, "n1", "1000010", NULL);
    says(&a, "OK", "release", "release", "257", "n1", OURS, "", "1000001", "1000010", NULL);
    resp_close(u.conn);
}

/* Is pid (below 256) registered? */
static int64_t registrations(struct redis *r, char pid) {
    const char key[] = {'s', 'f', 'i', 'd', ':', '{', 'a', 'p', 'p', '}', ':', pid, 0};
    return strtoll(
        redis_text_n(r, 2, (const char *const[]){"EXISTS", key}, (const size_t[]){6, sizeof key}),
        NULL, 10);
}

/* One right is missing: what is asked for until that is noticed, and how it is told. */
static void missing(struct redis *r) {
    static const struct {
        const char *right, *want, *op;
    } cases[] = {
        {"+eval", "-NOPERM *", "claim"},
        {"+time", "DENIED time command", "claim"},
        {"+hmget", "DENIED hmget command", "claim"},
        {"+info", "DENIED info command", "claim"},
        {"+hset", "DENIED hset command", "claim"},
        {"+get", "DENIED get command", "claim"},
        {"+set", "DENIED set command", "claim"},
        {"+hget", "DENIED hget command", "renew"},
        {"+get", "DENIED get command", "renew"},
        {"+set", "DENIED set command", "renew"},
        {"+hset", "DENIED hset command", "renew"},
        {"+hset", "DENIED hset command", "init"},
        {"+set", "DENIED set command", "release"},
    };
    struct app a;
    char name[100];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        a = app_ready(r);
        a.registration = 1;
        app_say(&a, "claim", "0", "n", OURS, NULL);
        struct redis u = user(r, cases[i].right, "~sfid:*");
        a.redis = &u;
        const bool claims = strcmp(cases[i].op, "claim") == 0,
                   inits = strcmp(cases[i].op, "init") == 0;
        snprintf(name, sizeof name, "without %s: %s", cases[i].right, cases[i].op);
        if (claims || inits)
            says(&a, cases[i].want, name, cases[i].op, claims ? "0" : "", "n", "m:0:B", NULL);
        else
            says(&a, cases[i].want, name, cases[i].op, "0", "n", OURS, "n1", "1000010", "1000010",
                 NULL);
        resp_close(u.conn);
        a.redis = r;
        has(&a, a.key, "1", "nil", "and nothing is granted");
        is_i64(registrations(r, 1), 0, "nor registered");
    }
}

/* A new era unlinks the hash, or deletes it: without both rights, what is to be forgotten stays. */
static void missing_unlink(struct redis *r) {
    struct app a = app_new(r), b;
    struct redis u = user(r, "+unlink", "~sfid:*");
    a.redis = &u;
    redis_do(r, "HSET", a.key, "1", "00001000010 n m:0:A", NULL);
    says(&a, "RETRY 1000013 1000013", "without +unlink: +del will do", "claim", "0", "n", "m:0:B",
         NULL);
    has(&(struct app){.redis = r, .about = ""}, a.key, "1", "nil", "all is forgotten");
    resp_close(u.conn);
    b = app_new(r);
    redis_do(r, "HSET", b.key, "1", "00001000010 n m:0:A", NULL);
    u = user(r, "+del", "~sfid:*");
    b.redis = &u;
    says(&b, "RETRY 1000013 1000013", "without +del: +unlink will do", "claim", "0", "n", "m:0:B",
         NULL);
    has(&(struct app){.redis = r, .about = ""}, b.key, "1", "nil", "all is forgotten");
    resp_close(u.conn);
    redis_do(r, "FLUSHALL", NULL);
    reply_free(redis_ask(r, "ACL", "SETUSER", "app", "-unlink", NULL));
    u.conn = NULL;
    redis_do(&u, "AUTH", "app", "secret", NULL);
    refused(&b, "DENIED del command", "without either");
    resp_close(u.conn);
}

/* A release deletes a registration that has nothing left to say, and needs +del for that. */
static void missing_del(struct redis *r) {
    struct app a = app_ready(r);
    a.registration = 1;
    app_say(&a, "claim", "0", "n", OURS, NULL);
    struct redis u = user(r, "+del", "~sfid:*");
    a.redis = &u;
    says(&a, "DENIED del command", "without +del: release", "release", "0", "n", OURS, "", "999990",
         "1000010", NULL);
    resp_close(u.conn);
    a.redis = r;
    has(&a, a.key, "0", "00000999990", "but the pid is released");
}

static void missing_keys(struct redis *r) {
    struct app a = app_ready(r);
    struct redis u = user(r, NULL, "~other:*");
    a.redis = &u;
    says(&a, "-NOPERM *", "a key that is not permitted", "claim", "0", "n", OURS, NULL);
    resp_close(u.conn);
    u = user(r, NULL, "~sfid:{app}");
    says(&a, "OK 1000000 1000010 0", "the hash alone is permitted: enough without registration",
         "claim", "0", "n", OURS, NULL);
    a.registration = 1;
    says(&a, "DENIED get key", "not enough with it", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "DENIED get key", "nor to renew", "renew", "0", "n", OURS, "n1", "1000010", NULL);
    resp_close(u.conn);
}

static void test(struct redis *r) {
    epoch(r);
    skew(r);
    layout(r);
    no_info(r);
    errors(r);
    old_server(r);
    mistakes(r);
    enough(r);
    missing(r);
    missing_unlink(r);
    missing_del(r);
    missing_keys(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
