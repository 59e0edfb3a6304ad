/* SPDX-License-Identifier: MIT */
/*
 * proxy.h - a test's own proxy before a server. It delays, loses, holds back or cuts what passes,
 * as the test sets.
 *
 *     struct proxy p = proxy_start(&redis, 1);   listens at p.port of the loopback interface
 *     atomic_store(&p.rules->delay_ms, 200);
 *
 * It is a process, and ends with the test. Rules apply to what arrives later, in the order below.
 */
#ifndef SFID_TESTS_PROXY_H
#define SFID_TESTS_PROXY_H

#include "support/peer.h"
#include "support/redis.h"

#include <poll.h>

struct proxy_rules {
    _Atomic int refuse;     /* closes connections as soon as they come */
    _Atomic int cut_now;    /* cuts all connections, then becomes 0 */
    _Atomic int cut_one_of; /* one piece in this many cuts its connection; 0: none */
    /* one in this many makes the connection swallow all that follows, for good */
    _Atomic int silence_one_of;
    /* this many more are carried out, and their answers swallowed */
    _Atomic int lose_claims, lose_renewals, lose_releases;
    _Atomic int hold; /* answers wait until this is 0 */
    /* each way; jitter: a random addition up to this */
    _Atomic int delay_ms, jitter_ms;
    _Atomic int accepted, cut, silenced, lost, held;
};

struct proxy {
    pid_t pid;
    int port;
    struct proxy_rules *rules;
};

/* seed: for all that happens at random. */
struct proxy proxy_start(const struct redis *r, unsigned seed);
void proxy_end(struct proxy *p);

#endif
