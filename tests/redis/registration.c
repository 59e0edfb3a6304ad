/* SPDX-License-Identifier: MIT */
/*
 * Registrations: what other programs see of a held pid and what they put there, in a key of its
 * own. To the script they prove nothing; but a pid that somebody else has registered is passed
 * over.
 */
#include "support/app.h"

/* Bases of ours, and what else may stand in the place of one. */
#define A "host-a1:3:00000000000000aa"
#define B "m:0:00000000000000BB"
#define C "m:0:00000000000000cc"

/* A command on the registration of a pid, with up to five arguments after it; the reply in one
 * line. */
static const char *on(struct app *a, int pid, const char *command, const char *const *more) {
    char key[100];
    const char *args[8] = {command, key};
    size_t sizes[8] = {strlen(command)}, n = 2;
    sizes[1] = (size_t)snprintf(key, sizeof key - 2, "%s:", a->key) + 2;
    key[sizes[1] - 2] = (char)(pid & 255);
    key[sizes[1] - 1] = (char)(pid >> 8);
    for (; more && *more; more++, n++) {
        args[n] = *more;
        sizes[n] = strlen(*more);
    }
    return redis_text_n(a->redis, n, args, sizes);
}

static void shows(struct app *a, int pid, const char *want, const char *name) {
    is_str(on(a, pid, "GET", NULL), want, "%s", name);
}

/* As a program without the hash does it. */
static const char *set_nx(struct app *a, int pid, const char *who) {
    return on(a, pid, "SET", (const char *const[]){who, "EX", "600", "NX", NULL});
}

static struct app start(struct redis *r) {
    struct app a = app_ready(r);
    a.registration = 1;
    return a;
}

/* The clock stands still: to the millisecond. */
static void ends_at(struct app *a, int pid, int64_t tick, const char *name) {
    char want[24];
    snprintf(want, sizeof want, "%" PRId64, a->epoch + tick * a->unit - a->now);
    is_str(on(a, pid, "PTTL", NULL), want, "%s", name);
}

static void written(struct redis *r) {
    struct app a = start(r);
    app_say(&a, "claim", "0", "n", A, NULL);
    shows(&a, 0, A, "a claim registers");
    ends_at(&a, 0, T0 + 12, "until S past the limit");
    is_str(set_nx(&a, 0, "other:0:X"), "nil", "another program finds it there");
    app_at(&a, T0 + 2, 500);
    app_say(&a, "renew", "0", "n", A, "n1", "1000010", NULL);
    ends_at(&a, 0, T0 + 14, "a renewal prolongs it");
    on(&a, 0, "DEL", NULL);
    says(&a, "OK 1000012 1000012 0", "lost, it changes nothing", "renew", "0", "n1", A, "n2",
         "1000012", NULL);
    shows(&a, 0, A, "and is there again");
    on(&a, 0, "DEL", NULL);
    says(&a, "OK 1000002 1000012 1", "lost, it frees no pid", "claim", "0", "n", B, NULL);
    app_say(&a, "renew", "0", "n2", A, "n3", "1000012", NULL);
    says(&a, "OK", "released", "release", "0", "n3", A, "", "1000003", "1000010", NULL);
    shows(&a, 0, A, "a release leaves it");
    ends_at(&a, 0, T0 + 5, "until S past the position");
    app_at(&a, T0 + 5, 1);
    is_str(set_nx(&a, 0, "other:0:X"), "OK", "then another program may come");
    app_say(&a, "claim", "1", "n", C, NULL);
    app_at(&a, T0 + 6, 0);
    says(&a, "OK", "released with a position that is S ago", "release", "2", "n", C, "", "1000004",
         "1000015", NULL);
    shows(&a, 2, "nil", "which deletes it");
    app_at(&a, T0 + 2, 500);
    a.pid_max = 1000;
    says(&a, "OK 1000002 1000012 513", "pid 513", "claim", "513", "n", C, NULL);
    is_i64(redis_do(r, "EXISTS", "sfid:{app}:\1\2", NULL), 1, "its registration: low byte first");
}

static void foreign(struct redis *r) {
    struct app a = start(r);
    is_str(set_nx(&a, 0, "other:0:X"), "OK", "another program takes a pid");
    says(&a, "OK 1000000 1000010 1 0", "it is passed over, and named", "claim", "0", "n", A, NULL);
    shows(&a, 0, "other:0:X", "and not overwritten");
    on(&a, 2, "RPUSH", (const char *const[]){"what", NULL});
    says(&a, "RETRY 1000004 0 *", "nor is one of another type: worth a look in a third of a window",
         "claim", "0", "n", B, NULL);
    is_str(on(&a, 2, "TYPE", NULL), "list", "which stays as well");
    on(&a, 0, "DEL", NULL);
    says(&a, "OK 1000000 1000010 0", "given up, it is to be had", "claim", "0", "n", B, NULL);
    static const char *const strangers[] = {"other:0:0123456789abcde", "other:0:0123456789abcdef0",
                                            "0123456789abcdef", "other:0:0123456789abcdeg", ""};
    for (size_t i = 0; i < COUNT(strangers); i++) {
        struct app b = start(r);
        b.pid_max = 0;
        set_nx(&b, 0, strangers[i]);
        says(&b, "RETRY 1000004 0 0", "no base of ours", "claim", "0", "n", A, NULL);
    }
    a = start(r);
    on(&a, 2, "RPUSH", (const char *const[]){"what", NULL});
    app_say(&a, "claim", "0", "n", A, NULL);
    app_say(&a, "claim", "0", "n", B, NULL);
    a.registration = 0;
    says(&a, "OK 1000000 1000010 2", "without registration nobody looks", "claim", "0", "n", C,
         NULL);
    is_str(on(&a, 2, "TYPE", NULL), "list", "or writes");
}

/* A registration of another in the place of ours: the hash says whose pid it is, the other's stays
 * when ours is given back. */
static void foreign_meanwhile(struct redis *r) {
    struct app a = start(r);
    app_say(&a, "claim", "0", "n", A, NULL);
    on(&a, 0, "SET", (const char *const[]){"other:0:X", NULL});
    says(&a, "OK 1000000 1000010 1 0", "our claim again: passed over all the same", "claim", "0",
         "n", A, NULL);
    says(&a, "OK", "our pid is released", "release", "0", "n", A, "", "1000001", "1000010", NULL);
    shows(&a, 0, "other:0:X", "the other's registration stays");
    says(&a, "OK 1000000 1000010 2 0", "and is passed over", "claim", "0", "n", B, NULL);
    app_at(&a, T0 + 1, 0);
    on(&a, 2, "SET", (const char *const[]){"other:0:Y", NULL});
    says(&a, "FOREIGN", "the next renewal stops the holder", "renew", "2", "n", B, "n1", "1000010",
         NULL);
    shows(&a, 2, "other:0:Y", "and registers nothing over it");
    has(&a, a.key, "2", "00001000010 ~ " B, "what was granted stays granted");
    says(&a, "LOST", "and is not renewed any more", "renew", "2", "n", B, "n1", "1000010", NULL);
    says(&a, "LOST", "nor given back", "release", "2", "n", B, "n1", "1000001", "1000010", NULL);
    on(&a, 2, "DEL", NULL);
    says(&a, "LOST", "also when the stranger is gone", "renew", "2", "n1", B, "n2", "1000010",
         NULL);
}

/* Another program comes by a pid whose holder was stopped for longer than its window. */
static void foreign_after(struct redis *r) {
    struct app a = start(r);
    app_say(&a, "claim", "0", "n", A, NULL);
    app_say(&a, "claim", "1", "n", B, NULL);
    app_at(&a, T0 + 11, 999);
    is_str(set_nx(&a, 0, "other:0:X"), "nil",
           "up to S past the window the registration keeps it away");
    app_at(&a, T0 + 12, 1);
    is_str(set_nx(&a, 0, "other:0:X"), "OK", "behind its end it does not");
    says(&a, "FOREIGN", "and the holder is late", "renew", "0", "n", A, "n1", "1000010", NULL);
    shows(&a, 0, "other:0:X", "the other's registration stays");
    says(&a, "OK 1000010 1000022 1", "where nobody came it goes on", "renew", "1", "n", B, "n1",
         "1000010", NULL);
}

/* What is left of a lease that has run out is no other program's. */
static void leftover(struct redis *r) {
    struct app a = start(r);
    app_say(&a, "claim", "0", "n", A, NULL);
    on(&a, 0, "PERSIST", NULL);
    app_at(&a, T0 + 10, 0);
    says(&a, "OK 1000010 1000020 0", "a lease that ran out, its registration still there", "claim",
         "0", "n", B, NULL);
    shows(&a, 0, B, "which is the next one's now");
    redis_do(r, "DEL", a.key, NULL);
    app_say(&a, "init", "", NULL);
    says(&a, "OK 1000010 1000020 0", "the hash lost: what is left of our own counts for nothing",
         "claim", "0", "n", C, NULL);
}

static void looked_at(struct redis *r) {
    struct app a = start(r);
    char want[200];
    app_say(&a, "claim", "0", "n", A, NULL);
    set_nx(&a, 1, "other:0:X");
    snprintf(want, sizeof want,
             "OK current 2 36:11:17/1000@1766361600000 10000 2000 0 1000003 3 %s",
             "0 held 1000010 " A " 1 foreign 1000600 other:0:X");
    says(&a, want, "held and foreign", "look", "0", NULL);
    on(&a, 1, "PERSIST", NULL);
    snprintf(want, sizeof want,
             "OK current 2 36:11:17/1000@1766361600000 10000 2000 0 1000003 3 %s",
             "0 held 1000010 " A " 1 foreign - other:0:X");
    says(&a, want, "foreign, without an end", "look", "0", NULL);
    a.registration = 0;
    says(&a, "OK current 2 36:11:17/1000@1766361600000 10000 2000 0 1000003 3 0 held 1000010 " A "",
         "without registration", "look", "0", NULL);
}

/* Redis before 6.2 knows no absolute time in SET. */
static void old_server(struct redis *r) {
    struct app a = start(r);
    a.prelude =
        "local real = redis\n"
        "local redis = {sha1hex = real.sha1hex, pcall = function(command, ...)\n"
        "if command == 'SET' and select(3, ...) == 'PXAT' then return {err = 'ERR syntax error'} end\n"
        "local reply = real.pcall(command, ...)\n"
        "if command == 'INFO' then reply = string.gsub(reply, 'redis_version:[%d.]*', 'redis_version:6.0.16') end\n"
        "return reply end}";
    app_at(&a, T0, 250);
    says(&a, "OK 1000000 1000010 0", "Redis 6.0: a claim", "claim", "0", "n", A, NULL);
    shows(&a, 0, A, "Redis 6.0: registers");
    ends_at(&a, 0, T0 + 12, "Redis 6.0: until S past the limit");
    says(&a, "OK", "Redis 6.0: a release", "release", "0", "n", A, "", "1000001", "1000010", NULL);
    ends_at(&a, 0, T0 + 3, "Redis 6.0: until S past the position");
}

/* ---- cluster -------------------------------------------------------------- */

static bool cluster_is_up(void *arg) {
    char line[2000];
    struct reply *reply = redis_ask(arg, "CLUSTER", "INFO", NULL);
    const bool up = strstr(reply_line(reply, line, sizeof line), "cluster_state:ok") != NULL;
    reply_free(reply);
    return up;
}

/* All of them, in the words that Redis before 7 knows. */
static void add_slots(struct redis *r) {
    static char names[16384][6];
    static const char *args[2 + 16384] = {"CLUSTER", "ADDSLOTS"};
    for (int i = 0; i < 16384; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        args[2 + i] = names[i];
    }
    reply_free(redis_ask_n(r, 2 + 16384, args, NULL));
}

static void cluster(const char *program) {
    struct redis r;
    struct app a;
    redis_start(&r, program, "cluster", REDIS_PORT | REDIS_CLOCK, "--cluster-enabled", "yes", NULL);
    add_slots(&r);
    redis_clock_offset(&r, 10000); /* for two seconds it would take no writes */
    need(tap_wait_until(cluster_is_up, &r, TAP_WAIT_MS), "the cluster does not come up");
    a = app_new(&r);
    a.registration = 1;
    says(&a, "RETRY 1000013 1000013", "cluster: a hash tag", "claim", "0", "n", A, NULL);
    app_say(&a, "init", "", NULL);
    says(&a, "OK 1000000 1000010 0", "cluster: granted", "claim", "0", "n", A, NULL);
    shows(&a, 0, A, "cluster: registered");
    a.key = "sfid:app";
    says(&a, "TAG", "cluster: no hash tag", "init", "", NULL);
    says(&a, "TAG", "cluster: no hash tag", "claim", "0", "n", A, NULL);
    is_i64(redis_do(&r, "EXISTS", a.key, NULL), 0, "cluster: nothing was written");
    a.key = "sfid:{}app";
    says(&a, "TAG", "cluster: an empty hash tag is none", "claim", "0", "n", A, NULL);
    a.registration = 0;
    says(&a, "RETRY 1000013 1000013", "cluster: without registration none is needed", "claim", "0",
         "n", A, NULL);
    redis_kill(&r);
}

static void test(struct redis *r) {
    written(r);
    foreign(r);
    foreign_meanwhile(r);
    foreign_after(r);
    leftover(r);
    looked_at(r);
    old_server(r);
    cluster(r->program);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
