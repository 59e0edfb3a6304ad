/* SPDX-License-Identifier: MIT */
/*
 * keeper_parts.h - what a keeper is, for its parts: keeper.c (its life, and the
 * thread of its own), keeper_berth.c (its turns in the crew) and keeper_tell.c
 * (events).
 */
#ifndef SFID_LEASE_KEEPER_PARTS_H
#define SFID_LEASE_KEEPER_PARTS_H

#include "base/process.h"
#include "lease/crew.h"
#include "lease/holder.h"
#include "lease/shared_text.h"

#include <pthread.h>

/* a keeper that leaves a poke unanswered for this long may be replaced: see keeper.c */
#define SFID__DEAF_MS 1000

/* In `owner`: see keeper.c. */
enum { SFID__KEEPER_IDLE = 0, SFID__KEEPER_STARTING, SFID__KEEPER_RUNNING, SFID__KEEPER_ENDED };

struct sfid__keeper {
    struct sfid__generator *generator;
    struct sfid__holder *holder; /* NULL: no lease to renew, only events to report */
    void (*on_event)(void *user, const sfid_event *event);
    void *user;
    char app[65]; /* as in the options; "": none */
    /* page->reign when it sat down: modulo SEATS its seat; 0: it does not keep */
    _Atomic uint64_t reign;
    /* page->reign up to which the holder knows the page: at open, or when the crew took it (I8) */
    uint64_t followed;
    bool ends_soon; /* the layout does */
    bool begun;     /* what open noticed was reported */

    struct sfid__berth berth; /* of a keeper in the crew */
    /* of the crew, while it keeps the page; else 0. Only turns have it, and stop after them */
    uint64_t watch;
    _Atomic bool gave_way; /* in the crew: to that of another process */
    /* the last such pause; 0: the last step did not end in one. Only turns have it */
    int64_t aside_ms;
    /* in the crew: leaves the page to others (I9) until then, monotonic */
    _Atomic int64_t aside_until_ms;

    _Atomic uint64_t owner; /* sfid__process() << 2 | state: see keeper.c */
    _Atomic int stop;
    /* futex: 1 once the thread has to end; for one that waits for its turn to keep */
    _Atomic uint32_t bell;
    pthread_t thread;

    _Atomic uint64_t failures; /* renewals that failed since the last success */
    _Atomic uint64_t losses;   /* found by this process */
    _Atomic int failure_code;
    struct sfid__shared_text failure;

    uint64_t told_regressions;
    uint32_t told_exhausted;
};

/* What `owner` has in it, but for the state. */
static inline uint64_t sfid__keeper_own(void) { return sfid__process() << 2; }

static inline bool sfid__keeper_shares(const struct sfid__keeper *k) {
    return k->generator->shared;
}

/* A callback that blocks must not end other generators' windows, so its keeper is a thread of its
 * own. */
static inline bool sfid__keeper_in_crew(const struct sfid__keeper *k) {
    return k->holder && !k->generator->shared && k->on_event == NULL;
}

static inline bool sfid__keeper_backs_off(const struct sfid__keeper *k) {
    return k->holder && sfid__holder_backs_off(k->holder);
}

static inline bool sfid__keeper_pauses(const struct sfid__keeper *k) {
    return k->holder && sfid__holder_pauses(k->holder);
}

/* Relaxed: pace. */
static inline int64_t sfid__keeper_window_ms(const struct sfid__keeper *k) {
    const uint64_t early = atomic_load_explicit(&k->generator->page->early, memory_order_relaxed);
    return (int64_t)((early ? early : k->generator->half_window) * 2 *
                     k->generator->layout.unit_ms);
}

/* Relaxed: a hint. A time of another time namespace may lie in the future; one keeper more
 * does no harm. */
static inline int64_t sfid__keeper_asked_ms(const struct sfid__keeper *k) {
    return (int64_t)(atomic_load_explicit(&k->generator->page->asked_ms, memory_order_relaxed) &
                     INT64_MAX);
}

/* The crew's part. join: false if memory or threads have run out. leave: after it no turn runs. */
int sfid__berth_join(struct sfid__keeper *k);
void sfid__berth_leave(struct sfid__keeper *k);

/*
 * A call wants this process's keeper, which runs. is_missed: nobody serves the page; perhaps the
 * crew of another process that had it is dead or deaf. look then has the keeper look.
 */
bool sfid__keeper_is_missed(const struct sfid__keeper *k);
void sfid__keeper_look(struct sfid__keeper *k);

/* True if a crew of this fork family keeps the page, and answers. */
bool sfid__berth_is_served(const struct sfid__keeper *k);

/* Says in the page what this keeper does until due_ms, and that what was asked is answered. Behind
 * a step. */
void sfid__keeper_note_rest(const struct sfid__keeper *k, int64_t due_ms);

/* True if the keeper does not answer, so its process is stopped, or waits for a disk as any other
 * would. */
bool sfid__keeper_is_deaf(const struct sfid__keeper *k);

/* Passes on a report of the holder, and notes it for sfid_status() and sfid_last_error(). keeper: a
 * struct sfid__keeper. */
void sfid__keeper_tell_event(void *keeper, sfid_event_kind kind, int code, int64_t value,
                             const char *text);

/* Reports what open noticed before there was a thread, once; what the slow path counted; that this
 * process keeps from now on. */
void sfid__keeper_tell_opened(struct sfid__keeper *k);
void sfid__keeper_tell_counters(struct sfid__keeper *k);
void sfid__keeper_tell_keeps(struct sfid__keeper *k);

#endif
