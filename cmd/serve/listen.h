/* SPDX-License-Identifier: MIT */
/* listen.h - the sockets that are listened on. */
#ifndef CMD_SERVE_LISTEN_H
#define CMD_SERVE_LISTEN_H

#include "serve/settings.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    };
    socklen_t len;
};

#define ADDRESS_ROOM 128
void listen_address_show(const struct listen_address *address, char text[ADDRESS_ROOM]);

/* A socket that is listened on. */
struct listener {
    int fd;
    bool passed; /* by the service manager */
    bool tcp;
    bool local;   /* programs of this host alone are to be served */
    dev_t device; /* of a Unix socket's path that we bound; inode 0: none */
    ino_t inode;
    char name[ADDRESS_ROOM];
};

extern struct listener listeners[2 * LISTEN_MOST];
extern int listener_count;

/* Reads and opens all addresses, and takes sockets that were passed. Returns STATUS_GOOD, or the
 * status to end with, after a message. */
int listen_open(void);

/* Closes a listener, and removes the path of a Unix socket that is still ours. */
void listen_close(struct listener *listener);

#endif
