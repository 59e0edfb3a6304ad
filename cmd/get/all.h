/* SPDX-License-Identifier: MIT */
/* all.h - sfid get: what each file of this folder offers. */
#ifndef CMD_GET_ALL_H
#define CMD_GET_ALL_H

#include "args/all.h"
#include "net/all.h"

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

/* ---- ask.c: the three protocols ------------------------------------------ */

/* Each asks for n IDs. Returns STATUS_GOOD, or an exit status with peer->why set. */
int ask_http(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);
int ask_resp(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);
int ask_flakeid(struct peer *peer, const struct service *service, unsigned n, struct lines *lines);

/* ---- get.c: the command -------------------------------------------------- */

extern const struct command command_get;

#endif
