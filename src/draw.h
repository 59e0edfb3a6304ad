/* SPDX-License-Identifier: MIT */
/* draw.h - the slow path: the decision table by which a number is drawn. */
#ifndef SFID_DRAW_H
#define SFID_DRAW_H

#include "clock.h"
#include "page.h"
#include "ticks.h"

/* Where the hot path gets its hint of the current tick. */
enum sfid__tick_source {
    SFID__TICK_SECONDS, /* time() */
    SFID__TICK_COUNTER, /* ticks.h */
    SFID__TICK_PRECISE, /* clock_gettime() */
    SFID__TICK_TABLE    /* the generator's clock: tests */
};

struct sfid__rest; /* handle.h */

/*
 * The part of a handle that threads draw through. `record` comes first, for
 * the inline form. All but the atomics is set before the handle is handed out
 * and never again; the whole stays in memory after close, for late callers.
 * Therefore `ticks` comes last: a handle that has no use for it has no room.
 */
struct sfid__generator {
    _Atomic(struct sfid__record *) record; /* this process's idea of the current record; sfid__no_record when closed */
    enum sfid__tick_source source;
    struct sfid__page *page;
    const struct sfid__clock *clock;
    sfid_layout layout;
    sfid_exhaustion exhaustion;
    uint32_t max_wait_ms;
    uint64_t end;                                     /* tick: sfid__layout_end() */
    uint64_t max_ahead;                               /* ticks */
    uint64_t max_skew;                                /* ticks that the clock of the store may be ahead of ours; 0: it has none */
    uint64_t random_start;                            /* bound of the sequence start, 0: always 0 */
    uint64_t half_window;                             /* ticks: with less left the keeper is asked for; 0: nobody renews */
    void (*keeper_wanted)(struct sfid__generator *g); /* called where sleeping is allowed; NULL: no keeper */

    _Atomic uint64_t random; /* state of the random start */
    _Atomic uint64_t waits, refused;
    _Atomic int last_code;

    _Atomic(struct sfid__rest *) rest;   /* NULL once closed */
    _Atomic uint64_t users;              /* threads inside the rest: sfid__process() << USERS_BITS | their number */
    struct sfid__generator *next_closed; /* the last but ticks */

    struct sfid__ticks ticks; /* for SFID__TICK_COUNTER only */
};

static_assert(offsetof(struct sfid__generator, record) == 0, "the inline form reads the record at offset 0");

/* A record with nothing to draw: what a handle points to before it is open and after it is closed. */
extern struct sfid__record sfid__no_record;

/* True before the handle is open and from the begin of close on. One word says so, so no two calls disagree. */
static inline bool sfid__is_closed(const struct sfid__generator *g) {
    return atomic_load_explicit(&g->record, memory_order_relaxed) == &sfid__no_record; /* compared, not followed */
}

/* One call's way through the table. */
struct sfid__call {
    bool may_sleep;
    uint64_t want;             /* how many numbers at most, at least 1 */
    uint64_t n, count;         /* result: the first number and how many, all of one tick */
    struct sfid__record *from; /* result: the record they were drawn from */
    bool in_hand;              /* n was drawn before, for one ID, and is not issued yet */
    bool slept;
    int64_t deadline_ns; /* monotonic; 0 until the call first wants to sleep */
    int64_t nap_ns;      /* of the next look at a window that is over */
};

/* How many of n IDs one call may return: their number is an int64_t. */
static inline size_t sfid__countable(size_t n) {
#if SIZE_MAX > INT64_MAX
    return SFID__MIN(n, INT64_MAX);
#else
    return n;
#endif
}

/* Returns 0 with n, count and from set, or a negative code. */
int sfid__draw(struct sfid__generator *g, struct sfid__call *call);

/* sfid_retry_ms() of a generator. */
int sfid__draw_retry_ms(const struct sfid__generator *g);

/* The ID of number n. */
static inline int64_t sfid__compose(const struct sfid__record *r, uint64_t n) {
    const uint64_t tick = n >> r->seq_bits;
    const uint64_t seq = n & ((UINT64_C(1) << r->seq_bits) - 1);
    return (int64_t)(tick << r->time_shift | r->pid_field | seq << r->seq_shift);
}

#endif
