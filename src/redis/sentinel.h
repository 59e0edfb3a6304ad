/* SPDX-License-Identifier: MIT */
/*
 * sentinel.h - the master that sentinels name, and exchanges with it.
 *
 * The sentinels of the URL are asked in turn (redis.io, "Sentinel client spec"),
 * and what one says is believed when the server it names says in reply to ROLE
 * that it is a master: a sentinel that is down, slow, behind or lying costs its
 * share of the time and no more. While the connection holds, nobody is asked;
 * after any failure, and after the answer of what is a master no longer, all
 * begins anew. Where no sentinel answers, the master known last is tried: it
 * was good enough while the connection held.
 *
 * That two servers say they are masters, each to its own sentinels, is not for
 * a client to find out; doc/protocol.md says what keeps that harmless.
 *
 * As a connection is, it is for one thread at a time, and fine after fork().
 */
#ifndef SFID_REDIS_SENTINEL_H
#define SFID_REDIS_SENTINEL_H

#include "redis/connection.h"

struct sfid__sentinel; /* opaque */

/* uri is of kind SFID__URI_SENTINEL, and copied. 0 or SFID_ENOMEM. */
int sfid__sentinel_new(struct sfid__sentinel **out, const struct sfid__uri *uri, const char *app, struct sfid__error *err);

/* As sfid__connection_exchange(), with the master. Where there is none the error tells what each sentinel said. */
int sfid__sentinel_exchange(struct sfid__sentinel *s, const struct sfid__question *q, struct sfid__redis_reply *reply,
                            struct sfid__error *err);

bool sfid__sentinel_is_up(struct sfid__sentinel *s);

/* Fine on NULL. */
void sfid__sentinel_drop(struct sfid__sentinel *s);

#endif
