/* SPDX-License-Identifier: MIT */
#include "support/clusters.h"

enum { SLOTS = 16384 };

/* ---- the nodes' view ---------------------------------------------------- */

int cluster_slot(struct cluster *c, const char *key) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        if (c->node[i].pid != 0)
            return (int)redis_do(&c->node[i], "CLUSTER", "KEYSLOT", key, NULL);
    return -1;
}

/* Returns the node that serves a slot, according to one node; -1: none of ours. */
static int owner_by(struct cluster *c, int node, int slot) {
    int owner = -1;
    struct reply *reply = redis_ask(&c->node[node], "CLUSTER", "SLOTS", NULL);
    for (size_t i = 0; reply->type == '*' && i < reply->count; i++) {
        const struct reply *range = &reply->list[i];
        if (range->count < 3 || slot < range->list[0].number || slot > range->list[1].number)
            continue;
        for (int k = 0; k < CLUSTER_NODES; k++)
            if (range->list[2].list[1].number == c->node[k].port)
                owner = k;
    }
    reply_free(reply);
    return owner;
}

int cluster_owner(struct cluster *c, int slot) {
    int owner = -1;
    for (int i = 0; i < CLUSTER_NODES; i++) {
        if (c->node[i].pid == 0 || owner_by(c, i, slot) != i)
            continue;
        if (owner >= 0)
            return -1;
        owner = i;
    }
    return owner;
}

/* Between two looks the master may have written more, so a replica is not in step at each
 * moment. */
struct replica_wait {
    struct cluster *c;
    int master, replica;
};

static bool has_replica(void *arg) {
    struct replica_wait *w = arg;
    for (int i = 0; i < CLUSTER_NODES && w->replica < 0; i++)
        if (i != w->master && w->c->node[i].pid != 0 &&
            redis_in_step(&w->c->node[i], &w->c->node[w->master]))
            w->replica = i;
    return w->replica >= 0;
}

int cluster_replica(struct cluster *c, int master) {
    struct replica_wait w = {c, master, -1};
    need(tap_wait_until(has_replica, &w, STACK_WAIT_MS), "node %d has no replica in step with it",
         master);
    return w.replica;
}

int cluster_other_master(struct cluster *c, int master) {
    for (int i = 0; i < CLUSTER_MASTERS; i++) {
        const int owner = cluster_owner(c, SLOTS * i / CLUSTER_MASTERS);
        if (owner >= 0 && owner != master)
            return owner;
    }
    return -1;
}

/* ---- health ------------------------------------------------------------- */

static bool says_well(struct redis *r) {
    return strstr(redis_text(r, "CLUSTER", "INFO", NULL), "cluster_state:ok") != NULL;
}

struct slot_wait {
    struct cluster *c;
    int slot, other_than, owner;
};

static bool all_agree(void *arg) {
    struct slot_wait *w = arg;
    w->owner = cluster_owner(w->c, w->slot);
    if (w->owner < 0 || w->owner == w->other_than)
        return false;
    for (int i = 0; i < CLUSTER_NODES; i++)
        if (w->c->node[i].pid != 0 &&
            (owner_by(w->c, i, w->slot) != w->owner || !says_well(&w->c->node[i])))
            return false;
    return true;
}

int cluster_next_owner(struct cluster *c, int slot, int other_than, unsigned limit_ms) {
    struct slot_wait w = {c, slot, other_than, -1};
    return tap_wait_until(all_agree, &w, limit_ms) ? w.owner : -1;
}

/* Returns whether each running replica follows a running node. */
static bool whole(void *arg) {
    struct slot_wait *w = arg;
    char role[16], port[16];
    if (!all_agree(arg))
        return false;
    for (int i = 0; i < CLUSTER_NODES; i++) {
        struct redis *r = &w->c->node[i];
        bool followed = false;
        if (r->pid == 0 ||
            strcmp(redis_info(r, "replication", "role", role, sizeof role), "master") == 0)
            continue;
        redis_info(r, "replication", "master_port", port, sizeof port);
        for (int k = 0; k < CLUSTER_NODES; k++)
            followed = followed || (w->c->node[k].port == atoi(port) && w->c->node[k].pid != 0 &&
                                    redis_in_step(r, &w->c->node[k]));
        if (!followed)
            return false;
    }
    return true;
}

bool cluster_whole(struct cluster *c, int slot, unsigned limit_ms) {
    return tap_wait_until(whole, &(struct slot_wait){c, slot, -1, -1}, limit_ms);
}

/* ---- begin and end ------------------------------------------------------ */

/* Returns whether all nodes have met, and are past the handshake. */
static bool have_met(void *arg) {
    struct cluster *c = arg;
    for (int i = 0; i < CLUSTER_NODES; i++) {
        const char *nodes = redis_text(&c->node[i], "CLUSTER", "NODES", NULL);
        int lines = 0;
        for (const char *at = nodes; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        if (lines != CLUSTER_NODES || strstr(nodes, "handshake") || strstr(nodes, "noaddr"))
            return false;
    }
    return true;
}

static void meet(struct cluster *c) {
    for (int i = 0; i < CLUSTER_NODES; i++) {
        char epoch[8];
        snprintf(c->id[i], sizeof c->id[i], "%s", redis_text(&c->node[i], "CLUSTER", "MYID", NULL));
        snprintf(epoch, sizeof epoch, "%d", i + 1);
        redis_do(&c->node[i], "CLUSTER", "SET-CONFIG-EPOCH", epoch, NULL);
        if (i > 0)
            redis_do(&c->node[0], "CLUSTER", "MEET", "127.0.0.1", redis_port_text(&c->node[i]),
                     NULL);
    }
    need(tap_wait_until(have_met, c, STACK_WAIT_MS), "the nodes of a cluster do not meet");
}

/* One by one, as Redis 6.0 has no ranges. */
static void share_slots(struct cluster *c) {
    enum { AT_ONCE = 64, WORDS = 2 };
    char numbers[AT_ONCE][8];
    const char *args[WORDS + AT_ONCE] = {"CLUSTER", "ADDSLOTS"};
    size_t sizes[WORDS + AT_ONCE] = {7, 8};
    for (int i = 0; i < CLUSTER_MASTERS; i++) {
        int n = 0;
        for (int s = SLOTS * i / CLUSTER_MASTERS, end = SLOTS * (i + 1) / CLUSTER_MASTERS; s < end;
             s++) {
            sizes[WORDS + n] = (size_t)snprintf(numbers[n], sizeof numbers[n], "%d", s);
            args[WORDS + n] = numbers[n];
            if (++n == AT_ONCE || s + 1 == end) {
                redis_text_n(&c->node[i], WORDS + n, args, sizes);
                n = 0;
            }
        }
    }
}

void cluster_start(struct cluster *c, const char *program, unsigned node_timeout_ms) {
    char timeout[16];
    *c = (struct cluster){.url = ""};
    snprintf(timeout, sizeof timeout, "%u", node_timeout_ms);
    for (int i = 0; i < CLUSTER_NODES; i++)
        redis_start(&c->node[i], program, "node", REDIS_PORT, "--cluster-enabled", "yes",
                    "--cluster-node-timeout", timeout, "--cluster-replica-validity-factor", "0",
                    "--cluster-migration-barrier", "99", "--repl-backlog-ttl", "0", NULL);
    meet(c);
    share_slots(c);
    for (int i = CLUSTER_MASTERS; i < CLUSTER_NODES; i++)
        redis_do(&c->node[i], "CLUSTER", "REPLICATE", c->id[i - CLUSTER_MASTERS], NULL);
    snprintf(c->url, sizeof c->url, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
             c->node[0].port, c->node[1].port, c->node[2].port);
    for (int i = 0; i < CLUSTER_MASTERS; i++) {
        need(cluster_whole(c, SLOTS * i / CLUSTER_MASTERS, STACK_WAIT_MS),
             "%s: no cluster comes together", program);
        cluster_replica(c, i);
    }
}

void cluster_end(struct cluster *c) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        redis_kill(&c->node[i]);
}

/* ---- changes ------------------------------------------------------------ */

bool cluster_fail_over(struct cluster *c, int replica, const char *how) {
    struct redis *r = &c->node[replica];
    return strcmp(
               redis_text(r, "CLUSTER", "FAILOVER", strcmp(how, "PLAIN") == 0 ? NULL : how, NULL),
               "OK") == 0;
}

/* The key may expire meanwhile: NOKEY is fine. A key that was made anew on the other side is
 * replaced. */
static void move_key(struct cluster *c, const struct reply *key, int from, int to) {
    const char *const args[] = {
        "MIGRATE", "127.0.0.1", redis_port_text(&c->node[to]), key->text, "0", "5000", "REPLACE"};
    const size_t sizes[] = {7, 9, strlen(args[2]), key->size, 1, 4, 7};
    const char *said = redis_text_n(&c->node[from], 7, args, sizes);
    need(strcmp(said, "OK") == 0 || strcmp(said, "NOKEY") == 0, "a key does not move: %s", said);
}

/* Moves all keys of the slot; or all but the one with the shortest name. */
static void move_keys(struct cluster *c, const char *slot, int from, int to, bool all) {
    struct reply *keys = redis_ask(&c->node[from], "CLUSTER", "GETKEYSINSLOT", slot, "1000", NULL);
    size_t shortest = 0;
    for (size_t i = 1; keys->type == '*' && i < keys->count; i++)
        if (keys->list[i].size < keys->list[shortest].size)
            shortest = i;
    for (size_t i = 0; keys->type == '*' && i < keys->count; i++)
        if (all || i != shortest)
            move_key(c, &keys->list[i], from, to);
    reply_free(keys);
}

static bool is_empty(struct cluster *c, const char *slot, int node) {
    return redis_do(&c->node[node], "CLUSTER", "COUNTKEYSINSLOT", slot, NULL) == 0;
}

void cluster_move(struct cluster *c, int slot, int from, int to,
                  void (*midway)(void *arg, int step), void *arg) {
    char number[8];
    snprintf(number, sizeof number, "%d", slot);
    redis_do(&c->node[to], "CLUSTER", "SETSLOT", number, "IMPORTING", c->id[from], NULL);
    redis_do(&c->node[from], "CLUSTER", "SETSLOT", number, "MIGRATING", c->id[to], NULL);
    for (int step = CLUSTER_NONE; midway && step <= CLUSTER_ALL_BUT_ONE; step++) {
        midway(arg, step);
        move_keys(c, number, from, to, false);
    }
    do
        move_keys(c, number, from, to, true);
    while (!is_empty(c, number, from));
    if (midway)
        midway(arg, CLUSTER_ALL);
    redis_do(&c->node[to], "CLUSTER", "SETSLOT", number, "NODE", c->id[to], NULL);
    redis_do(&c->node[from], "CLUSTER", "SETSLOT", number, "NODE", c->id[to], NULL);
    need(cluster_next_owner(c, slot, from, STACK_WAIT_MS) == to, "slot %d does not move", slot);
}
