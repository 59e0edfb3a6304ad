/* SPDX-License-Identifier: MIT */
/* wait.h - how a call sleeps, and asks for the keeper. */
#ifndef SFID_DRAW_WAIT_H
#define SFID_DRAW_WAIT_H

#include "draw/generator.h"

/* of one sleep: the longest delay until a sleeper notices a step of the clock */
#define SFID__WAIT_LONGEST_NS INT64_C(50000000)

/* One call's way through the table. */
struct sfid__call {
    bool may_sleep;
    uint64_t want;             /* how many positions at most, at least 1 */
    uint64_t n, count;         /* result: the first position and how many, all of one tick */
    struct sfid__record *from; /* result: their record */
    bool in_hand;              /* n was taken before, for one ID, and is not issued yet */
    bool slept, exhausted;     /* true once counted in the statistics */
    /* result: a copy of this machine may have all that a batch has drawn so far */
    bool copied;
    int64_t deadline_ns; /* monotonic; 0 until the call first wants to sleep */
    /* pause before the next look at a window that is over, if nobody wakes this call */
    int64_t nap_ns;
    uint32_t news; /* of the page, at the last look */
};

/* How much longer this call may sleep. */
int64_t sfid__wait_left_ns(const struct sfid__generator *g, const struct sfid__call *call);

/*
 * Sleeps ns, or the part of it that is allowed at a time; news: until the page has news that this
 * call has not seen. Returns false if the call may sleep no more.
 */
bool sfid__wait_ns(struct sfid__generator *g, struct sfid__call *call, int64_t ns, bool news);

/* Wants the keeper: half of the window is gone, or (urgent) all of it. */
void sfid__wait_want_keeper(struct sfid__generator *g, bool may_start, bool urgent);

/*
 * True if a window that is over is renewed within milliseconds, once the keeper is asked: it rests,
 * or it has ended, and the next one has not been asked for yet, or just now.
 */
bool sfid__wait_is_short(const struct sfid__generator *g);

/* Notes that the keeper is wanted, and pokes it, as a call that finds half of the window gone.
 * Async-signal-safe. */
void sfid__draw_ask(struct sfid__generator *g);

#endif
