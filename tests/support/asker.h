/* SPDX-License-Identifier: MIT */
/* asker.h - a connection under test, and its answers. */
#ifndef SFID_TESTS_ASKER_H
#define SFID_TESTS_ASKER_H

#include "base/clock.h"
#include "redis/connection.h"
#include "support/peer.h"
#include "support/scene.h"

#include <poll.h>
#include <sfid.h>

/*
 * LONG_MS: of a question that is answered, or fails by itself. AT_ONCE_MS: then far less than that.
 * OVERRUN_MS: what is done once a deadline has passed.
 */
enum { LONG_MS = TAP_WAIT_MS, AT_ONCE_MS = LONG_MS / 4, OVERRUN_MS = 1000 };

/* ---- asking -------------------------------------------------------------- */

extern struct sfid__error err;
extern struct sfid__redis_reply reply;
extern struct took last_took; /* how long the last exchange took, if the test has a witness */

/* It may take LONG_MS to connect, unless the URL tells. */
struct sfid__connection *new_connection(const char *url);

/* Ends both. */
void end_asking(struct sfid__connection *c, struct peer *p);
int ask_with(struct sfid__connection *c, int64_t within_ms, const _Atomic int *stop, int argc,
             const char *const *argv);

/* Sends one command of up to six words. */
int ask(struct sfid__connection *c, int64_t within_ms, const char *a, const char *b, const char *d,
        const char *e, const char *f, const char *g);
int ping(struct sfid__connection *c, int64_t within_ms);

/* Returns whether the last exchange answered with only this string. */
bool said(int rc, const char *want);

/* Returns whether the last exchange failed with this code and class, and its text contains these
 * words. */
bool failed_with(int rc, int code, enum sfid__reply_class class, const char *words);

/* Check how long the last exchange took. The latter is two checks. */
bool ends_at_once(const char *what);
bool ends_after(int64_t ms, const char *what);

/* Returns the descriptor of the only socket to a server, or -1. */
int socket_fd(void);

#endif
