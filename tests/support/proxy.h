/* SPDX-License-Identifier: MIT */
/*
 * proxy.h - a proxy of a test's own before a server: what passes is late, lost, held back or cut, as the test says meanwhile.
 *
 *     struct proxy p = proxy_start(&redis, 1);   listens at p.port of the loopback interface
 *     atomic_store(&p.rules->delay_ms, 200);
 *
 * It is a process, and ends with the test. Rules hold for what arrives from then on, in the order in which they stand below.
 */
#ifndef SFID_TESTS_PROXY_H
#define SFID_TESTS_PROXY_H

#include "support/peer.h"
#include "support/redis.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>

struct proxy_rules {
    _Atomic int refuse;         /* connections are closed as soon as they are there */
    _Atomic int cut_now;        /* all connections are cut; 0 again when they are */
    _Atomic int cut_one_of;     /* so rarely the arrival of something cuts its connection; 0: never */
    _Atomic int silence_one_of; /* so rarely it makes the connection swallow all from there on, for good */
    _Atomic int lose_claims, lose_renewals, lose_releases; /* so many more are carried out, and the answer swallowed */
    _Atomic int hold;                                      /* answers wait for this to be 0, and then arrive */
    _Atomic int delay_ms, jitter_ms;                       /* each way; jitter: 0 to this much more */
    /* What happened so far. */
    _Atomic int accepted, cut, silenced, lost, held;
};

struct proxy {
    pid_t pid;
    int port;
    struct proxy_rules *rules;
};

/* seed: of what happens at random. */
struct proxy proxy_start(const struct redis *r, unsigned seed);
void proxy_end(struct proxy *p);

#endif
