/* SPDX-License-Identifier: MIT */
/*
 * cluster.h - the node of a Redis cluster that has an app's keys, and exchanges with it.
 *
 * Any node is asked; one that has not the key's slot says who has, and is
 * followed (redis.io, "Redis cluster specification": MOVED, and ASK while a slot
 * moves). That node is asked from then on. When it is gone the others are asked
 * in turn, those of the URL and those that were named since, until one of them
 * has the slot or knows who has. Nothing of the cluster's map is kept but these
 * addresses: an app has one key, and one node has it.
 *
 * As a connection is, it is for one thread at a time, and fine after fork().
 */
#ifndef SFID_REDIS_CLUSTER_H
#define SFID_REDIS_CLUSTER_H

#include "redis/connection.h"

struct sfid__cluster; /* opaque */

/* uri is of kind SFID__URI_CLUSTER, and copied. 0 or SFID_ENOMEM. */
int sfid__cluster_new(struct sfid__cluster **out, const struct sfid__uri *uri, const char *app, struct sfid__error *err);

/* As sfid__connection_exchange(), with the node that has the app's keys. */
int sfid__cluster_exchange(struct sfid__cluster *c, const struct sfid__question *q, struct sfid__redis_reply *reply,
                           struct sfid__error *err);

bool sfid__cluster_is_up(struct sfid__cluster *c);

/* Fine on NULL. */
void sfid__cluster_drop(struct sfid__cluster *c);

#endif
