/* SPDX-License-Identifier: MIT */
/*
 * Processes that lease from a cluster, while replicas take over in each way that they can, the
 * app's slot moves to another node, and nobody has it: no ID comes twice, and no call fails.
 *
 * Sizes: 16 processes on one server (long: 32 on each; sanitizer: 6).
 */
#include "support/fleet.h"

#include "support/clusters.h"

#define LAYOUT "39:6:14/10ms"
#define APP "{crowd}"

/* A failover may take its time: no window ends meanwhile. */
enum { TTL = 600000, HEARTBEAT = 1500, BUDGET = 4000, NODE_TIMEOUT_MS = 2000 };
/* The others have 5 s for their votes. */
enum { FAILOVERS = 24, VOTES_MS = 10000, IN_VAIN_MS = 1500, WAITED_MS = 500 };

struct scene {
    struct cluster c;
    struct crowd crowd;
    const char *program;
    char store[220];
    struct member *newcomer;
    int slot, owner, failed, from[CROWD_MOST]; /* failed: renewals so far; from: events so far */
};

/* Apps of one scene have pids of their own: what one of them draws the other must not. */
static sfid_options scene_options(const struct scene *s, const char *app) {
    sfid_options opt = fleet_lease(&s->c.node[0], app, TTL, HEARTBEAT);
    opt.store = s->store;
    opt.skew_budget_ms = BUDGET;
    if (strcmp(app, APP) == 0)
        opt.pid_max = 59;
    else
        opt.pid_min = 60;
    return opt;
}

static void scene_begin(struct scene *s, const char *program) {
    *s = (struct scene){.program = program};
    cluster_start(&s->c, program, NODE_TIMEOUT_MS);
    snprintf(s->store, sizeof s->store, "%s?timeout=20s&connect_timeout=5s", s->c.url);
    s->slot = cluster_slot(&s->c, "sfid:" APP);
    s->owner = cluster_owner(&s->c, s->slot);
    const sfid_options opt = scene_options(s, APP);
    crowd_begin(&s->crowd, program, (unsigned)sized(16, 32, 6), &opt);
}

static void whole(struct scene *s) {
    must(cluster_whole(&s->c, s->slot, STACK_WAIT_MS), "the cluster does not come together again");
}

/* ---- names ---------------------------------------------------------------------- */

/* Without a tag the keys of an app lie apart. */
static void test_tag(struct scene *s) {
    char off[260];
    sfid_options opt = scene_options(s, "untagged");
    struct member *m = members_new(2, &opt);
    snprintf(off, sizeof off, "%s&registration=off", s->store);
    m[1].opt.store = off;
    member_open_one(&m[0]);
    ok(m[0].rc < 0 && strstr(m[0].text, "{untagged}") && strstr(m[0].text, "registration=off"),
       "%s: an app without a tag is refused, with the cure: %s", s->program, m[0].text);
    is_i64(member_open_one(&m[1]), 0, "%s: without registration it is not", s->program);
    member_end(&m[0]);
    member_end(&m[1]);
}

/* ---- another node ------------------------------------------------------------------ */

static void test_failover(struct scene *s, const char *how) {
    whole(s);
    crowd_note(&s->crowd);
    const int64_t began = tap_now_ms();
    bool agrees = false;
    int next = -1;
    for (int i = 0; i < FAILOVERS && next < 0; i++) {
        if (cluster_owner(&s->c, s->slot) == s->owner)
            agrees = cluster_fail_over(&s->c, cluster_replica(&s->c, s->owner), how) || agrees;
        next = cluster_next_owner(&s->c, s->slot, s->owner, VOTES_MS);
    }
    need(next >= 0, "%s: no failover %s", s->program, how);
    ok(agrees && crowd_follows(&s->crowd), "%s, failover %s: everybody follows", s->program, how);
    crowd_is_well(&s->crowd, how);
    diag("figure: %s, failover %s: all have renewed at the next node after %" PRIi64 " ms",
         s->program, how, tap_now_ms() - began);
    s->owner = next;
}

static bool somebody_fails(void *arg) {
    const struct scene *s = arg;
    int failed = 0;
    for (unsigned i = 0; i < s->crowd.n; i++)
        failed += events_of(&s->crowd.m[i], SFID_EVENT_RENEW_FAILED);
    return failed > s->failed;
}

static void count_failed(struct scene *s) {
    s->failed = 0;
    for (unsigned i = 0; i < s->crowd.n; i++)
        s->failed += events_of(&s->crowd.m[i], SFID_EVENT_RENEW_FAILED);
}

/*
 * While it moves, the node that has the hash still grants what it finds all keys for. A script may
 * not use a key that is not there while its slot is moving: a newcomer has to wait for the end of
 * it. The other node grants nothing before it owns the slot, even if it has all keys.
 */
static void midway(void *arg, int step) {
    struct scene *s = arg;
    switch (step) {
    case CLUSTER_NONE:
        crowd_note(&s->crowd);
        member_open_in_vain(s->newcomer);
        ok(s->newcomer->rc == SFID_EREDIS && strstr(s->newcomer->text, "is moving the slot of app"),
           "%s, slot moving: who comes new is told to wait: %s", s->program, s->newcomer->text);
        lasted(s->newcomer->open, WAITED_MS, "%s, slot moving: and does", s->program);
        member_end(s->newcomer);
        ok(tap_wait_until(crowd_has_renewed, &s->crowd, TAP_WAIT_MS),
           "%s, slot moving: everybody renews where the keys are", s->program);
        break;
    case CLUSTER_ALL_BUT_ONE:
        count_failed(s);
        ok(tap_wait_until(somebody_fails, s, TAP_WAIT_MS),
           "%s, slot half moved: renewals have to wait", s->program);
        break;
    default:
        count_failed(s);
        crowd_note(&s->crowd);
        ok(tap_wait_until(somebody_fails, s, TAP_WAIT_MS),
           "%s, slot moving: the node that has all keys grants nothing yet", s->program);
    }
}

static void test_moved(struct scene *s) {
    const sfid_options opt = scene_options(s, APP);
    whole(s);
    s->newcomer = members_new(1, &opt);
    s->newcomer->opt.on_unknown = SFID_WAIT_OUT;
    s->newcomer->opt.open_timeout_ms = IN_VAIN_MS;
    const int to = cluster_other_master(&s->c, s->owner);
    cluster_move(&s->c, s->slot, s->owner, to, midway, s);
    ok(crowd_follows(&s->crowd), "%s, slot moved: everybody renews there", s->program);
    crowd_is_well(&s->crowd, "slot moved");
    s->owner = to;
}

/* ---- nobody ------------------------------------------------------------------------- */

static bool says_down(void *arg) {
    const struct scene *s = arg;
    for (unsigned i = 0; i < s->crowd.n; i++) {
        const struct member *m = &s->crowd.m[i];
        for (int k = s->from[i]; k < atomic_load(&m->events) && k < EVENTS_KEPT; k++)
            if (m->seen[k].kind == SFID_EVENT_RENEW_FAILED &&
                strstr(m->seen[k].text, "CLUSTERDOWN"))
                return true;
    }
    return false;
}

/* Its only replica is dead when the owner dies: until one of them is back, nobody has the slot. */
static void test_down(struct scene *s) {
    whole(s);
    const int replica = cluster_replica(&s->c, s->owner);
    crowd_note(&s->crowd);
    for (unsigned i = 0; i < s->crowd.n; i++)
        s->from[i] = atomic_load(&s->crowd.m[i].events);
    redis_kill(&s->c.node[replica]);
    redis_kill(&s->c.node[s->owner]);
    ok(tap_wait_until(says_down, s, TAP_WAIT_MS), "%s, nobody has the slot: told", s->program);
    redis_restart(&s->c.node[s->owner], true);
    redis_restart(&s->c.node[replica], true);
    ok(crowd_follows(&s->crowd), "%s, back with nothing: everybody goes on", s->program);
    crowd_is_well(&s->crowd, "back with nothing");
    whole(s);
    s->owner = cluster_owner(&s->c, s->slot);
}

/* The owner dies; and a seed that is down, and one that has not the slot, lead to who has it
 * then. */
static void test_killed(struct scene *s) {
    char seeds[120];
    const sfid_options opt = scene_options(s, "untagged");
    struct member *m = members_new(1, &opt);
    const int former = s->owner;
    crowd_note(&s->crowd);
    redis_kill(&s->c.node[former]);
    s->owner = cluster_next_owner(&s->c, s->slot, former, STACK_WAIT_MS);
    ok(s->owner >= 0 && crowd_follows(&s->crowd),
       "%s, owner killed: everybody follows to its replica", s->program);
    crowd_is_well(&s->crowd, "owner killed");
    const int other = cluster_other_master(&s->c, s->owner);
    snprintf(seeds, sizeof seeds, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d?registration=off",
             s->c.node[former].port, s->c.node[other].port);
    m->opt.store = seeds;
    is_i64(member_open_one(m), 0, "%s: a seed that is down does not matter: %s", s->program,
           m->text);
    member_end(m);
}

/* ---- all ----------------------------------------------------------------------------- */

static void test_cluster(const char *program) {
    struct scene s;
    scene_begin(&s, program);
    test_tag(&s);
    test_moved(&s);
    test_failover(&s, "PLAIN");
    test_failover(&s, "TAKEOVER");
    test_failover(&s, "FORCE");
    test_down(&s);
    test_killed(&s);
    crowd_end(&s.crowd);
    cluster_end(&s.c);
    judge(LAYOUT, "per-file", UINT64_MAX, "in a cluster");
}

int main(void) {
    fleet_begin(LAYOUT);
    for (size_t i = 0; i < servers.n && (i == 0 || getenv("SFID_TEST_LONG")); i++)
        test_cluster(servers.installed[i]);
    return done_testing();
}
