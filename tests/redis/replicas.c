/* SPDX-License-Identifier: MIT */
/*
 * min_good: how many replicas have to be good before the script writes anything, whatever the
 * server itself asks for. And a replica that is set to take writes grants nothing, nor does one
 * behind it.
 */
#include "support/app.h"

static struct redis master, replica[2];

static bool are_good(void *arg) {
    char good[16];
    return strcmp(redis_info(&master, "replication", "min_slaves_good_slaves", good, sizeof good),
                  arg) == 0;
}

/* The server's own demand: so many, heard of in the last `lag` seconds. */
static void demands(const char *write, const char *lag) {
    redis_do(&master, "CONFIG", "SET", "min-replicas-to-write", write, NULL);
    redis_do(&master, "CONFIG", "SET", "min-replicas-max-lag", lag, NULL);
}

/* It has the app as its master has it. */
static bool follows(void *arg) {
    struct app theirs = *(struct app *)arg, ours = theirs;
    ours.redis = &master;
    char *want = app_contents(&ours), *got = app_contents(&theirs);
    const bool same = strcmp(got, want) == 0;
    free(want);
    free(got);
    return same;
}

static void refused(struct app *a, int min_good, const char *name) {
    char about[200];
    char *before = app_contents(a);
    snprintf(about, sizeof about, "%s, min_good %d: ", name, min_good);
    a->about = about, a->min_good = min_good;
    says(a, "-NOREPLICAS *", "claim", "claim", "0", "n", "m:0:A", NULL);
    says(a, "-NOREPLICAS *", "renew", "renew", "0", "n", "m:0:A", "n1", "99999999999", NULL);
    says(a, "-NOREPLICAS *", "init", "init", "", NULL);
    app_is_as(a, before, "nothing was written");
    says(a, "OK *", "it may be looked at", "look", "0", NULL);
    a->about = "";
}

/* With so many good replicas, by the server's count: NULL if it does not count. One that is late is
 * not good for a moment. */
static void granted(struct app *a, int min_good, const char *good, const char *name) {
    char init[64], claim[64];
    bool as_meant = false;
    a->min_good = min_good;
    for (int tries = 0; tries < 20 && !as_meant; tries++) {
        need(good == NULL || tap_wait_until(are_good, (char *)good, TAP_WAIT_MS),
             "%s: not %s good ones", name, good);
        redis_do(&master, "DEL", a->key, NULL);
        snprintf(init, sizeof init, "%s", app_say(a, "init", "", NULL));
        snprintf(claim, sizeof claim, "%s", app_say(a, "claim", "0", "n", "m:0:A", NULL));
        as_meant = good == NULL || are_good((char *)good);
    }
    is_str(init, "OK", "%s, min_good %d: init", name, min_good);
    ok(strncmp(claim, "OK ", 3) == 0, "%s, min_good %d: claim: %s", name, min_good, claim);
}

static void test(struct redis *r) {
    redis_start(&master, r->program, "master", REDIS_PORT, NULL);
    struct app a = app_new(&master);
    granted(&a, 0, NULL, "no replica, and none asked for");
    redis_do(&master, "DEL", a.key, NULL);
    refused(&a, 1, "no replica");
    for (int i = 0; i < 2; i++) {
        redis_start(&replica[i], r->program, "replica", REDIS_PORT, NULL);
        redis_replicate(&replica[i], &master);
    }
    refused(&a, 1, "two replicas, which the server does not count");
    demands("1", "3");
    granted(&a, 0, "2", "two good ones");
    has(&a, a.key, "lay", "2 36:11:17/1000@1766361600000 10000 2000", "the settings");
    granted(&a, 2, "2", "two good ones");
    has(&a, a.key, "lay", "2 36:11:17/1000@1766361600000 10000 2000 min 2", "the settings");
    redis_do(&master, "DEL", a.key, NULL);
    refused(&a, 3, "two good ones");
    redis_pause(&replica[0]);
    ok(tap_wait_until(are_good, (char[]){"1"}, TAP_WAIT_MS), "one is silent");
    granted(&a, 1, "1", "one good one");
    granted(&a, 0, "1", "one good one");
    redis_do(&master, "DEL", a.key, NULL);
    refused(&a, 2, "one good one, enough for the server");
    redis_pause(&replica[1]);
    ok(tap_wait_until(are_good, (char[]){"0"}, TAP_WAIT_MS), "both are silent");
    refused(&a, 1, "none is good");
    refused(&a, 0, "none is good");
    for (int i = 0; i < 2; i++)
        redis_kill(&replica[i]);
    redis_kill(&master);
}

static void grants_nothing(struct redis *r, const char *name) {
    struct app a = app_new(&master);
    char about[100], *before;
    snprintf(about, sizeof about, "%s: ", name);
    app_say(&a, "init", "", NULL);
    app_say(&a, "claim", "0", "n", "m:0:A", NULL);
    a.redis = r, a.about = about;
    need(tap_wait_until(follows, &a, TAP_WAIT_MS), "%s does not follow", name);
    before = app_contents(&a);
    says(&a, "-READONLY this server is a replica*", "a claim", "claim", "0", "n", "m:0:B", NULL);
    says(&a, "-READONLY this server is a replica*", "a renewal", "renew", "0", "n", "m:0:A", "n1",
         "99999999999", NULL);
    says(&a, "-READONLY this server is a replica*", "init", "init", "", NULL);
    says(&a, "OK *", "it may be looked at", "look", "0", NULL);
    app_is_as(&a, before, "nothing was written");
}

/* As replica-read-only no, and its replica again. */
static void writable(struct redis *r) {
    redis_start(&master, r->program, "above", REDIS_PORT, NULL);
    for (int i = 0; i < 2; i++) {
        redis_start(&replica[i], r->program, "below", REDIS_PORT, "--replica-read-only", "no",
                    NULL);
        redis_replicate(&replica[i], i == 0 ? &master : &replica[0]);
    }
    grants_nothing(&replica[0], "a replica that takes writes");
    grants_nothing(&replica[1], "and one that follows it");
    redis_promote(&replica[0]);
    struct app a = app_new(&replica[0]);
    says(&a, "OK", "as a master it does", "init", "", NULL);
    for (int i = 0; i < 2; i++)
        redis_kill(&replica[i]);
    redis_kill(&master);
}

static void both(struct redis *r) {
    test(r);
    writable(r);
}

int main(void) { return for_each_server(0, both); }
