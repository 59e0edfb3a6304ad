/* SPDX-License-Identifier: MIT */
/**
 * sentinels.h - three servers, one of them master, and three sentinels that watch them: those of redis.h.
 *
 *     struct sentinels s;
 *     sentinels_start(&s, "redis-server", 500);
 *     redis_kill(&s.node[s.master]);
 *     sentinels_next(&s, 10000);       s.master is another one now
 *
 * All of it ends with the test. The sentinels ask and tell more often than they would by themselves, so that a failover is a
 * matter of a second (SENTINEL DEBUG).
 */
#ifndef SFID_TESTS_SENTINELS_H
#define SFID_TESTS_SENTINELS_H

#include "support/redis.h"

enum { SENTINELS = 3, SENTINEL_NODES = 3 };

struct sentinels {
    struct redis node[SENTINEL_NODES], sentinel[SENTINELS];
    int master;    /* of node[], as of the last call */
    char url[160]; /* redis+sentinel://…/main */
};

/** Starts it, and waits until everybody knows everybody. down_ms: how long a master does not answer before it is down. */
void sentinels_start(struct sentinels *s, const char *program, unsigned down_ms);
void sentinels_end(struct sentinels *s);

/** The node that a sentinel names as master; -1: none of them. */
int sentinels_named_by(struct sentinels *s, int sentinel);

/**
 * Waits until all sentinels that run name one and the same other master than s->master, which says so itself. Returns it, as
 * s->master; -1 when it does not come to that.
 */
int sentinels_next(struct sentinels *s, unsigned limit_ms);

/** Waits until all nodes that run follow the master, have all it has, and the sentinels know. */
bool sentinels_whole(struct sentinels *s, unsigned limit_ms);

/** Brings a sentinel back that was killed, with what it knew. */
void sentinels_restart(struct sentinels *s, int sentinel);

/** Has a sentinel fail over from a master that is well. Returns the next one, or -1. */
int sentinels_fail_over(struct sentinels *s, unsigned limit_ms);

#endif
