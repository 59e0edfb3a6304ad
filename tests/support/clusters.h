/* SPDX-License-Identifier: MIT */
/**
 * clusters.h - a cluster of three masters with a replica each, of servers of redis.h.
 *
 *     struct cluster c;
 *     cluster_start(&c, "valkey-server", 1000);
 *     const int slot = cluster_slot(&c, "sfid:{orders}"), owner = cluster_owner(&c, slot);
 *
 * Nodes 0 to 2 begin as masters, 3 to 5 as their replicas. All of it ends with the test.
 */
#ifndef SFID_TESTS_CLUSTERS_H
#define SFID_TESTS_CLUSTERS_H

#include "support/redis.h"

enum { CLUSTER_NODES = 6, CLUSTER_MASTERS = 3 };
enum { CLUSTER_NONE, CLUSTER_ALL_BUT_ONE, CLUSTER_ALL }; /* how much of a slot has moved */

struct cluster {
    struct redis node[CLUSTER_NODES];
    char id[CLUSTER_NODES][48];
    char url[160]; /* redis+cluster://…, of the three first */
};

/** Starts it, and waits until all slots are served and replicated. node_timeout_ms: how long before a node is taken for down. */
void cluster_start(struct cluster *c, const char *program, unsigned node_timeout_ms);
void cluster_end(struct cluster *c);

/** The slot of a key. */
int cluster_slot(struct cluster *c, const char *key);

/** The node that says of itself that it serves the slot; -1: none that runs, or two. */
int cluster_owner(struct cluster *c, int slot);

/** A replica of this node, as both see it; -1: none. */
int cluster_replica(struct cluster *c, int master);

/** A master that serves slots, other than this one; -1: none. */
int cluster_other_master(struct cluster *c, int master);

/** Waits until a slot has another owner than this one, and all that run know. Returns it; -1 when it does not come to that. */
int cluster_next_owner(struct cluster *c, int slot, int other_than, unsigned limit_ms);

/** Waits until all nodes that run say that the cluster is well and agree on who serves the slot, and replicas are in step. */
bool cluster_whole(struct cluster *c, int slot, unsigned limit_ms);

/** "PLAIN", "FORCE" or "TAKEOVER": what a replica is told. Returns whether it agrees. */
bool cluster_fail_over(struct cluster *c, int replica, const char *how);

/** Moves a slot with all its keys from one master to another. midway, where there is one, is called in between: the slot is
    then migrating with no key moved yet (CLUSTER_NONE), with all but the one of the shortest name (CLUSTER_ALL_BUT_ONE), and
    with all of them (CLUSTER_ALL). */
void cluster_move(struct cluster *c, int slot, int from, int to, void (*midway)(void *arg, int step), void *arg);

#endif
