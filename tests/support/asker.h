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

/* SLACK_MS: what a loaded machine, a sanitizer or a memory checker may add to a deadline. Overruns are printed. */
enum { SLACK_MS = SANITIZED ? 5000 : 1000, LONG_MS = 60000 };

/* ---- asking -------------------------------------------------------------- */

extern struct sfid__error err;
extern struct sfid__redis_reply reply;
extern int64_t took_ms;
extern int64_t worst_overrun_ms;

struct sfid__connection *new_connection(const char *url);

/* Ends both. */
void end_asking(struct sfid__connection *c, struct peer *p);
int ask_with(struct sfid__connection *c, int64_t within_ms, const _Atomic int *stop, int argc, const char *const *argv);

/* Sends one command of up to six words. */
int ask(struct sfid__connection *c, int64_t within_ms, const char *a, const char *b, const char *d, const char *e, const char *f,
        const char *g);
int ping(struct sfid__connection *c, int64_t within_ms);

/* Returns whether the last exchange answered with only this string. */
bool said(int rc, const char *want);

/* Returns whether the last exchange failed with this code and class, and its text contains these words. */
bool failed_with(int rc, int code, enum sfid__reply_class class, const char *words);
bool within(int64_t least_ms, int64_t most_ms);

/* ---- looking at this process --------------------------------------------- */

/* Returns false under a memory checker: it delays frees and changes page use. */
bool memory_is_own(void);

/* Returns the descriptor of the only socket to a server, or -1. */
int socket_fd(void);

#endif
