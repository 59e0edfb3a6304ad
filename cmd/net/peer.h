/* SPDX-License-Identifier: MIT */
/* peer.h - a connection with a deadline. */
#ifndef CMD_NET_PEER_H
#define CMD_NET_PEER_H

#include "io/base.h"

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

/* Sends all bytes. Receives at least one, or returns 0 at the end. They fail with false or -1, and
 * peer->why set. */
bool peer_send(struct peer *peer, const void *bytes, size_t len);
int64_t peer_receive(struct peer *peer, void *room, size_t size);

#endif
