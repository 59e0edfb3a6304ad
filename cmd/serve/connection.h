/* SPDX-License-Identifier: MIT */
/* connection.h - connections, their requests and deadlines. */
#ifndef CMD_SERVE_CONNECTION_H
#define CMD_SERVE_CONNECTION_H

#include "serve/listen.h"

#include <uv.h>

void connections_begin(uv_loop_t *loop, void (*on_empty)(void));

/* Takes an accepted socket. If there is no place for it, the longest idle connection is closed. */
void connection_open(int fd, const struct listen_address *from, bool local);

/* Closes idle connections, refuses waiters, and lets the others get their answers. */
void connections_finish(void);
void connections_drop(void);

#endif
