/* SPDX-License-Identifier: MIT */
/* http.h - one request, one answer. */
#ifndef CMD_NET_HTTP_H
#define CMD_NET_HTTP_H

#include "net/peer.h"

#define HTTP_HEAD 8192 /* longest head of an answer */

struct http_answer {
    int status;
    const char *body; /* inside the caller's room, with a NUL behind */
    size_t len;
};

/*
 * Sends a request of HTTP/1.0, so that the answer is never chunked. method_path: such as "GET /x".
 * more: further header lines, each with its line end. The room holds head and body. Returns false,
 * with peer->why set, if there is no whole answer.
 */
bool http_ask(struct peer *peer, const struct address *address, const char *method_path,
              const char *more, char *room, size_t size, struct http_answer *answer);

#endif
