/* SPDX-License-Identifier: MIT */
#include "support/sentinels.h"

/* ---- the sentinels' view ------------------------------------------------ */

/* Returns a value from a reply of names and values. */
static const char *named_value(const struct reply *list, const char *name) {
    for (size_t i = 0; list->type == '*' && i + 1 < list->count; i += 2)
        if (list->list[i].text && strcmp(list->list[i].text, name) == 0)
            return list->list[i + 1].text;
    return "";
}

static int node_of_port(const struct sentinels *s, const char *port) {
    for (int i = 0; i < SENTINEL_NODES; i++)
        if (s->node[i].port == atoi(port))
            return i;
    return -1;
}

int sentinels_named_by(struct sentinels *s, int sentinel) {
    struct reply *reply =
        redis_ask(&s->sentinel[sentinel], "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main", NULL);
    const int node =
        reply->type == '*' && reply->count == 2 ? node_of_port(s, reply->list[1].text) : -1;
    reply_free(reply);
    return node;
}

/* Returns the master that all sentinels name. */
static int named_by_all(struct sentinels *s) {
    int all = -1;
    for (int i = 0; i < SENTINELS; i++) {
        if (s->sentinel[i].pid == 0)
            continue;
        const int node = sentinels_named_by(s, i);
        if (node < 0 || (all >= 0 && node != all))
            return -1;
        all = node;
    }
    return all;
}

static bool is_master(struct sentinels *s, int node) {
    char role[16];
    return node >= 0 && s->node[node].pid != 0 &&
           strcmp(redis_info(&s->node[node], "replication", "role", role, sizeof role), "master") ==
               0;
}

/* Does not ask the former master, which may be stopped. */
static bool another_one(void *arg) {
    struct sentinels *s = arg;
    const int node = named_by_all(s);
    if (node == s->master || !is_master(s, node))
        return false;
    s->master = node;
    return true;
}

int sentinels_next(struct sentinels *s, unsigned limit_ms) {
    return tap_wait_until(another_one, s, limit_ms) ? s->master : -1;
}

/* ---- health ------------------------------------------------------------- */

static int running(const struct redis *all, int n) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += all[i].pid != 0;
    return count;
}

/* Returns whether a sentinel sees a healthy master, all running replicas and other sentinels, and a
 * quorum. */
static bool content(struct sentinels *s, int sentinel) {
    struct reply *reply = redis_ask(&s->sentinel[sentinel], "SENTINEL", "MASTER", "main", NULL);
    const bool well =
        strcmp(named_value(reply, "flags"), "master") == 0 &&
        atoi(named_value(reply, "num-slaves")) >= running(s->node, SENTINEL_NODES) - 1 &&
        atoi(named_value(reply, "num-other-sentinels")) >= running(s->sentinel, SENTINELS) - 1;
    reply_free(reply);
    return well && strncmp(redis_text(&s->sentinel[sentinel], "SENTINEL", "CKQUORUM", "main", NULL),
                           "OK", 2) == 0;
}

/* Returns whether a sentinel sees every running replica as healthy. */
static bool sees_replicas(struct sentinels *s, int sentinel) {
    struct reply *reply = redis_ask(&s->sentinel[sentinel], "SENTINEL", "REPLICAS", "main", NULL);
    int well = 0;
    for (size_t i = 0; reply->type == '*' && i < reply->count; i++)
        well += strcmp(named_value(&reply->list[i], "flags"), "slave") == 0 &&
                strcmp(named_value(&reply->list[i], "master-link-status"), "ok") == 0;
    reply_free(reply);
    return well >= running(s->node, SENTINEL_NODES) - 1;
}

static bool is_whole(void *arg) {
    struct sentinels *s = arg;
    const int master = named_by_all(s);
    if (!is_master(s, master))
        return false;
    s->master = master;
    for (int i = 0; i < SENTINEL_NODES; i++)
        if (i != master && s->node[i].pid != 0 && !redis_in_step(&s->node[i], &s->node[master]))
            return false;
    for (int i = 0; i < SENTINELS; i++)
        if (s->sentinel[i].pid != 0 && !(content(s, i) && sees_replicas(s, i)))
            return false;
    return true;
}

bool sentinels_whole(struct sentinels *s, unsigned limit_ms) {
    return tap_wait_until(is_whole, s, limit_ms);
}

/* ---- begin and end ------------------------------------------------------ */

/*
 * Older versions lack some of these settings and are then slower. Once a master is down, replicas
 * are asked each second. One is chosen only if it has answered within five ping-periods.
 */
static void hurry(struct redis *sentinel) {
    static const char *const often[][2] = {
        {"info-period", "200"},          {"ping-period", "300"},
        {"ask-period", "100"},           {"publish-period", "200"},
        {"election-timeout", "1000"},    {"min-link-reconnect-period", "200"},
        {"slave-reconf-timeout", "1000"}};
    for (size_t i = 0; i < sizeof often / sizeof often[0]; i++)
        reply_free(redis_ask(sentinel, "SENTINEL", "DEBUG", often[i][0], often[i][1], NULL));
}

static void set_timeout(struct redis *sentinel, const char *ms) {
    redis_do(sentinel, "SENTINEL", "SET", "main", "failover-timeout", ms, NULL);
}

static void watch(struct sentinels *s, struct redis *sentinel, unsigned down_ms) {
    char down[16];
    snprintf(down, sizeof down, "%u", down_ms);
    hurry(sentinel);
    redis_do(sentinel, "SENTINEL", "MONITOR", "main", "127.0.0.1", redis_port_text(&s->node[0]),
             "2", NULL);
    redis_do(sentinel, "SENTINEL", "SET", "main", "down-after-milliseconds", down, NULL);
    set_timeout(sentinel, "1000"); /* a retry comes after twice that */
    redis_do(sentinel, "SENTINEL", "SET", "main", "parallel-syncs", "3", NULL);
}

void sentinels_start(struct sentinels *s, const char *program, unsigned down_ms) {
    *s = (struct sentinels){.master = 0};
    for (int i = 0; i < SENTINEL_NODES; i++)
        redis_start(&s->node[i], program, "node", REDIS_PORT, "--repl-backlog-ttl", "0",
                    "--repl-ping-replica-period", "1", NULL);
    for (int i = 1; i < SENTINEL_NODES; i++)
        redis_replicate(&s->node[i], &s->node[0]);
    for (int i = 0; i < SENTINELS; i++) {
        redis_start(&s->sentinel[i], program, "sentinel", REDIS_PORT | REDIS_SENTINEL, NULL);
        watch(s, &s->sentinel[i], down_ms);
    }
    snprintf(s->url, sizeof s->url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/main",
             s->sentinel[0].port, s->sentinel[1].port, s->sentinel[2].port);
    need(sentinels_whole(s, STACK_WAIT_MS),
         "%s: master, replicas and sentinels do not come together", program);
}

void sentinels_restart(struct sentinels *s, int sentinel) {
    redis_restart(&s->sentinel[sentinel], false);
    hurry(&s->sentinel[sentinel]);
}

void sentinels_end(struct sentinels *s) {
    for (int i = 0; i < SENTINELS; i++)
        redis_kill(&s->sentinel[i]);
    for (int i = 0; i < SENTINEL_NODES; i++)
        redis_kill(&s->node[i]);
}

/* A sentinel refuses while it trusts no replica, or another failover is under way. */
static bool is_failing_over(void *arg) {
    struct sentinels *s = arg;
    for (int i = 0; i < SENTINELS; i++)
        if (s->sentinel[i].pid != 0 &&
            strcmp(redis_text(&s->sentinel[i], "SENTINEL", "FAILOVER", "main", NULL), "OK") == 0)
            return true;
    return false;
}

static void set_timeouts(struct sentinels *s, const char *ms) {
    for (int i = 0; i < SENTINELS; i++)
        if (s->sentinel[i].pid != 0)
            set_timeout(&s->sentinel[i], ms);
}

/* They call it off if the replica takes longer than failover-timeout: on a busy machine it does.
 * Then they are told again. */
int sentinels_fail_over(struct sentinels *s, unsigned limit_ms) {
    int next = -1;
    set_timeouts(s, "15000");
    for (int i = 0; i < 3 && next < 0 && tap_wait_until(is_failing_over, s, limit_ms); i++)
        next = sentinels_next(s, limit_ms / 3);
    set_timeouts(s, "1000");
    return next;
}
