/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the keeper: the one background thread of a generator.
 *
 * The keeper drives the holder: it extends the window before it ends, and gets
 * another pid if one is lost. It reports events. Nothing else touches the
 * holder while it runs. It holds the page's lock for as long as it lives, so a
 * fork family has one keeper. A forked child has none; the child whose calls
 * find half of the window gone starts its own if the lock is free, that is, if
 * the earlier keeper is dead.
 *
 * Processes that share a page have one keeper among them. Each has a thread that
 * sleeps until a call needs a keeper, and then keeps if nobody does: a call that
 * may not sleep can start none. Any of them may replace a keeper that does not
 * wake: it takes another seat. So several locks of one page may be held, and the
 * keeper that sat down last counts.
 */
#ifndef SFID_LEASE_KEEPER_H
#define SFID_LEASE_KEEPER_H

#include "lease/crew.h"
#include "lease/holder.h"
#include "lease/shared_text.h"

#include <pthread.h>

struct sfid__keeper {
    struct sfid__generator *generator;
    struct sfid__holder *holding; /* NULL: no lease to renew, only events to report */
    void (*on_event)(void *user, const sfid_event *event);
    void *user;
    char app[65];           /* as in the options; "": none */
    unsigned seat;          /* of this keeper, while it keeps */
    _Atomic uint64_t reign; /* page->reign when it sat down; 0: it does not keep */
    bool ends_soon;         /* the layout does */
    bool begun;             /* what open noticed was reported */

    struct sfid__berth berth; /* of a keeper in the crew */
    uint64_t watch;           /* of the crew, while it keeps the page; else 0. Only turns have it, and stop after them */

    _Atomic uint64_t owner; /* sfid__process() << 2 | state: see keeper.c */
    _Atomic int stop;
    _Atomic uint32_t bell; /* futex: not 0 once it has to look; for a thread that waits for its turn to keep */
    pthread_t thread;

    _Atomic uint64_t failures; /* renewals that failed since the last success */
    _Atomic uint64_t losses;   /* found by this process */
    _Atomic int failure_code;
    struct sfid__shared_text failure;

    uint64_t told_regressions;
    uint32_t told_exhausted;
};

/* Starts this process's thread unless it runs. 0, SFID_EAGAIN if another process's keeper is alive, or SFID_ENOMEM. */
int sfid__keeper_start(struct sfid__keeper *k);

/* For a page that is shared: has this process's thread look whether a keeper is needed. Async-signal-safe. */
void sfid__keeper_ring(struct sfid__keeper *k);

/*
 * A call wants this process's keeper, which runs. is_late: it has not answered for a while, because the crew is in other
 * generators' turns. help then makes a second thread, if the crew may have one. A hint; async-signal-safe. help is not.
 */
bool sfid__keeper_is_late(const struct sfid__keeper *k);
void sfid__keeper_help(struct sfid__keeper *k);

/* Ends this process's thread, if there is one, and waits for that. Not beside a start, and not from the thread itself. */
void sfid__keeper_stop(struct sfid__keeper *k);

/* True in the keeper's own thread, that is, inside a callback. */
bool sfid__keeper_is_self(const struct sfid__keeper *k);

bool sfid__keeper_runs(const struct sfid__keeper *k);

/* True if this process's thread keeps the pid. */
bool sfid__keeper_keeps(const struct sfid__keeper *k);

#endif
