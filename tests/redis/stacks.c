/* SPDX-License-Identifier: MIT */
/*
 * What sentinels.h and clusters.h promise to the tests that rest on them: masters that change when
 * they should, and slots that do, with all that they have.
 *
 * Sizes: one server (long: each).
 */
#include "support/clusters.h"
#include "support/sentinels.h"

/* How long a master may be silent before it counts as down: long, so that none is by mistake;
 * short, where one is to. */
enum { LONG_MS = 30000, SHORT_MS = 1000 };

static bool has(struct redis *r, const char *key, const char *want) {
    return strcmp(redis_text(r, "GET", key, NULL), want) == 0;
}

static void sentinels_down_after(struct sentinels *s, unsigned ms) {
    char text[16];
    snprintf(text, sizeof text, "%u", ms);
    for (int i = 0; i < SENTINELS; i++)
        redis_do(&s->sentinel[i], "SENTINEL", "SET", "main", "down-after-milliseconds", text, NULL);
}

static void test_sentinels(const char *program) {
    struct sentinels s;
    sentinels_start(&s, program, LONG_MS);
    is_i64(s.master, 0, "%s: the first one is master", program);
    redis_do(&s.node[0], "SET", "a", "b", NULL);
    ok(sentinels_whole(&s, TAP_WAIT_MS), "%s: the others follow", program);
    redis_kill(&s.node[0]);
    sentinels_down_after(&s, SHORT_MS);
    const int second = sentinels_next(&s, TAP_WAIT_MS);
    ok(second > 0 && has(&s.node[second], "a", "b"),
       "%s: killed, another one takes its place with all it had", program);
    sentinels_down_after(&s, LONG_MS);
    redis_restart(&s.node[0], true);
    ok(sentinels_whole(&s, TAP_WAIT_MS) && s.master == second, "%s: back, it follows", program);
    const int third = sentinels_fail_over(&s, TAP_WAIT_MS);
    ok(third >= 0 && third != second, "%s: told to, they choose another one", program);
    redis_kill(&s.sentinel[1]);
    sentinels_restart(&s, 1);
    ok(sentinels_whole(&s, TAP_WAIT_MS) && sentinels_named_by(&s, 1) == third,
       "%s: a sentinel comes back with what it knew", program);
    sentinels_end(&s);
}

/* While a slot is on its way, each of its two nodes says so. */
static void see_move(void *arg, int step) {
    const char *line = redis_text(arg, "GET", "{tag}", NULL);
    ok(step != CLUSTER_ALL ? strcmp(line, "b") == 0 : strncmp(line, "-ASK ", 5) == 0,
       "on its way, step %d: %s", step, line);
}

/* Whether replicas take no place unless they are told: a master may count as down because the
 * machine stood still. */
static void replicas_wait(struct cluster *c, bool wait) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        redis_do(&c->node[i], "CONFIG", "SET", "cluster-replica-no-failover", wait ? "yes" : "no",
                 NULL);
}

struct change {
    struct cluster *c;
    int owner;
    const char *way;
};

static bool is_told(void *arg) {
    const struct change *w = arg;
    return cluster_fail_over(w->c, cluster_replica(w->c, w->owner), w->way);
}

/* The replica gives up a failover that has taken 5 s, and nobody is told: it is asked again.
 * Returns the next owner, or -1. */
static int fail_over(struct cluster *c, int slot, int owner, const char *way, bool *agrees) {
    enum { TRIES = 6, EACH_MS = 10000 };
    int next = -1;
    for (int i = 0; next < 0 && i < TRIES; i++) {
        *agrees = cluster_whole(c, slot, TAP_WAIT_MS) &&
                  tap_wait_until(is_told, &(struct change){c, owner, way}, TAP_WAIT_MS);
        next = cluster_next_owner(c, slot, owner, EACH_MS);
    }
    return next;
}

static void test_cluster(const char *program) {
    static const char *const ways[] = {"PLAIN", "FORCE", "TAKEOVER"};
    struct cluster c;
    cluster_start(&c, program, SHORT_MS);
    replicas_wait(&c, true);
    const int slot = cluster_slot(&c, "{tag}");
    int owner = cluster_owner(&c, slot);
    redis_do(&c.node[owner], "SET", "{tag}", "b", NULL);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        bool agrees;
        const int next = fail_over(&c, slot, owner, ways[i], &agrees);
        need(next >= 0, "%s: failover %s: nobody takes the place of node %d", program, ways[i],
             owner);
        ok(agrees && has(&c.node[next], "{tag}", "b"), "%s: failover %s", program, ways[i]);
        owner = next;
    }
    ok(cluster_whole(&c, slot, TAP_WAIT_MS), "%s: all is well again", program);
    const int to = cluster_other_master(&c, owner);
    cluster_move(&c, slot, owner, to, see_move, &c.node[owner]);
    ok(cluster_owner(&c, slot) == to && has(&c.node[to], "{tag}", "b"),
       "%s: a slot moves with its keys", program);
    replicas_wait(&c, false);
    redis_kill(&c.node[to]);
    const int next = cluster_next_owner(&c, slot, to, TAP_WAIT_MS);
    ok(next >= CLUSTER_MASTERS && has(&c.node[next], "{tag}", "b"),
       "%s: killed, its replica takes its place", program);
    cluster_end(&c);
}

int main(void) {
    const char *programs[8];
    const size_t n = redis_installed_ones(programs, 8);
    for (size_t i = 0; i < n && (i == 0 || getenv("SFID_TEST_LONG")); i++) {
        test_sentinels(programs[i]);
        test_cluster(programs[i]);
    }
    return done_testing();
}
