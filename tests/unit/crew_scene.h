/* SPDX-License-Identifier: MIT */
/* crew_scene.h - guests of a crew: berths whose turns note who had them, and hang or fail as a test
 * wants it. */
#ifndef SFID_TESTS_CREW_SCENE_H
#define SFID_TESTS_CREW_SCENE_H

#include "lease/crew.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/watch.h"

#include "support/scene.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#define NAME "sfid-keeper"
#define HELPER "sfid-helper"
#define MANY 1000

enum { SAYS_SO = 1, SILENT = 2 }; /* how a turn hangs: with a server, or with a disk */

struct guest {
    struct sfid__berth berth; /* first */
    int64_t next_ms;          /* monotonic: what a turn answers; INT64_MAX: when poked */
    _Atomic int turns, left, inside, beside;
    _Atomic int hangs, poked, fails; /* hangs: SAYS_SO or SILENT */
    _Atomic int said;                /* it has said so */
    _Atomic uint64_t group;
    _Atomic uint64_t watch;
    _Atomic uint32_t number;
    int64_t turn_ms;
    pid_t thread;
};

static _Atomic int order; /* counts turns of all */
static int turn_of[MANY]; /* by turn: whose it was */
static struct guest guests[MANY];

static struct guest *guest_of(const struct sfid__berth *b) {
    return (struct guest *)(void *)(uintptr_t)b;
}

static void nap(int64_t ms) {
    const struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

static int64_t turn(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    struct guest *g = guest_of(b);
    if (atomic_fetch_add(&g->inside, 1) > 0)
        atomic_fetch_add(&g->beside, 1);
    atomic_store(&g->poked, 0);
    atomic_store(&g->watch, watch);
    atomic_store(&g->number, number);
    g->thread = gettid();
    g->turn_ms = sfid__deadline_now_ms();
    const int at = atomic_fetch_add(&order, 1);
    if (at < MANY)
        turn_of[at] = (int)(g - guests);
    atomic_fetch_add(&g->turns, 1);
    if (atomic_load(&g->hangs) == SAYS_SO) {
        sfid__thread_hangs();
        atomic_store(&g->said, 1);
    }
    while (atomic_load(&g->hangs))
        nap(1);
    atomic_fetch_sub(&g->inside, 1);
    return g->next_ms > g->turn_ms ? g->next_ms : INT64_MAX;
}

static bool is_poked(const struct sfid__berth *b) { return atomic_load(&guest_of(b)->poked) != 0; }
static bool has_failed(const struct sfid__berth *b) {
    return atomic_load(&guest_of(b)->fails) != 0;
}
static uint64_t group_of(const struct sfid__berth *b) { return atomic_load(&guest_of(b)->group); }
static void left(struct sfid__berth *b) { atomic_fetch_add(&guest_of(b)->left, 1); }

static const struct sfid__berth_ops ops = {
    .turn = turn, .is_poked = is_poked, .has_failed = has_failed, .group = group_of, .left = left};

static struct guest *fresh(int i, int64_t next_ms) {
    memset((void *)&guests[i], 0, sizeof guests[i]);
    guests[i].berth.ops = &ops;
    guests[i].next_ms = next_ms;
    return &guests[i];
}

/* As a page is poked: the mark first, then the bell. */
static void poke(struct guest *g) {
    atomic_store(&g->poked, 1);
    sfid__watch_ring(atomic_load(&g->watch), atomic_load(&g->number));
}

static bool had_turns(void *arg) {
    const struct guest *g = arg;
    return atomic_load(&g->turns) > 0;
}

static bool had_two(void *arg) {
    const struct guest *g = arg;
    return atomic_load(&g->turns) >= 2;
}

static bool had_three(void *arg) { return atomic_load(&((struct guest *)arg)->turns) >= 3; }

/* Once something has not come, nothing else is waited for as long. */
static bool wait_until(bool (*holds)(void *arg), void *arg) {
    static _Atomic bool failed;
    const bool good = tap_wait_until(holds, arg, atomic_load(&failed) ? 100 : TAP_WAIT_MS);
    if (!good)
        atomic_store(&failed, true);
    return good;
}

static bool wait_for(bool (*holds)(void *arg), struct guest *g) { return wait_until(holds, g); }

struct turns {
    struct guest *g;
    int n;
};

static bool had_turns_of(void *arg) {
    const struct turns *t = arg;
    return atomic_load(&t->g->turns) >= t->n;
}

/* Waits until it has had n turns, and returns how many it has had. */
static int turns_of(struct guest *g, int n) {
    wait_until(had_turns_of, &(struct turns){g, n});
    return atomic_load(&g->turns);
}

static bool no_threads(void *unused) {
    (void)unused;
    return threads_named(NAME) == 0 && threads_named(HELPER) == 0;
}

static bool none_or_one_asleep(void *unused) {
    return no_threads(unused) || threads_asleep(NAME) + threads_asleep(HELPER) > 0;
}

/*
 * The kernel shows a thread for a moment after it was joined, on a busy machine for longer; it does
 * not sleep. A helper that is left does, and ends by itself, but after a second.
 */
static bool threads_end(void) {
    return tap_wait_until(no_threads, NULL, 500) ||
           (tap_wait_until(none_or_one_asleep, NULL, TAP_WAIT_MS) && no_threads(NULL));
}

#endif
