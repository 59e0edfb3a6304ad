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
    SFID__TICK_CLOCK    /* the generator's clock */
};

struct sfid__cold; /* handle.h */
struct sfid__generator;

/*
 * What a generator has besides if processes share its page (crowd.c). Once others use the page up,
 * this process's calls go on with the generator `next`, which has the next page.
 */
struct sfid__crowd {
    /* in place of the generator's, which is closed forever: all calls take the slow path */
    _Atomic(struct sfid__record *) record;
    _Atomic(struct sfid__generator *) next; /* NULL: this one */
    /* first tick that may be issued here; UINT64_MAX: not known yet */
    _Atomic uint64_t from;
    /* highest tick that a call of this process has issued here */
    _Atomic uint64_t last;
    _Atomic uint64_t mine;        /* positions that this process took here, modulo 2^64 */
    _Atomic uint64_t full;        /* position at which a tick was last found used up */
    _Atomic uint64_t full_mine;   /* `mine` then */
    _Atomic uint64_t full_issued; /* what all processes had issued from the record then */
};

/*
 * The part of a handle that threads generate through. `record` and `word_tick`
 * come first, for the inline form. All members but the atomics are set before
 * the caller gets the handle, and never change. The memory stays after close,
 * for late calls. So `ticks`, `wide_record` and `crowd` come last: a handle that
 * does not use them is allocated without them.
 *
 * A generator of wide IDs keeps its record in `wide_record`, and its `record`
 * always points to sfid__wide_only. A call for 64-bit IDs finds a closed word
 * there, and the slow path says what is wrong. So the hot path needs no further
 * comparison.
 */
struct sfid__generator {
    /* the current record as far as this process knows; sfid__no_record when closed */
    _Atomic(struct sfid__record *) record;
    /* a tick in which a call saw the word; UINT64_MAX: calls look (hot.c) */
    _Alignas(8) _Atomic uint64_t word_tick;
    enum sfid__tick_source source;
    uint32_t unit_s; /* of a tick, and the epoch, both in seconds: for SFID__TICK_SECONDS */
    uint64_t epoch_s;
    /* other processes of the host may draw from the page, too; then there is a `crowd` */
    bool shared;
    struct sfid__page *page;
    const struct sfid__clock *clock;
    sfid_layout layout;
    sfid_exhaustion exhaustion;
    uint32_t max_wait_ms;
    uint64_t end;       /* tick: sfid__layout_end() */
    uint64_t max_ahead; /* ticks */
    /* ticks that the store's clock may be ahead of ours; 0: it has none */
    uint64_t max_skew;
    uint64_t random_start; /* bound of the sequence start, 0: always 0 */
    /* ticks: with less left, calls want the keeper; 0: nobody renews */
    uint64_t half_window;
    /* called if the call may sleep; NULL: no keeper */
    void (*keeper_wanted)(struct sfid__generator *g);
    /* called if the call may sleep; NULL: there is no next page */
    void (*page_wanted)(struct sfid__generator *g);
    /* closed, and a successor may go on with the lease */
    _Atomic bool left;
    /* wanted by a call that may not sleep: the next one that may takes the slow path, and starts
     * it */
    _Atomic bool keeper_due;

    /* state of the random start; of a shared page: so that not all processes decide alike */
    _Atomic uint64_t random;
    _Atomic uint64_t waits, refused;
    _Atomic uint64_t furthest; /* the highest index of a record that a call went on with */
    _Atomic int last_code;
    /* calls that found the sequence used up, modulo 2^32: no room for more */
    _Atomic uint32_t exhausted;

    _Atomic(struct sfid__cold *) cold; /* NULL once closed */
    /* threads inside the cold part: sfid__process() << USERS_BITS | their count */
    _Atomic uint64_t users;
    struct sfid__generator *next_closed; /* the last member that every handle has */

    struct sfid__ticks ticks;                   /* for SFID__TICK_COUNTER, and of wide IDs */
    _Atomic(struct sfid__record *) wide_record; /* of wide IDs only */
    struct sfid__crowd crowd;                   /* of shared pages only */
};

/* As numbers: programs have them compiled in, so both sides may not move together. */
static_assert(offsetof(struct sfid__handle_head, record) == 0 &&
                  offsetof(struct sfid__handle_head, word_tick) == 8,
              "inline form: frozen");
static_assert(offsetof(struct sfid__generator, record) ==
                  offsetof(struct sfid__handle_head, record),
              "inline form: record");
static_assert(offsetof(struct sfid__generator, word_tick) ==
                  offsetof(struct sfid__handle_head, word_tick),
              "inline form: tick");

/* A record that issues nothing: a handle points to it before it is open and after it is closed. */
extern struct sfid__record sfid__no_record;

/* Also closed forever: calls for 64-bit IDs find it in a generator of wide IDs. */
extern struct sfid__record sfid__wide_only;

/* Also closed forever: calls find it in a generator whose page is shared, and take the slow
 * path. */
extern struct sfid__record sfid__shared_only;

static inline bool sfid__is_wide(const struct sfid__generator *g) {
    /* compared, not followed */
    return atomic_load_explicit(&g->record, memory_order_relaxed) == &sfid__wide_only;
}

/* The pointer to the record in use. */
static inline _Atomic(struct sfid__record *) *sfid__record_at(const struct sfid__generator *g) {
    return (_Atomic(struct sfid__record *) *)(uintptr_t)(g->shared          ? &g->crowd.record
                                                         : sfid__is_wide(g) ? &g->wide_record
                                                                            : &g->record);
}

/* The generator that calls go on with. */
static inline struct sfid__generator *sfid__front(const struct sfid__generator *g) {
    struct sfid__generator *next;
    /* Acquire, with the release in sfid__draw_move(): all of it is there. */
    while (g->shared && (next = atomic_load_explicit(&g->crowd.next, memory_order_acquire)) != NULL)
        g = next;
    return (struct sfid__generator *)(uintptr_t)g;
}

/* True before the handle is open, and from the beginning of close on. One word decides, so no two
 * calls disagree. */
static inline bool sfid__is_closed(const struct sfid__generator *g) {
    /* compared, not followed */
    return atomic_load_explicit(sfid__record_at(g), memory_order_relaxed) == &sfid__no_record;
}

#endif
