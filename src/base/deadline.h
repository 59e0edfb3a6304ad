/* SPDX-License-Identifier: MIT */
/*
 * deadline.h - how long to keep waiting.
 *
 * One absolute moment covers a whole exchange, however many waits it takes. A
 * stop flag, checked between short waits, brings that moment forward: closing a
 * handle waits for the exchange in progress, but not for long.
 */
#ifndef SFID_BASE_DEADLINE_H
#define SFID_BASE_DEADLINE_H

#include "base/clock.h"

#define SFID__STOP_LOOK_MS 20   /* longest wait between two looks at the flag */
#define SFID__STOP_GRACE_MS 500 /* what remains of a deadline once the flag was seen */

struct sfid__deadline {
    int64_t at_ms;           /* monotonic */
    const _Atomic int *stop; /* or NULL */
    int64_t stop_at_ms;      /* 0: the flag was not seen */
};

static inline int64_t sfid__deadline_now_ms(void) { return sfid__monotonic_ms(&sfid__system_clock); }

/* Returns how many milliseconds to wait before the next call; 0 when the deadline has passed. */
static inline int sfid__deadline_left_ms(struct sfid__deadline *d) {
    const int64_t now = sfid__deadline_now_ms();
    /* Acquire, with the release of the thread that sets the flag: the caller sees everything that thread did before. */
    if (d->stop && d->stop_at_ms == 0 && atomic_load_explicit(d->stop, memory_order_acquire) != 0)
        d->stop_at_ms = now + SFID__STOP_GRACE_MS;
    int64_t left = d->at_ms - now;
    if (d->stop_at_ms != 0)
        left = SFID__MIN(left, d->stop_at_ms - now);
    else if (d->stop)
        left = SFID__MIN(left, SFID__STOP_LOOK_MS);
    return (int)SFID__MAX(0, SFID__MIN(left, 3600000));
}

#endif
