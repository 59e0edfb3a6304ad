/* SPDX-License-Identifier: MIT */
#include "redis/route.h"

#include "base/hash.h"
#include "redis/cluster.h"
#include "redis/sentinel.h"

#include <string.h>

/* A sum has no order. */
uint64_t sfid__route_server(const struct sfid__uri *uri, const char *app) {
    char node[SFID__ENDPOINT_SHOWN];
    uint64_t hash = sfid__hash(SFID__HASH_SEED, uri->path, strlen(uri->path));
    for (unsigned i = 0; i < uri->nodes; i++) {
        sfid__endpoint_describe(&uri->node[i], node);
        for (char *at = node; *at; at++)
            *at |= *at >= 'A' && *at <= 'Z' ? 'a' - 'A' : 0;
        hash += sfid__hash(SFID__HASH_SEED, node, strlen(node));
    }
    const unsigned hash_slot = uri->kind == SFID__URI_CLUSTER ? sfid__cluster_slot(app) : 0;
    hash = sfid__hash(hash, uri->master, strlen(uri->master));
    return sfid__hash(hash, &hash_slot, sizeof hash_slot) | 1;
}

int sfid__route_begin(struct sfid__route *r, const struct sfid__uri *uri, const char *app,
                      struct sfid__error *err) {
    memset(r, 0, sizeof *r);
    switch (uri->kind) {
    case SFID__URI_SENTINEL:
        return sfid__sentinel_new(&r->sentinel, uri, app, err);
    case SFID__URI_CLUSTER:
        return sfid__cluster_new(&r->cluster, uri, app, err);
    default:
        return sfid__connection_new(&r->server, uri, SFID__PEER_SERVER, app, err);
    }
}

int sfid__route_exchange(struct sfid__route *r, const struct sfid__question *q,
                         struct sfid__redis_reply *reply, struct sfid__error *err) {
    if (r->sentinel)
        return sfid__sentinel_exchange(r->sentinel, q, reply, err);
    if (r->cluster)
        return sfid__cluster_exchange(r->cluster, q, reply, err);
    return sfid__connection_exchange(r->server, q, reply, err);
}

bool sfid__route_is_up(struct sfid__route *r) {
    if (r->sentinel)
        return sfid__sentinel_is_up(r->sentinel);
    return r->cluster ? sfid__cluster_is_up(r->cluster) : sfid__connection_is_up(r->server);
}

void sfid__route_hang_up(struct sfid__route *r) {
    if (r->sentinel)
        sfid__sentinel_hang_up(r->sentinel);
    else if (r->cluster)
        sfid__cluster_hang_up(r->cluster);
    else
        sfid__connection_hang_up(r->server);
}

void sfid__route_end(struct sfid__route *r) {
    sfid__sentinel_drop(r->sentinel);
    sfid__cluster_drop(r->cluster);
    sfid__connection_drop(r->server);
    memset(r, 0, sizeof *r);
}
