/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the one background thread of a generator.
 *
 * It drives the holding - extends the window before it ends, gets another pid
 * where one is lost - and tells events; nothing else touches it while it runs. It holds the page's keeper lock for as long as it
 * lives, so over a whole fork family there is one. A forked child has none:
 * the child whose calls find half of the window gone starts its own, if the
 * lock is free, that is, if the keeper before it is dead.
 */
#ifndef SFID_LEASE_KEEPER_H
#define SFID_LEASE_KEEPER_H

#include "lease/holder.h"

#include <pthread.h>

/* Text that the keeper writes and any thread reads, without a lock: a child may be forked while it is written. */
struct sfid__shared_text {
    _Atomic uint32_t version; /* odd while being written */
    _Atomic uint64_t words[SFID__ERROR_TEXT / 8];
};

/* False when it was being written all the while (a child forked at that moment: for ever). */
bool sfid__text_read(const struct sfid__shared_text *text, char out[SFID__ERROR_TEXT]);

struct sfid__keeper {
    struct sfid__generator *generator;
    struct sfid__holder *holding; /* NULL: there is nothing to renew, only events to tell */
    void (*on_event)(void *user, const sfid_event *event);
    void *user;
    char app[65]; /* as in the options; empty: none is given there */
    uint64_t reign; /* the page's when this keeper got it */
    bool ends_soon; /* the layout */
    bool begun;     /* what open noticed was told */

    _Atomic uint64_t owner; /* sfid__process() << 2 | state: whether the thread of this process runs */
    _Atomic int stop;
    pthread_t thread;

    _Atomic uint64_t failures; /* renewals failed since the last that did not */
    _Atomic uint64_t losses;   /* found by this process */
    _Atomic int failure_code;
    struct sfid__shared_text failure;

    uint64_t told_regressions;
    uint32_t told_exhausted;
};

/* Starts the thread of this process unless it runs. 0, SFID_EAGAIN when another process's keeper is alive, SFID_ENOMEM. */
int sfid__keeper_start(struct sfid__keeper *k);

/* Ends the thread, if this process has one, and waits for that. No start may run beside it; not from the thread itself. */
void sfid__keeper_stop(struct sfid__keeper *k);

/* True in the thread of the keeper, that is, inside a callback, from the first on. */
bool sfid__keeper_is_self(const struct sfid__keeper *k);

/* True while this process runs the thread. */
bool sfid__keeper_runs(const struct sfid__keeper *k);

#endif
