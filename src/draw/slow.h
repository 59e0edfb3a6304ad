/* SPDX-License-Identifier: MIT */
/* slow.h - the slow path: the table that decides how a call gets a position. */
#ifndef SFID_DRAW_SLOW_H
#define SFID_DRAW_SLOW_H

#include "draw/wait.h"

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

/* sfid_retry_ms() of a generator, without its limit: a wait may take years. */
int64_t sfid__draw_retry_ms(const struct sfid__generator *g);

/* sfid_ready() of a generator: true if a call that may not sleep would return an ID or
 * SFID_EAGAIN. */
bool sfid__draw_ready(const struct sfid__generator *g);

/* The ID of position n, which is in that tick. seq_bits is read anew: gcc would keep it twice, as
 * it is and masked. */
static inline int64_t sfid__compose_in(const struct sfid__record *r, uint64_t tick, uint64_t n) {
    const uint64_t seq = n ^ tick << sfid__shift(*(const volatile uint16_t *)&r->seq_bits);
    return (int64_t)(tick << sfid__shift(r->time_shift) | r->pid_field |
                     seq << sfid__shift(r->seq_shift));
}

/* The ID of position n. */
static inline int64_t sfid__compose(const struct sfid__record *r, uint64_t n) {
    return sfid__compose_in(r, sfid__record_tick(r, n), n);
}

#endif
