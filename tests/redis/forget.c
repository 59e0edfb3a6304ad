/* SPDX-License-Identifier: MIT */
/*
 * Whenever the server may have forgotten something, everything is forgotten: the hash gone, the
 * server started anew, from nothing or an old file, a replica promoted, a master of former days
 * back in its role.
 */
#include "support/app.h"

/* Two leases, on pids 0 and 1; the second is on file only if it was saved after. */
static struct app two_leases(struct redis *r, bool save_between) {
    struct app a = app_ready(r);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    if (save_between)
        redis_do(r, "SAVE", NULL);
    app_say(&a, "claim", "0", "n", "m:0:B", NULL);
    return a;
}

/* T0 + 1, all forgotten: the holders go on, and nobody else begins before all that was granted has
 * run out. */
static void all_forgotten(struct app *a, const char *how) {
    char about[200], era_before[sizeof a->era];
    snprintf(about, sizeof about, "%s: ", how);
    a->about = about;
    memcpy(era_before, a->era, sizeof era_before);
    app_at(a, T0 + 1, 0);
    says(a, "RETRY 1000014 1000014", "claims wait", "claim", "0", "n", "m:0:C", NULL);
    ok(strcmp(era_before, a->era) != 0, "%s: told by another era", how);
    says(a, "OK 1000010 1000011 1", "a holder goes on", "renew", "1", "n", "m:0:B", "n1", "1000010",
         NULL);
    says(a, "OK 1000010 1000011 0", "so does the other", "renew", "0", "n", "m:0:A", "n1",
         "1000010", NULL);
    says(a, "GONE 1000014", "not one whose limit shows nothing", "renew", "2", "n", "m:0:D", "n1",
         "1000003", NULL);
    app_at(a, T0 + 13, 999);
    says(a, "RETRY 1000014 1000014", "1 ms before q", "claim", "0", "n", "m:0:C", NULL);
    app_at(a, T0 + 14, 0);
    says(a, "OK 1000014 1000024 0", "at q", "claim", "0", "n", "m:0:C", NULL);
    a->about = "";
}

/* A file knows of a nonce shown since, and of a release, only what was so then. */
static void old_file(struct redis *r) {
    struct app a = two_leases(r, false);
    says(&a, "OK", "a lease is given back", "release", "1", "n", "m:0:B", "", "1000001", "1000010",
         NULL);
    redis_do(r, "SAVE", NULL);
    says(&a, "OK 1000001 1000010 1", "after that its pid is another's", "claim", "1", "n", "m:0:C",
         NULL);
    says(&a, "OK 1000010 1000010 0", "and a holder has shown another nonce", "renew", "0", "n",
         "m:0:A", "n1", "1000010", NULL);
    redis_restart(r, false);
    app_at(&a, T0 + 2, 0);
    says(&a, "RETRY 1000015 1000015", "the old file does not free the pid", "claim", "1", "n",
         "m:0:D", NULL);
    says(&a, "OK 1000010 1000012 0", "nor does it make the holder a copy", "renew", "0", "n1",
         "m:0:A", "n2", "1000010", NULL);
}

static void flushed(struct redis *r) {
    static const char *const damages[][2] = {{"q", NULL},  {"g", NULL}, {"b", NULL},   {"n", NULL},
                                             {"q", "nan"}, {"q", "-1"}, {"g", "0x10"}, {"g", "1e5"},
                                             {"n", "inf"}, {"b", "inf"}};
    struct app a = two_leases(r, false);
    redis_do(r, "FLUSHALL", NULL);
    all_forgotten(&a, "flushed");
    a = two_leases(r, false);
    redis_do(r, "DEL", a.key, NULL);
    all_forgotten(&a, "hash deleted");
    for (size_t i = 0; i < COUNT(damages); i++) {
        const char *field = damages[i][0], *value = damages[i][1];
        char how[100];
        a = two_leases(r, false);
        if (value)
            redis_do(r, "HSET", a.key, field, value, NULL);
        else
            redis_do(r, "HDEL", a.key, field, NULL);
        snprintf(how, sizeof how, "%s %s%s", field, value ? "is " : "deleted", value ? value : "");
        all_forgotten(&a, how);
    }
}

static void restarted(struct redis *r) {
    struct app a = two_leases(r, true);
    redis_restart(r, true);
    all_forgotten(&a, "restarted from nothing");
    a = two_leases(r, true);
    redis_restart(r, false);
    all_forgotten(&a, "restarted from an old file");
    a = two_leases(r, false);
    redis_do(r, "SAVE", NULL);
    redis_restart(r, false);
    all_forgotten(&a, "restarted from a file that has everything");
}

/* The same process: nothing is forgotten. */
static void remembered(struct redis *r) {
    struct app a = two_leases(r, false);
    char era[sizeof a.era];
    memcpy(era, a.era, sizeof era);
    resp_close(r->conn);
    r->conn = NULL;
    app_at(&a, T0 + 1, 0);
    says(&a, "OK 1000001 1000011 2", "another connection: all is known", "claim", "0", "n", "m:0:C",
         NULL);
    is_str(a.era, era, "and the era is the same");
    redis_do(r, "SCRIPT", "FLUSH", NULL);
    says(&a, "OK 1000010 1000011 0", "scripts forgotten: all is known", "renew", "0", "n", "m:0:A",
         "n1", "1000010", NULL);
}

/* The master grants what its replica never gets; the replica takes over; and later the old master
 * is made master again. */
static void failed_over(struct redis *r) {
    struct redis master, replica;
    struct app a, b;
    redis_start(&master, r->program, "master", REDIS_PORT | REDIS_CLOCK, NULL);
    redis_start(&replica, r->program, "replica", REDIS_PORT | REDIS_CLOCK, NULL);
    a = app_ready(&master);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    /* before Redis 7, a copy is made only when some time has passed */
    redis_clock_offset(&master, 0);
    redis_replicate(&replica, &master);
    app_at(&a, T0, 0);
    b = a;
    b.redis = &replica;
    app_at(&b, T0, 0);
    says(&b, "-READONLY *", "a replica grants nothing", "claim", "0", "n", "m:0:C", NULL);
    redis_pause(&replica);
    redis_do(&master, "CLIENT", "KILL", "TYPE", "replica", NULL);
    says(&a, "OK 1000010 1000010 0", "renewed on the master", "renew", "0", "n", "m:0:A", "n",
         "1000010", NULL);
    says(&a, "OK 1000000 1000010 1", "granted by the master, never replicated", "claim", "0", "n",
         "m:0:B", NULL);
    redis_pause(&master);
    redis_resume(&replica);
    redis_promote(&replica);
    has(&b, b.key, "1", "nil", "the replica misses a lease");
    memcpy(b.era, a.era, sizeof b.era);
    all_forgotten(&b, "failed over");
    redis_resume(&master);
    redis_do(&master, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(&master);
    has(&a, a.key, "1", "00001000010 n m:0:B", "the old master is back, as it was");
    all_forgotten(&a, "failed back");
    redis_kill(&master);
    redis_kill(&replica);
}

/* Old records that are written back are not believed: the server that wrote them was another, or in
 * another role. */
static void role_and_back(struct redis *r) {
    struct app a = two_leases(r, false);
    redis_do(r, "REPLICAOF", "127.0.0.1", "1", NULL);
    redis_promote(r);
    all_forgotten(&a, "demoted and promoted");
}

static void test(struct redis *r) {
    flushed(r);
    restarted(r);
    old_file(r);
    remembered(r);
    failed_over(r);
    role_and_back(r);
}

int main(void) { return for_each_server(REDIS_CLOCK, test); }
