/* SPDX-License-Identifier: MIT */
/* origin.h - connections by their other end. */
#ifndef CMD_SERVE_ORIGIN_H
#define CMD_SERVE_ORIGIN_H

#include "serve/address.h"
#include "serve/queue.h"

/* What tells addresses apart: of IPv4 the address, of IPv6 its first 64 bits. */
uint64_t origin_key(const struct listen_address *from);

/* Counts a connection. NULL: a Unix socket, whose other end has no address, or no memory. */
struct origin *origin_enter(const struct listen_address *from);
void origin_leave(struct origin *origin);

/* May one more request wait for IDs? Places are kept, so that a new connection always finds an idle
 * one to replace. */
bool origin_may_wait(const struct origin *origin);

#endif
