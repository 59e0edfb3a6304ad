/* SPDX-License-Identifier: MIT */
/* listen.h - the sockets that are listened on. */
#ifndef CMD_SERVE_LISTEN_H
#define CMD_SERVE_LISTEN_H

#include "serve/address.h"
#include "serve/settings.h"

extern struct listener listeners[2 * LISTEN_MOST];
extern int listener_count;

/* Opens all addresses, and takes sockets that were passed. Returns STATUS_GOOD, or the status to
 * end with, after a message. */
int listen_open(void);

/* Closes a listener, and removes the path of a Unix socket that is still ours. */
void listen_close(struct listener *listener);

#endif
