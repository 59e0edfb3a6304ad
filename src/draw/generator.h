/* SPDX-License-Identifier: MIT */
/* generator.h - the part of a handle that threads generate through. */
#ifndef SFID_DRAW_GENERATOR_H
#define SFID_DRAW_GENERATOR_H

#include "base/clock.h"
#include "draw/page.h"
#include "draw/ticks.h"

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
 * Therefore `ticks` and `wide_record` come last: a handle that has no use for
 * them has no room.
 *
 * A generator of wide IDs keeps its record in `wide_record`, and `record` leads
 * to sfid__wide_only for good. So a call for 64-bit IDs finds a closed word
 * there, and the slow path says what is wrong: the hot path compares nothing more.
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
    _Atomic uint32_t exhausted; /* calls that found the sequence used up, modulo 2^32: there is just room for that */

    _Atomic(struct sfid__rest *) rest;   /* NULL once closed */
    _Atomic uint64_t users;              /* threads inside the rest: sfid__process() << USERS_BITS | their number */
    struct sfid__generator *next_closed; /* the last that every handle has */

    struct sfid__ticks ticks;                   /* for SFID__TICK_COUNTER, and of wide IDs */
    _Atomic(struct sfid__record *) wide_record; /* of wide IDs only */
};

static_assert(offsetof(struct sfid__generator, record) == 0, "the inline form reads the record at offset 0");

/* A record with nothing to draw: what a handle points to before it is open and after it is closed. */
extern struct sfid__record sfid__no_record;

/* Closed for good as well: what calls for 64-bit IDs find in a generator of wide ones. */
extern struct sfid__record sfid__wide_only;

static inline bool sfid__is_wide(const struct sfid__generator *g) {
    return atomic_load_explicit(&g->record, memory_order_relaxed) == &sfid__wide_only; /* compared, not followed */
}

/* The word that leads to the record in use. */
static inline _Atomic(struct sfid__record *) *sfid__record_at(const struct sfid__generator *g) {
    return (_Atomic(struct sfid__record *) *)(uintptr_t)(sfid__is_wide(g) ? &g->wide_record : &g->record);
}

/* True before the handle is open and from the begin of close on. One word says so, so no two calls disagree. */
static inline bool sfid__is_closed(const struct sfid__generator *g) {
    return atomic_load_explicit(sfid__record_at(g), memory_order_relaxed) == &sfid__no_record; /* compared, not followed */
}

#endif
