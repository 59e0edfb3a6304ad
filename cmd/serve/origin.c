/* SPDX-License-Identifier: MIT */
/* origin.c - who connects: how many connections each address has, and how many of them may wait. */
#include "serve/origin.h"

#include "serve/settings.h"

#include <arpa/inet.h>
#include <search.h>
#include <stdlib.h>

static void *origins; /* a tree of those with connections, by key */

static int compare(const void *a, const void *b) {
    const uint64_t x = ((const struct origin *)a)->key, y = ((const struct origin *)b)->key;
    return (x > y) - (x < y);
}

/* A host with one IPv6 address usually has all that begin with the same 64 bits. */
uint64_t origin_key(const struct listen_address *from) {
    const uint64_t ipv4 = UINT64_C(0xffff) << 32; /* a prefix that is not assigned */
    const uint8_t *bytes = from->in6.sin6_addr.s6_addr;
    uint64_t key = 0;
    if (from->any.sa_family == AF_INET)
        return ipv4 | ntohl(from->in.sin_addr.s_addr);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&from->in6.sin6_addr);
    for (int i = mapped ? 12 : 0; i < (mapped ? 16 : 8); i++)
        key = key << 8 | bytes[i];
    return mapped ? ipv4 | key : key;
}

struct origin *origin_enter(const struct listen_address *from) {
    if (from->any.sa_family != AF_INET && from->any.sa_family != AF_INET6)
        return NULL;
    struct origin wanted = {.key = origin_key(from)}, *origin;
    void *found = tfind(&wanted, &origins, compare);
    if (found) {
        origin = *(struct origin **)found;
    } else {
        origin = malloc(sizeof *origin);
        if (origin == NULL)
            return NULL;
        *origin = wanted;
        if (tsearch(origin, &origins, compare) == NULL) {
            free(origin);
            return NULL;
        }
    }
    origin->open++;
    return origin;
}

void origin_leave(struct origin *origin) {
    if (origin == NULL || --origin->open > 0)
        return;
    tdelete(origin, &origins, compare);
    free(origin);
}

/* A sixteenth of the connections, and of 2 to 17 one. */
static uint32_t most_waiting(uint32_t most) { return most - (most + 14) / 16; }

bool origin_may_wait(const struct origin *origin) {
    return queue_length(QUEUE_WAIT) + queue_length(QUEUE_TURN) <
               most_waiting(settings.max_connections) &&
           (origin == NULL || origin->waiting < most_waiting(settings.max_per_address));
}
