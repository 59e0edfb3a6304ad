/* SPDX-License-Identifier: MIT */
/* client.c - a connection's answers, until they are sent. */
#include "serve/client.h"

#include "io/say.h"
#include "serve/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 512, PRINT_ROOM = 2048 };

static void resize(struct bytes *out, size_t size) {
    char *at = realloc(out->at, size);
    if (at == NULL) {
        say("out of memory for %zu bytes of answers", size);
        exit(STATUS_INTERNAL); /* the lease is taken up where it was at the next start */
    }
    state.memory += size;
    state.memory -= out->size;
    out->at = at;
    out->size = size;
}

char *client_room(struct client *client, size_t n) {
    struct bytes *out = &client->out;
    /* sent bytes would never go while more follows */
    if (client->job.answer == ANSWER_NONE && out->sent > 0) {
        memmove(out->at, out->at + out->sent, out->len - out->sent);
        out->len -= out->sent;
        out->sent = 0;
    }
    if (out->size - out->len < n) {
        size_t size = out->size ? out->size : FIRST_ROOM;
        while (size - out->len < n)
            size += size / 2;
        resize(out, size);
    }
    return out->at + out->len;
}

void client_end(struct client *client, const char *end) {
    client->out.len = (size_t)(end - client->out.at);
}

void client_write(struct client *client, const char *text, size_t len) {
    char *p = client_room(client, len);
    memcpy(p, text, len);
    client_end(client, p + len);
}

void client_print(struct client *client, const char *fmt, ...) {
    char *p = client_room(client, PRINT_ROOM);
    va_list args;
    va_start(args, fmt);
    const int len = vsnprintf(p, PRINT_ROOM, fmt, args);
    va_end(args);
    client_end(client, p + (len < 0 ? 0 : len < PRINT_ROOM ? len : PRINT_ROOM - 1));
}

size_t client_pending(const struct client *client) {
    return (client->job.answer == ANSWER_NONE ? client->out.len : client->job.start) -
           client->out.sent;
}

void client_sent(struct client *client, size_t n) {
    client->out.sent += n;
    if (client->out.sent == client->out.len && client->job.answer == ANSWER_NONE)
        client_free(client);
}

void client_free(struct client *client) {
    state.memory -= client->out.size;
    free(client->out.at);
    client->out = (struct bytes){.at = NULL};
}
