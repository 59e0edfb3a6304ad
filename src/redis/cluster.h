/* SPDX-License-Identifier: MIT */
/*
 * cluster.h - finds the node of a Redis cluster that has an app's keys, and
 * exchanges with it.
 *
 * The first question goes to any node. A node that does not have the key's slot
 * names the one that has it, and the question follows (redis.io, "Redis cluster
 * specification": MOVED), if allowed.h lets it be named. Later questions go there
 * at once. If that node is gone, the others are asked in turn, those of the URL
 * and those named since, until one has the slot or knows who has it. Only these
 * addresses are kept of the cluster's map: an app has one key on one node.
 *
 * As with a connection: one thread at a time, and fine after fork().
 */
#ifndef SFID_REDIS_CLUSTER_H
#define SFID_REDIS_CLUSTER_H

#include "redis/connection.h"

struct sfid__cluster; /* opaque */

/* Copies uri, which is of kind SFID__URI_CLUSTER. 0 or SFID_ENOMEM. */
int sfid__cluster_new(struct sfid__cluster **out, const struct sfid__uri *uri, const char *app,
                      struct sfid__error *err);

/* As sfid__connection_exchange(), with the node that has the app's keys. */
int sfid__cluster_exchange(struct sfid__cluster *c, const struct sfid__question *q,
                           struct sfid__redis_reply *reply, struct sfid__error *err);

/* Of the app's keys. */
unsigned sfid__cluster_slot(const char *app);

bool sfid__cluster_is_up(struct sfid__cluster *c);
void sfid__cluster_hang_up(struct sfid__cluster *c);

/* NULL is fine. */
void sfid__cluster_drop(struct sfid__cluster *c);

#endif
