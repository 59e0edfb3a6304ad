/* SPDX-License-Identifier: MIT */
/* unix.h - Unix sockets with a path. */
#ifndef CMD_SERVE_UNIX_H
#define CMD_SERVE_UNIX_H

#include "serve/address.h"

/* Binds a socket where none, or only a dead one, is. Returns STATUS_GOOD, or the status to end
 * with, after a message. */
int unix_bind(const struct listen_address *address, struct listener *listener);

#endif
