/* SPDX-License-Identifier: MIT */
/* route.h - where an app's questions go: the URL's server, the master that sentinels name, or the
 * node of a cluster. */
#ifndef SFID_REDIS_ROUTE_H
#define SFID_REDIS_ROUTE_H

#include "redis/connection.h"

struct sfid__route {
    struct sfid__connection *server; /* exactly one of the three is set */
    struct sfid__sentinel *sentinel;
    struct sfid__cluster *cluster;
};

/*
 * What exchanges with that URL wait for: of two that lead to one server the same number; a hash,
 * not 0. User, database and settings do not count, nor do the order of hosts and their case.
 * Sentinels name a server for each master, and a cluster has one for each slot.
 */
uint64_t sfid__route_server(const struct sfid__uri *uri, const char *app);

/* Connects at the first exchange. 0 or SFID_ENOMEM; sfid__route_end() frees. */
int sfid__route_begin(struct sfid__route *r, const struct sfid__uri *uri, const char *app,
                      struct sfid__error *err);

/* As sfid__connection_exchange(). */
int sfid__route_exchange(struct sfid__route *r, const struct sfid__question *q,
                         struct sfid__redis_reply *reply, struct sfid__error *err);

/* True while the connection for the next question is open. Never blocks. */
bool sfid__route_is_up(struct sfid__route *r);

/* Closes the connection; the next exchange opens another. */
void sfid__route_hang_up(struct sfid__route *r);

/* A zeroed one is fine. */
void sfid__route_end(struct sfid__route *r);

#endif
