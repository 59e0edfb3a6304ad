/* SPDX-License-Identifier: MIT */
/**
 * sentinels.h - a master, two replicas and three sentinels that watch them. The servers are those
 * of redis.h.
 *
 *     struct sentinels s;
 *     sentinels_start(&s, "redis-server", 500);
 *     redis_kill(&s.node[s.master]);
 *     sentinels_next(&s, STACK_WAIT_MS);       s.master is another one now
 *
 * All end with the test. The sentinels exchange messages more often than by default, so that a
 * failover takes about a second (SENTINEL DEBUG).
 */
#ifndef SFID_TESTS_SENTINELS_H
#define SFID_TESTS_SENTINELS_H

#include "support/redis.h"

enum { SENTINELS = 3, SENTINEL_NODES = 3 };

struct sentinels {
    struct redis node[SENTINEL_NODES], sentinel[SENTINELS];
    int master;    /* index into node[], as of the last call */
    char url[160]; /* redis+sentinel://…/main */
};

/** Starts all, and waits until they know each other. down_ms: how long a master may be silent
 * before it counts as down. */
void sentinels_start(struct sentinels *s, const char *program, unsigned down_ms);
void sentinels_end(struct sentinels *s);

/** Returns the node that a sentinel names as master; -1: none of ours. */
int sentinels_named_by(struct sentinels *s, int sentinel);

/**
 * Waits until all running sentinels name the same new master, which confirms it. Sets s->master and
 * returns it; -1 if the time runs out.
 */
int sentinels_next(struct sentinels *s, unsigned limit_ms);

/** Waits until all running nodes follow the master and have all its data, and the sentinels
 * know. */
bool sentinels_whole(struct sentinels *s, unsigned limit_ms);

/** Restarts a killed sentinel with what it knew. */
void sentinels_restart(struct sentinels *s, int sentinel);

/** Has a sentinel fail over from a healthy master. Returns the next master, or -1. */
int sentinels_fail_over(struct sentinels *s, unsigned limit_ms);

#endif
