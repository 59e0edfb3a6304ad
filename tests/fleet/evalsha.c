/* SPDX-License-Identifier: MIT */
/*
 * Servers that do not have the script any more, after SCRIPT FLUSH, a restart, a failover: the
 * question is sent again, whole, and then by its SHA-1 again. NOSCRIPT comes before anything runs,
 * so a release after it is done, and once. A user who may not use EVALSHA leases by EVAL, and by
 * EVALSHA again on a connection made after it is permitted; so does a server that has neither
 * EVALSHA nor CLIENT.
 */
#include "support/faults.h"

#define APP "sha"

enum { HEARTBEAT = 300, OPENS_MS = 3000 }; /* a window is of a minute */

/* Calls that ran, of one command. */
static int64_t ran(struct redis *r, const char *command) {
    char field[40], value[300];
    snprintf(field, sizeof field, "cmdstat_%s", command);
    const char *calls = strstr(redis_info(r, "commandstats", field, value, sizeof value), "calls=");
    const char *failed = strstr(value, ",failed_calls=");
    const int64_t n = calls ? strtoll(calls + strlen("calls="), NULL, 10) : 0;
    return n - (failed ? strtoll(failed + strlen(",failed_calls="), NULL, 10) : 0);
}

static bool renews_twice(struct member *m) {
    return member_had(m, SFID_EVENT_RENEWED, events_of(m, SFID_EVENT_RENEWED) + 2, TAP_WAIT_MS);
}

static struct member *sha_member(const char *app, const char *path) {
    struct member *m = member_at(app, -1, "unix://%s?timeout=20s", path);
    m->opt.ttl_ms = FLEET_TTL_MS; /* no renewal may fail, and a server is started within it */
    m->opt.on_unknown = SFID_TRUST;
    m->opt.heartbeat_ms = HEARTBEAT;
    m->opt.open_timeout_ms = m->opt.max_wait_ms = TAP_WAIT_MS;
    return m;
}

static void is_well(struct member *m, const char *what) {
    member_is_well(m, what);
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: nothing was lost", what);
}

/* ---- forgotten --------------------------------------------------------------- */

static void test_flushed(struct redis *r, struct member *m) {
    ok(renews_twice(m), "it renews");
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    ok(renews_twice(m), "and again");
    is_i64(ran(r, "eval"), 0, "by EVALSHA alone");
    const int failed = events_of(m, SFID_EVENT_RENEW_FAILED);
    redis_do(r, "SCRIPT", "FLUSH", NULL);
    ok(renews_twice(m), "SCRIPT FLUSH: it renews");
    is_i64(ran(r, "eval"), 1, "SCRIPT FLUSH: the script was sent once");
    is_i64(events_of(m, SFID_EVENT_RENEW_FAILED), failed, "SCRIPT FLUSH: no renewal failed");
}

static void test_restarted(struct redis *r, struct member *m) {
    redis_restart(r, true);
    ok(renews_twice(m), "restart: it renews");
    is_i64(ran(r, "eval"), 1, "restart: the script was sent once");
    is_well(m, "restart");
}

static void test_release(struct redis *r, struct member *m) {
    char record[RECORD];
    const int64_t pid = atomic_load(&m->pid);
    ok(renews_twice(m), "a release: from a holder that has just renewed");
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    redis_do(r, "SCRIPT", "FLUSH", NULL);
    is_i64(member_end(m), 0, "a release: the holder closes");
    is_i64(ran(r, "eval"), 1, "a release: the script was sent once");
    ok(is_released(record_of(r, APP, pid, record)), "a release: it was done");
    struct member *next = sha_member(APP, r->socket);
    next->opt.pid_min = next->opt.pid_max = pid;
    member_open_or_die(next);
    ok(member_draws(next, 10, TAP_WAIT_MS), "a release: the next one has the pid");
    in_time(next->open, OPENS_MS, "a release: at once");
    is_i64(member_end(next), 0, "a release: it ends well");
}

/* ---- a replica takes over -------------------------------------------------------- */

static void test_failover(const char *program) {
    struct redis master, replica;
    char link[160];
    redis_start(&master, program, "master", REDIS_PORT, NULL);
    redis_start(&replica, program, "replica", REDIS_PORT, NULL);
    snprintf(link, sizeof link, "%s/link", socket_dir());
    lead_to(link, master.socket);
    struct member *m = sha_member("over", link);
    m->opt.pid_min = 200; /* of all apps of this test each has its own */
    m->opt.pid_max = 229;
    member_open_or_die(m);
    redis_replicate(&replica, &master);
    ok(renews_twice(m), "failover: it renews");
    redis_do(&replica, "SCRIPT", "FLUSH", NULL);
    redis_promote(&replica);
    redis_do(&replica, "CONFIG", "RESETSTAT", NULL);
    lead_to(link, replica.socket);
    redis_kill(&master);
    ok(renews_twice(m), "failover: it renews at the replica");
    is_i64(ran(&replica, "eval"), 1, "failover: the script was sent once");
    is_well(m, "failover");
    is_i64(member_end(m), 0, "failover: ends well");
    redis_kill(&replica);
}

/* ---- a user without it --------------------------------------------------------------- */

static void test_user(struct redis *r) {
    char user[300];
    snprintf(user, sizeof user, "few:pass@%s", r->socket);
    redis_do(r, "ACL", "SETUSER", "few", "on", ">pass", "~sfid:*", "+@all", "-evalsha", NULL);
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    struct member *m = sha_member("user", user);
    m->opt.pid_min = 100;
    m->opt.pid_max = 199;
    member_open_or_die(m);
    ok(renews_twice(m), "without +evalsha: it renews");
    ok(ran(r, "eval") >= 3 && ran(r, "evalsha") == 0, "without +evalsha: by EVAL");
    is_i64(events_of(m, SFID_EVENT_RENEW_FAILED), 0, "without +evalsha: no renewal failed");
    redis_do(r, "ACL", "SETUSER", "few", "+evalsha", NULL);
    cut_clients(r);
    ok(renews_twice(m), "with it again: it renews");
    ok(ran(r, "evalsha") > 0, "with it again: on the next connection by EVALSHA");
    is_well(m, "without +evalsha");
    is_i64(member_end(m), 0, "without +evalsha: ends well");
}

/* ---- a server that knows neither ----------------------------------------------------------- */

/* As a proxy that has a list of what it passes on. */
static void test_unknown(const char *program) {
    struct redis r;
    redis_start(&r, program, "unknown", 0, "--rename-command", "EVALSHA", "hidden-1",
                "--rename-command", "CLIENT", "hidden-2", NULL);
    struct member *m = sha_member("unknown", r.socket);
    m->opt.pid_min = 230;
    m->opt.pid_max = 255;
    member_open_or_die(m);
    ok(renews_twice(m), "EVALSHA and CLIENT unknown: it renews");
    ok(ran(&r, "eval") >= 3, "EVALSHA and CLIENT unknown: by EVAL");
    is_i64(events_of(m, SFID_EVENT_RENEW_FAILED), 0,
           "EVALSHA and CLIENT unknown: no renewal failed");
    is_well(m, "EVALSHA and CLIENT unknown");
    is_i64(member_end(m), 0, "EVALSHA and CLIENT unknown: ends well");
    redis_kill(&r);
}

int main(void) {
    faults_begin();
    for (size_t i = 0; i < servers.n; i++) {
        struct redis r;
        redis_start(&r, servers.installed[i], "sha", 0, NULL);
        diag("%s", servers.installed[i]);
        struct member *m = sha_member(APP, r.socket);
        m->opt.pid_min = 1; /* with 0 and 0 the next one could have any */
        m->opt.pid_max = 99;
        member_open_or_die(m);
        test_flushed(&r, m);
        test_restarted(&r, m);
        test_release(&r, m);
        test_failover(servers.installed[i]);
        test_user(&r);
        test_unknown(servers.installed[i]);
        redis_kill(&r);
        judge(LAYOUT, "per-file", UINT64_MAX, servers.installed[i]);
    }
    return done_testing();
}
