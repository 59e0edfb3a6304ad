/* SPDX-License-Identifier: MIT */
/* ask.h - the three protocols of `sfid get`. */
#ifndef CMD_GET_ASK_H
#define CMD_GET_ASK_H

#include "net/http.h"
#include "net/peer.h"

enum { GET_BATCH = 1000, GET_ID = 128 }; /* most IDs in a request, longest ID */

/* IDs, each with a line end. The room is for the answer as it comes, too. */
struct lines {
    size_t len;
    char text[HTTP_HEAD + GET_BATCH * (GET_ID + 8)];
};

struct service {
    struct address address;
    char path[256]; /* of HTTP, before /ids */
};

/* Each asks for n IDs. Returns STATUS_GOOD, or an exit status with peer->why set. */
int ask_http(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);
int ask_resp(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);
int ask_flakeid(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);

#endif
