/* SPDX-License-Identifier: MIT */
/* queue.h - connections by what they wait for, and by their other end. */
#ifndef CMD_SERVE_QUEUE_H
#define CMD_SERVE_QUEUE_H

#include "serve/listen.h"

#include <uv.h>

/* Those of one queue have one time limit, so the first ends first. A connection is in one, and in
 * QUEUE_UNREAD as well. */
enum queue {
    QUEUE_IDLE,
    QUEUE_REQUEST,
    QUEUE_UNREAD,
    QUEUE_WAIT,
    QUEUE_LINGER,
    QUEUE_TURN,
    QUEUES
};

#define DEADLINE_NONE UINT64_MAX

/* Connections that share their other end: of IPv4 the address, of IPv6 its first 64 bits. */
struct origin {
    uint64_t key;
    uint32_t open, waiting; /* connections; those with a request that waits */
};

struct place {
    struct place *before, *after;
    uint64_t deadline;     /* by the loop's clock */
    enum queue queue;      /* QUEUES: in none */
    struct origin *origin; /* or NULL */
};

/* on_deadline: moves the place, or takes it away. */
void queues_begin(uv_loop_t *loop, void (*on_deadline)(struct place *place));
uint64_t queues_now(void); /* milliseconds, by the loop's clock */
void queue_move(struct place *place, enum queue queue, uint64_t deadline);
void queue_leave(struct place *place);
struct place *queue_first(enum queue queue);
struct place *queue_next(const struct place *place);
size_t queue_length(enum queue queue);

/* Do requests wait there for IDs or memory? */
bool queue_is_wait(enum queue queue);

/* Returns the connection, of this origin or (NULL) of any, that has had no request under way for
 * the longest time; NULL: there is none. */
struct place *queue_longest_idle(const struct origin *origin);

/* Counts a connection. NULL: a Unix socket, whose other end has no address, or no memory. */
struct origin *origin_enter(const struct listen_address *from);
void origin_leave(struct origin *origin);

/* May one more request wait for IDs? Places are kept, so that a new connection always finds an idle
 * one to replace. */
bool origin_may_wait(const struct origin *origin);

#endif
