/* SPDX-License-Identifier: MIT */
/*
 * connection.h - one connection to a Redis server, and one exchange at a time.
 *
 * Whatever the server does, a call returns by its deadline. A connection that
 * failed, or whose answer was late, is closed and never used again: nothing
 * that arrives later is read. The protocol is RESP2. A reply has bounds, and is
 * taken in as a whole or not at all. No signal is raised, and no descriptor
 * passes exec or lies below 3.
 *
 * Not for two threads at once. A forked child closes its copy of the parent's
 * descriptor without a word to the server, and makes a connection of its own.
 *
 * hiredis's own connections are not used: they have no deadline over several
 * waits, no close-on-exec and no MSG_NOSIGNAL; they look names up without a
 * limit; and 0.14 ends the process when memory runs out.
 */
#ifndef SFID_REDIS_CONNECTION_H
#define SFID_REDIS_CONNECTION_H

#include "base/error.h"
#include "redis/resp.h"

struct sfid__connection; /* opaque */

/* What the other end is: any server; one that replies to ROLE that it is a master; a sentinel. */
enum sfid__peer { SFID__PEER_SERVER, SFID__PEER_MASTER, SFID__PEER_SENTINEL };

/*
 * Makes a connection object and copies uri, which names one server. The first exchange connects,
 * and so does the next one after a failure:
 *   AUTH               user and password, or password alone; a password_file is read again each
 *                      time
 *   CLIENT SETNAME     default "sfid-<app>"; a sentinel may refuse it
 *   CLIENT SETINFO     lib-name and lib-ver; a failure is ignored
 *   SELECT             unless the database is 0
 *   ROLE               if a master is wanted
 * 0 or SFID_ENOMEM.
 */
int sfid__connection_new(struct sfid__connection **out, const struct sfid__uri *uri,
                         enum sfid__peer peer, const char *app, struct sfid__error *err);

/* Closes what is open, and aims at another server from now on. */
void sfid__connection_aim(struct sfid__connection *c, const struct sfid__uri *uri);

/* A command and the deadline of its reply. */
struct sfid__question {
    int argc;
    const char *const *argv;
    const size_t *lengths; /* or NULL */
    int64_t deadline_ms;
    const _Atomic int *stop; /* or NULL */
};

/*
 * Sends one command of argc arguments (binary-safe, with lengths) and reads its reply by
 * deadline_ms (monotonic). Connects first if needed: looking the name up and connecting take at
 * most connect_timeout_ms of that. *stop is looked at every 20 ms at least, unless it is NULL. Once
 * it is not 0, at most 500 ms are left: somebody closes the handle.
 *
 * 0 with *reply and class SFID__REPLY_OK; or SFID_EREDIS, SFID_EAUTH or SFID_ENOMEM with
 * reply->class set and a sentence that names the server (never a secret), the command and what the
 * server said. NOSCRIPT to EVALSHA has no sentence: *err stays as it is. If the server answered
 * this command with an error, reply->strings[0] is its line; otherwise reply->count is 0.
 */
int sfid__connection_exchange(struct sfid__connection *c, const struct sfid__question *q,
                              struct sfid__redis_reply *reply, struct sfid__error *err);

/* True while the connection is open and the server has not closed it. Looks, never blocks, and
 * closes one that cannot be used. */
bool sfid__connection_is_up(struct sfid__connection *c);

/* The class of the address that the last connection led to: that of who names a host in its
 * answer. */
enum sfid__address_class sfid__connection_reached(const struct sfid__connection *c);

/* Closes what is open; the next exchange connects anew. */
void sfid__connection_hang_up(struct sfid__connection *c);

/* Closes and frees. NULL is fine. */
void sfid__connection_drop(struct sfid__connection *c);

#endif
