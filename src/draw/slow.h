/* SPDX-License-Identifier: MIT */
/* slow.h - the slow path: the table that decides how a call gets a position. */
#ifndef SFID_DRAW_SLOW_H
#define SFID_DRAW_SLOW_H

#include "draw/generator.h"

/* One call's way through the table. */
struct sfid__call {
    bool may_sleep;
    uint64_t want;             /* how many positions at most, at least 1 */
    uint64_t n, count;         /* result: the first position and how many, all of one tick */
    struct sfid__record *from; /* result: their record */
    bool in_hand;              /* n was taken before, for one ID, and is not issued yet */
    bool slept, exhausted;     /* true once counted in the statistics */
    bool copied;               /* result: a copy of this machine may have all that a batch has drawn so far */
    int64_t deadline_ns;       /* monotonic; 0 until the call first wants to sleep */
    int64_t nap_ns;            /* pause before the next look at a window that is over */
};

/* Limits n to what one call may return in an int64_t. */
static inline size_t sfid__countable(size_t n) {
#if SIZE_MAX > INT64_MAX
    return SFID__MIN(n, INT64_MAX);
#else
    return n;
#endif
}

/* Takes positions. Returns 0 with n, count and from set, or a negative code. */
int sfid__draw(struct sfid__generator *g, struct sfid__call *call);

/* Notes that the keeper is wanted, and pokes it, as a call that finds half of the window gone. Async-signal-safe. */
void sfid__draw_ask(struct sfid__generator *g);

/* sfid_retry_ms() of a generator, without its limit: a wait may take years. */
int64_t sfid__draw_retry_ms(const struct sfid__generator *g);

/* sfid_ready() of a generator: true if a call that may not sleep would return an ID or SFID_EAGAIN. */
bool sfid__draw_ready(const struct sfid__generator *g);

/* The ID of position n, which is in that tick. seq_bits is read anew: gcc would keep it twice, as it is and masked. */
static inline int64_t sfid__compose_in(const struct sfid__record *r, uint64_t tick, uint64_t n) {
    const uint64_t seq = n ^ tick << sfid__shift(*(const volatile uint16_t *)&r->seq_bits);
    return (int64_t)(tick << sfid__shift(r->time_shift) | r->pid_field | seq << sfid__shift(r->seq_shift));
}

/* The ID of position n. */
static inline int64_t sfid__compose(const struct sfid__record *r, uint64_t n) {
    return sfid__compose_in(r, sfid__record_tick(r, n), n);
}

#endif
