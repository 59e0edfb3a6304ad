/* SPDX-License-Identifier: MIT */
/* address.h - addresses to listen on, as text, and their sockets. */
#ifndef CMD_SERVE_ADDRESS_H
#define CMD_SERVE_ADDRESS_H

#include "io/base.h"

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

/* Returns NULL, or what is wrong, to follow the text in a message. */
const char *listen_address_read(const char *text, struct listen_address *address);

/* Can programs of this host alone reach it? */
bool listen_address_is_local(const struct listen_address *address);

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

#endif
