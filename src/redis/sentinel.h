/* SPDX-License-Identifier: MIT */
/*
 * sentinel.h - finds the master that sentinels name, and exchanges with it.
 *
 * The sentinels of the URL are asked in turn (redis.io, "Sentinel client
 * spec"). A sentinel is believed when the server it names replies to ROLE that
 * it is a master. So a sentinel that is down, slow, behind or lying costs its
 * share of the time; if it lies, also the password, which goes to the host that
 * it names. allowed.h says which hosts it may name. While the connection holds, no sentinel is
 * asked. After any failure, or an answer from a server that is no longer a
 * master, the search begins anew. If no sentinel answers, the last known master
 * is tried: it was good enough while the connection held.
 *
 * Two servers may both say that they are masters, each to its own sentinels. A
 * client cannot find that out; doc/protocol.md says what keeps it harmless.
 *
 * As with a connection: one thread at a time, and fine after fork().
 */
#ifndef SFID_REDIS_SENTINEL_H
#define SFID_REDIS_SENTINEL_H

#include "redis/connection.h"

struct sfid__sentinel; /* opaque */

/* Copies uri, which is of kind SFID__URI_SENTINEL. 0 or SFID_ENOMEM. */
int sfid__sentinel_new(struct sfid__sentinel **out, const struct sfid__uri *uri, const char *app,
                       struct sfid__error *err);

/* As sfid__connection_exchange(), with the master. If there is none, the error has what each
 * sentinel said. */
int sfid__sentinel_exchange(struct sfid__sentinel *s, const struct sfid__question *q,
                            struct sfid__redis_reply *reply, struct sfid__error *err);

bool sfid__sentinel_is_up(struct sfid__sentinel *s);
void sfid__sentinel_hang_up(struct sfid__sentinel *s);

/* NULL is fine. */
void sfid__sentinel_drop(struct sfid__sentinel *s);

#endif
