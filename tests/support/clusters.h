/* SPDX-License-Identifier: MIT */
/**
 * clusters.h - a cluster of three masters with a replica each. The servers are those of redis.h.
 *
 *     struct cluster c;
 *     cluster_start(&c, "valkey-server", 1000);
 *     const int slot = cluster_slot(&c, "sfid:{orders}"), owner = cluster_owner(&c, slot);
 *
 * Nodes 0 to 2 begin as masters, 3 to 5 as their replicas. All end with the test.
 */
#ifndef SFID_TESTS_CLUSTERS_H
#define SFID_TESTS_CLUSTERS_H

#include "support/redis.h"

enum { CLUSTER_NODES = 6, CLUSTER_MASTERS = 3 };
enum { CLUSTER_NONE, CLUSTER_ALL_BUT_ONE, CLUSTER_ALL }; /* how much of a slot has moved */

struct cluster {
    struct redis node[CLUSTER_NODES];
    char id[CLUSTER_NODES][48];
    char url[160]; /* redis+cluster://…, with the first three nodes */
};

/** Starts the cluster and waits until all slots are served and replicated. node_timeout_ms: when a
 * silent node counts as down. */
void cluster_start(struct cluster *c, const char *program, unsigned node_timeout_ms);
void cluster_end(struct cluster *c);

/** Returns a key's slot. */
int cluster_slot(struct cluster *c, const char *key);

/** Returns the node that claims to serve the slot; -1: no running node, or two. */
int cluster_owner(struct cluster *c, int slot);

/** Waits for a replica that has all that this node has. Ends the test if there is none. */
int cluster_replica(struct cluster *c, int master);

/** Returns another master that serves slots; -1: none. */
int cluster_other_master(struct cluster *c, int master);

/** Waits until another node owns the slot and all running nodes know. Returns that node; -1 if the
 * time runs out. */
int cluster_next_owner(struct cluster *c, int slot, int other_than, unsigned limit_ms);

/** Waits until all running nodes report a good cluster, agree on the slot's owner, and replicas are
 * in step. */
bool cluster_whole(struct cluster *c, int slot, unsigned limit_ms);

/** Tells a replica "PLAIN", "FORCE" or "TAKEOVER". Returns whether it agrees. */
bool cluster_fail_over(struct cluster *c, int replica, const char *how);

/**
 * Moves a slot with its keys from one master to another. In between it calls midway, unless NULL:
 * with no key moved, with all but the one with the shortest name, and with all.
 */
void cluster_move(struct cluster *c, int slot, int from, int to,
                  void (*midway)(void *arg, int step), void *arg);

#endif
