/* SPDX-License-Identifier: MIT */
/*
 * connection.h - one connection to a Redis server, and one exchange at a time.
 *
 * Whatever a server does, a call is back at its deadline. A connection that
 * erred, or whose answer was late, is closed and never used again: nothing that
 * arrives later is read. The protocol is RESP2; a reply is taken in whole or
 * not at all, and has bounds. No signal is raised, no descriptor passes an exec
 * or sits below 3.
 *
 * Not for two threads at once. A forked child that comes upon its parent's
 * connection drops its descriptor without a word to the server and makes a
 * connection of its own.
 *
 * Not used: hiredis's connections. They know neither one deadline for several
 * waits, nor close-on-exec, nor MSG_NOSIGNAL; they look names up without a
 * limit; and 0.14 ends the process where memory ends.
 */
#ifndef SFID_REDIS_CONNECTION_H
#define SFID_REDIS_CONNECTION_H

#include "base/error.h"
#include "redis/resp.h"

struct sfid__connection; /* opaque */

/* Who is at the other end: any server; one that says in reply to ROLE that it is a master; a sentinel. */
enum sfid__peer { SFID__PEER_SERVER, SFID__PEER_MASTER, SFID__PEER_SENTINEL };

/*
 * Makes a connection object; connects at the first exchange, and again after any failure: AUTH (user and
 * password, or password alone; a password_file is read again each time), CLIENT SETNAME (default "sfid-<app>"; a sentinel may refuse it), CLIENT SETINFO
 * lib-name/lib-ver (failure ignored), SELECT where the database is not 0, ROLE where a master is wanted. uri names
 * one server, and is copied. 0 or SFID_ENOMEM.
 */
int sfid__connection_new(struct sfid__connection **out, const struct sfid__uri *uri, enum sfid__peer peer, const char *app,
                         struct sfid__error *err);

/* Has it be with another server from now on. What was open is closed. */
void sfid__connection_aim(struct sfid__connection *c, const struct sfid__uri *uri);

/* A command, and how long its reply is waited for. */
struct sfid__question {
    int argc;
    const char *const *argv;
    const size_t *lengths; /* or NULL */
    int64_t deadline_ms;
    const _Atomic int *stop; /* or NULL */
};

/*
 * Sends one command of argc arguments (binary-safe, with lengths) and reads its reply, all by deadline_ms
 * (monotonic), connecting first where need be: looking the name up and connecting take connect_timeout_ms of
 * that at most. *stop, where not NULL, is looked at every 20 ms at least: once it is not 0 the deadline is
 * brought forward to at most 500 ms from then (an exchange under way when a handle is closed).
 *
 * 0 with *reply and class SFID__REPLY_OK; or SFID_EREDIS, SFID_EAUTH, SFID_ENOMEM with reply->class set and a
 * sentence that names the server (never a secret), the command and what the server said. reply->strings[0] is the
 * error's line where the server sent one in answer to this command; else reply->count is 0.
 */
int sfid__connection_exchange(struct sfid__connection *c, const struct sfid__question *q, struct sfid__redis_reply *reply,
                              struct sfid__error *err);

/* True while there is an open connection that the server has not closed (looks, never blocks). One that is not is closed. */
bool sfid__connection_is_up(struct sfid__connection *c);

/* Closes what is open; the next exchange connects anew. */
void sfid__connection_hang_up(struct sfid__connection *c);

/* Closes and frees. Fine on NULL. */
void sfid__connection_drop(struct sfid__connection *c);

#endif
