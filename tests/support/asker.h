/* SPDX-License-Identifier: MIT */
/*
 * asker.h - a connection under test, and what it was told.
 */
#ifndef SFID_TESTS_ASKER_H
#define SFID_TESTS_ASKER_H

#include "base/deadline.h"
#include "redis/connection.h"
#include "support/peer.h"
#include "support/scene.h"
#include "support/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <sfid.h>
#include <stdio.h>
#include <sys/socket.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What a loaded machine may add to a deadline, or a checker of memory. Overruns are told. */
enum { SLACK_MS = 1000, LONG_MS = 60000 };

/* ---- asking -------------------------------------------------------------- */

extern struct sfid__error err;
extern struct sfid__redis_reply reply;
extern int64_t took_ms;
extern int64_t worst_overrun_ms;

struct sfid__connection *new_connection(const char *url);
int ask_with(struct sfid__connection *c, int64_t within_ms, const _Atomic int *stop, int argc, const char *const *argv);

/* One command of up to six words. */
int ask(struct sfid__connection *c, int64_t within_ms, const char *a, const char *b, const char *d, const char *e, const char *f,
        const char *g);
int ping(struct sfid__connection *c, int64_t within_ms);

/* The last exchange answered with this string alone. */
bool said(int rc, const char *want);

/* The last exchange failed like this, with these words among others. */
bool failed_with(int rc, int code, enum sfid__reply_class class, const char *words);
bool within(int64_t least_ms, int64_t most_ms);

/* ---- looking at this process --------------------------------------------- */

/* False where a checker of memory holds back what is freed, and has an idea of its own of a page. */
bool memory_is_own(void);

/* The descriptor of the only socket that leads to a server, or -1. */
int socket_fd(void);

#endif
