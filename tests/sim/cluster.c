/* SPDX-License-Identifier: MIT */
/*
 * cluster.c - nodes of a cluster: who owns the app's slot, who believes so, and what a node says to
 * those who ask it for another's.
 *
 * A change of owner spreads: each node hears of it a while later. Nodes 0 to 2 are masters at
 * first, and one replica follows the owner. What the library and the script ask of a node is here:
 * MOVED, ASK, CLUSTERDOWN, and CLUSTER NODES.
 */
#include "sim.h"

enum { NODES = 4, SLOT = 3553 /* of the tag {sim} */ };

static struct stream *const dice = &streams.faults;
static unsigned owner, replica = NODES - 1, importing;
static uint64_t epoch[NODES];
static unsigned owner_by[NODES]; /* what each node believes */
static bool is_cluster, is_moving, key_is_there, fails_over;
static bool is_cut_off[NODES], is_down[NODES]; /* hears nothing; knows by now, and serves nobody */

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

/* ---- what a node says -------------------------------------------------------------------- */

static size_t refusal(unsigned node, char *out, size_t room) {
    if (is_down[node])
        return (size_t)snprintf(out, room, "-CLUSTERDOWN The cluster is down\r\n");
    if (owner_by[node] != node)
        return (size_t)snprintf(out, room, "-MOVED %d 10.0.0.%u:6379\r\n", SLOT,
                                owner_by[node] + 1);
    if (is_moving && key_is_there && node == owner)
        return (size_t)snprintf(out, room, "-ASK %d 10.0.0.%u:6379\r\n", SLOT, importing + 1);
    return 0;
}

size_t cluster_refuses(unsigned node, char *out, size_t room) {
    const size_t n = is_cluster ? refusal(node, out, room) : 0;
    if (n)
        note("node %u: %.*s", node, (int)n - 2, out);
    return n;
}

unsigned cluster_slot(void) { return SLOT; }

/* One line for each node; the script reads its own. */
void cluster_nodes(unsigned node, char *out, size_t room) {
    size_t n = 0;
    for (unsigned i = 0; i < NODES; i++) {
        n += (size_t)snprintf(
            out + n, room - n, "%040x 10.0.0.%u:6379@16379 %s%s - 0 0 %" PRIu64 " connected", i + 1,
            i + 1, i == node ? "myself," : "", i == replica ? "slave" : "master", epoch[i]);
        if (owner_by[node] == i)
            n += (size_t)snprintf(out + n, room - n, " %d", SLOT);
        if (is_moving && i == node && i == importing)
            n += (size_t)snprintf(out + n, room - n, " [%d-<-%040x]", SLOT, owner + 1);
        if (is_moving && i == node && i == owner)
            n += (size_t)snprintf(out + n, room - n, " [%d->-%040x]", SLOT, importing + 1);
        n += (size_t)snprintf(out + n, room - n, "\n");
    }
}

/* ---- how it spreads ------------------------------------------------------------------------- */

static void hear(void *arg) {
    const unsigned node = (unsigned)(uintptr_t)arg;
    if (!is_cut_off[node])
        owner_by[node] = owner;
}

static void spread(void) {
    for (unsigned i = 0; i < NODES; i++)
        if (i != owner)
            at_time(now_ns + any_ns(5 * SECOND), hear, (void *)(uintptr_t)i);
    owner_by[owner] = owner;
    note("node %u owns the slot, with epoch %" PRIu64, owner, epoch[owner]);
}

static void raise_epoch(unsigned node) {
    uint64_t most = 0;
    for (unsigned i = 0; i < NODES; i++)
        most = epoch[i] > most ? epoch[i] : most;
    epoch[node] = most + 1;
}

void cluster_begins(void) {
    servers = NODES;
    is_cluster = true;
    for (unsigned i = 0; i < NODES; i++) {
        epoch[i] = i == replica ? 1 : i + 1;
        server[i].offset_ns = any_ns(2 * SECOND) - SECOND;
        server_is_node(i);
    }
    server_follows(replica, owner);
}

/* Its owner says so, and not those who lose it: no vote. */
void cluster_raises_epoch(void) {
    cause_begins(CAUSE_SLOT_MOVES, EVERYWHERE, now_ns);
    raise_epoch(owner);
    spread();
}

/* ---- a move: the keys first, then the slot; or it is called off
 * ------------------------------- */

static void take_key(unsigned to, unsigned from) {
    server_gets_keys(to, from);
    key_is_there = to == importing;
}

static void end_move(void *arg) {
    const bool called_off = chance(dice, 300);
    (void)arg;
    is_moving = false;
    if (called_off) {
        take_key(owner, importing);
        note("the move is called off");
        return;
    }
    const unsigned from = owner;
    owner = importing;
    /* Without a vote: a node whose epoch is the greatest keeps it. */
    if (chance(dice, 500))
        raise_epoch(owner);
    server_follows(replica, owner);
    owner_by[from] = owner;
    spread();
}

static void move_key(void *arg) {
    (void)arg;
    take_key(importing, owner);
}

void cluster_moves(void) {
    if (is_moving || fails_over)
        return;
    do
        importing = (unsigned)below(dice, NODES);
    while (importing == owner || importing == replica);
    is_moving = true;
    key_is_there = false;
    const int64_t moved = now_ns + any_ns(5 * SECOND), ends = moved + any_ns(30 * SECOND);
    note("the slot moves from node %u to node %u", owner, importing);
    cause_begins(CAUSE_AWAY, EVERYWHERE, ends + 5 * SECOND);
    cause_begins(CAUSE_SLOT_MOVES, EVERYWHERE, ends);
    at_time(moved, move_key, NULL);
    at_time(ends, end_move, NULL);
}

/* ---- a failover: the old owner is cut off from the others and goes on for a while, or is gone
 * ------------- */

static unsigned old_owner;

static void stop_granting(void *arg) {
    (void)arg;
    is_down[old_owner] = is_cut_off[old_owner];
}

static void promote(void *arg) {
    (void)arg;
    owner = replica;
    raise_epoch(owner);
    server_takes_over(owner);
    spread();
}

static void heal(void *arg) {
    (void)arg;
    fails_over = is_cut_off[old_owner] = is_down[old_owner] = false;
    replica = old_owner;
    owner_by[replica] = owner;
    server_follows(replica, owner);
}

/* What the clocks of the two differ and how long the old one goes on have room in the skew budget,
 * and a second. */
void cluster_fails_over(void) {
    if (is_moving || fails_over)
        return;
    const int64_t room =
        terms.skew - SECOND - llabs(server[owner].offset_ns - server[replica].offset_ns);
    const int64_t promoted = now_ns + any_ns(10 * SECOND);
    const int64_t stops = promoted + (chance(dice, 500) ? room : any_ns(room)),
                  healed = stops + any_ns(60 * SECOND);
    fails_over = true;
    old_owner = owner;
    is_cut_off[owner] = true;
    server_parts(replica);
    cause_begins(CAUSE_AWAY, EVERYWHERE, promoted + 5 * SECOND);
    cause_begins(CAUSE_SLOT_MOVES, EVERYWHERE, stops);
    if (chance(dice, 500)) {
        server[owner].down_till = healed;
        server_change(owner, SERVER_RESTARTS);
    }
    note("node %u is cut off, node %u follows at %.3f, until %.3f both grant", owner, replica,
         (double)promoted / 1e9, (double)stops / 1e9);
    at_time(promoted, promote, NULL);
    at_time(stops, stop_granting, NULL);
    at_time(healed, heal, NULL);
}

void cluster_owner_restarts(void) {
    if (fails_over)
        return;
    server[owner].down_till = now_ns + any_ns(5 * SECOND);
    cause_begins(CAUSE_AWAY, EVERYWHERE, server[owner].down_till);
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, server[owner].down_till);
    server_change(owner, SERVER_RESTARTS);
}
