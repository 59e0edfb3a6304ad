/* SPDX-License-Identifier: MIT */
#include "redis/uri.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void describe_unix(const struct sfid__uri *uri, char *out, size_t size) {
    char path[sizeof uri->path];
    sfid__printable(path, sizeof path, uri->path, strlen(uri->path));
    snprintf(out, size, "unix://%s?db=%" PRIu32, path, uri->db);
}

/* Appends as much as fits. */
static void append(char *out, size_t size, const char *text) {
    const size_t n = strlen(out);
    snprintf(out + n, size - n, "%s", text);
}

void sfid__uri_describe(const struct sfid__uri *uri, char *out, size_t size) {
    static const char *const kinds[] = {"://", "+sentinel://", "+cluster://"};
    char node[SFID__ENDPOINT_SHOWN], tail[SFID__URI_TEXT + 16] = "";
    if (uri->path[0]) {
        describe_unix(uri, out, size);
        return;
    }
    if (uri->kind == SFID__URI_SENTINEL)
        snprintf(tail, sizeof tail, "/%s/%" PRIu32, uri->master, uri->db);
    else if (uri->kind == SFID__URI_SERVER)
        snprintf(tail, sizeof tail, "/%" PRIu32, uri->db);
    snprintf(out, size, "%s", uri->tls ? "rediss" : "redis");
    append(out, size, kinds[uri->kind]);
    bool room = true;
    for (unsigned i = 0; i < uri->nodes && room; i++) {
        sfid__endpoint_describe(&uri->node[i], node);
        /* The first node as far as it fits; the others only if they fit whole, with room to say
         * that there are more. */
        const size_t more = i + 1 < uri->nodes ? strlen(",...") : 0;
        room = i == 0 || strlen(out) + 1 + strlen(node) + more + strlen(tail) < size;
        append(out, size, i ? "," : "");
        append(out, size, room ? node : "...");
    }
    append(out, size, tail);
}
