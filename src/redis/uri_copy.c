/* SPDX-License-Identifier: MIT */
#include "redis/uri.h"

#include <stdlib.h>
#include <string.h>

void sfid__uri_of_node(const struct sfid__uri *uri, const struct sfid__endpoint *node,
                       struct sfid__uri *out) {
    memcpy(out, uri, offsetof(struct sfid__uri, node)); /* uri may be a copy, and short */
    out->kind = SFID__URI_SERVER;
    out->users = 0;
    out->node[0] = *node;
    out->nodes = 1;
    for (unsigned i = 0; i < uri->nodes; i++)
        if (sfid__endpoint_equals(&uri->node[i], node))
            out->node[0].named_by = SFID__UNNAMED;
}

static size_t size_with(unsigned nodes) {
    return offsetof(struct sfid__uri, node) + SFID__MAX(nodes, 1) * sizeof(struct sfid__endpoint);
}

struct sfid__uri *sfid__uri_copy(const struct sfid__uri *uri) {
    struct sfid__uri *copy = malloc(size_with(uri->nodes));
    if (copy) {
        memcpy(copy, uri, size_with(uri->nodes));
        copy->users = 1;
    }
    return copy;
}

struct sfid__uri *sfid__uri_share(const struct sfid__uri *uri) {
    if (uri->users == 0)
        return sfid__uri_copy(uri);
    struct sfid__uri *shared = (struct sfid__uri *)(uintptr_t)uri; /* a copy, and so not const */
    shared->users++;
    return shared;
}

void sfid__uri_drop(struct sfid__uri *uri) {
    if (uri && --uri->users == 0)
        free(uri);
}

void sfid__uri_aim(struct sfid__uri *copy, const struct sfid__uri *of_node) {
    memcpy(copy, of_node, size_with(1));
    copy->users = 1;
}
