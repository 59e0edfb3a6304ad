/* SPDX-License-Identifier: MIT */
/* all.h - connections to other programs: what each file of this folder offers. */
#ifndef CMD_NET_ALL_H
#define CMD_NET_ALL_H

#include "io/all.h"

/* ---- peer.c: a connection with a deadline -------------------------------- */

struct address {
    char host[256]; /* name or number, without brackets; of a Unix socket its path */
    char port[6];   /* empty: a Unix socket */
};

/* Reads HOST[:PORT], [IPV6][:PORT] or unix:/PATH from len bytes. Returns false if it is none. */
bool address_read(const char *text, size_t len, const char *default_port, struct address *address);

#define PEER_WHY 320

struct peer {
    int fd;
    int64_t deadline;   /* monotonic: all calls together end by then */
    char why[PEER_WHY]; /* what failed */
};

/* Returns false, with peer->why set, if it cannot connect. Otherwise peer_close() has to follow. */
bool peer_open(struct peer *peer, const struct address *address, int timeout_ms);
void peer_close(struct peer *peer);

/* Sends all bytes. Receives at least one, or returns 0 at the end. They fail with false or -1, and peer->why set. */
bool peer_send(struct peer *peer, const void *bytes, size_t len);
int64_t peer_receive(struct peer *peer, void *room, size_t size);

/* ---- http.c: one request, one answer ------------------------------------- */

#define HTTP_HEAD 8192 /* longest head of an answer */

struct http_answer {
    int status;
    const char *body; /* inside the caller's room, with a NUL behind */
    size_t len;
};

/*
 * Sends a request of HTTP/1.0, so that the answer is never chunked. method_path: such as "GET /x". more: further header lines,
 * each with its line end. The room holds head and body. Returns false, with peer->why set, if there is no whole answer.
 */
bool http_ask(struct peer *peer, const struct address *address, const char *method_path, const char *more, char *room, size_t size,
              struct http_answer *answer);

/* ---- ec2.c: the metadata service of EC2 ---------------------------------- */

#define EC2_FACT 1024 /* longest answer */

/*
 * Asks for a fact (version 2 of the service): 1 s for each request, 3 tries. Returns false after a message and end_with().
 * $AWS_EC2_METADATA_SERVICE_ENDPOINT is another address (plain http), $AWS_EC2_METADATA_DISABLED=true forbids to ask.
 */
#define EC2_ADDRESS "local-ipv4"
#define EC2_REGION "placement/region"
bool ec2_ask(const char *fact, char text[EC2_FACT + 1]);

#endif
