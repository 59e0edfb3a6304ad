/* SPDX-License-Identifier: MIT */
/* hot.h - the hot path: starts and stops a generator, and takes one position. */
#ifndef SFID_DRAW_HOT_H
#define SFID_DRAW_HOT_H

#include "draw/crowd.h"

/*
 * Makes a generator that answers every call with SFID_ECLOSED. widen makes it one of wide IDs, and
 * share, after that, one of a page that processes share; the handle must have room.
 */
void sfid__generator_init(struct sfid__generator *g);
void sfid__generator_widen(struct sfid__generator *g);
void sfid__generator_share(struct sfid__generator *g);

/* Its hint comes from time(). The layout is set before, and in whole seconds. */
void sfid__generator_use_seconds(struct sfid__generator *g);

/* What the generator decides at random begins anew. Alone with it; sfid__generator_share() does
 * that, too. */
void sfid__generator_seed(struct sfid__generator *g);

/* Opens the generator: threads may take positions from r now. All other members are set before. */
void sfid__generator_start(struct sfid__generator *g, struct sfid__record *r);

/* Rejects every call that begins from now on. Calls in progress may finish with a position taken
 * before. */
void sfid__generator_stop(struct sfid__generator *g);

/* Answers a call for IDs of the other width: notes and returns SFID_EINVAL, or returns
 * SFID_ECLOSED. */
int sfid__wrong_width(struct sfid__generator *g);

/*
 * Takes one position for a wide ID, as sfid_next() does for a 64-bit ID.
 * Returns 0 with call->from and call->n set, or a negative code.
 */
int sfid__next_number(struct sfid__generator *g, bool may_sleep, struct sfid__call *call);

/* Positions of one tick; count 0: none. */
struct sfid__run {
    struct sfid__record *from;
    uint64_t n, count;
};

/* Takes at most so many positions of a tick, which the hint has shown, for 64-bit IDs. With none
 * the slow path has to look. */
struct sfid__run sfid__draw_in_tick(struct sfid__generator *g, uint64_t tick, uint64_t want);

/* Takes at most so many positions of the hint's tick for wide IDs. False: not all of them. With
 * none the slow path has to look. */
bool sfid__draw_numbers(struct sfid__generator *g, uint64_t want, struct sfid__run *run);

/* The slow path of a batch, wide or not: at most call->want positions. 0 with *run and
 * call->copied, or a negative code. */
int sfid__draw_run(struct sfid__generator *g, struct sfid__call *call, struct sfid__run *run);

#endif
