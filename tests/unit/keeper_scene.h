/* SPDX-License-Identifier: MIT */
/* keeper_scene.h - a keeper and its page, with a store of the test's own that children share. */
#ifndef SFID_TESTS_KEEPER_SCENE_H
#define SFID_TESTS_KEEPER_SCENE_H

#include "lease/keeper.h"

#include "id/layout.h"

#include "support/fake.h"
#include "support/scene.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

struct fake_store {
    struct sfid__store store; /* first */
    _Atomic int renewals, fail, lose, claims, busy, full;
    _Atomic int moves, meets, open_at_claim;
    _Atomic int kernel_thread; /* who renewed last */
    _Atomic int kept_well;     /* a child, before it died */
    _Atomic int looked;        /* a child has seen whether its parent serves it */
    /* the last renewal, by the monotonic clock; the longest time without one */
    _Atomic int64_t renewed_ms, longest_ms;
    struct took call; /* a child's longest one */
};

/* What a renewal waits for; NULL: for nothing. */
static bool (*before_renewal)(void *arg);

/* A window on the real clock, on a page that children share. */
static int64_t window_ms = 300;

static struct fake f;

static bool is_closed(const struct sfid__record *r) {
    return (atomic_load(&r->word) & SFID__CLOSED) != 0;
}

static int64_t monotonic_ms(void) { return sfid__monotonic_ms(&sfid__system_clock); }

static void note_renewal(struct fake_store *s) {
    const int64_t now = monotonic_ms(), since = now - atomic_exchange(&s->renewed_ms, now);
    if (since > atomic_load(&s->longest_ms))
        atomic_store(&s->longest_ms, since);
}

static enum sfid__lease_answer store_claim(struct sfid__store *store,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    struct fake_store *s = (struct fake_store *)(void *)store;
    const uint64_t pid = 8 + (uint64_t)atomic_fetch_add(&s->claims, 1);
    note_renewal(s);
    atomic_fetch_add(&s->open_at_claim, !is_closed(sfid__page_current(f.page)));
    if (atomic_load(&s->full))
        return SFID__LATER;
    if (atomic_load(&s->busy)) {
        sfid__fail(err, SFID_EBUSY, "somebody has it");
        return SFID__REFUSED;
    }
    *grant = (struct sfid__lease_event){
        .pid = pid, .floor = ask->now, .limit = ask->now + store->terms.first_window};
    return SFID__GRANTED;
}

static enum sfid__lease_answer store_renew(struct sfid__store *store,
                                           const struct sfid__lease_action *ask,
                                           struct sfid__lease_event *grant,
                                           struct sfid__error *err) {
    struct fake_store *s = (struct fake_store *)(void *)store;
    if (before_renewal)
        tap_wait_until(before_renewal, NULL, TAP_WAIT_MS);
    atomic_store(&s->kernel_thread, gettid());
    atomic_fetch_add(&s->renewals, 1);
    note_renewal(s);
    sfid__fail(err, SFID_ESTATE, "the disk is on fire");
    if (atomic_load(&s->fail))
        return SFID__FAILED;
    if (atomic_exchange(&s->lose, 0))
        return SFID__LOST;
    if (atomic_exchange(&s->meets, 0))
        return SFID__FOREIGN;
    if (ask->move_token && atomic_load(&s->moves)) {
        *grant = (struct sfid__lease_event){.pid = (uint64_t)atomic_load(&s->moves),
                                            .floor = ask->now,
                                            .limit = ask->now + store->terms.first_window};
        return SFID__SWITCHED;
    }
    *grant =
        (struct sfid__lease_event){.limit = SFID__MAX(ask->now + store->terms.window, ask->limit)};
    return SFID__GRANTED;
}

static const struct sfid__store_ops store_ops = {.claim = store_claim, .renew = store_renew};

static struct fake_store *store; /* shared with forked children */
static struct sfid__keeper k;
static struct sfid__holder h;
static _Atomic int told[SFID_EVENT_KINDS];

static void on_event(void *user, const sfid_event *event) {
    (void)user;
    if ((unsigned)event->kind < SFID_EVENT_KINDS)
        atomic_fetch_add(&told[event->kind], 1);
}

static uint64_t real_tick(void) {
    return (uint64_t)(sfid__now(&sfid__system_clock).ms - FAKE_EPOCH);
}

enum { CALL_MS = 500 };          /* while a keeper renews no call waits for it */
static struct took longest_call; /* since begin() */

static void begin(bool events) {
    memset((void *)told, 0, sizeof told);
    longest_call = (struct took){0, 0};
    fake_open(&f, NULL, SFID_WAIT, TAP_WAIT_MS, 10000);
    fake_close(&f);
    f.page = shared_memory(SFID__MAP_SIZE);
    store = shared_memory(sizeof *store);
    store->store = (struct sfid__store){.ops = &store_ops,
                                        .terms = {.window = (uint64_t)window_ms,
                                                  .first_window = (uint64_t)window_ms,
                                                  .end = sfid__layout_end(&f.g.layout),
                                                  .pid_max = 1023,
                                                  .heartbeat_ms = 100,
                                                  .first_heartbeat_ms = 100,
                                                  .poll_least_ms = 50,
                                                  .poll_most_ms = 100,
                                                  .retry_first_ms = 50,
                                                  .retry_longest_ms = 5000,
                                                  .rests = true},
                                        .exchange_ms = 2000};
    atomic_store(&store->renewed_ms, monotonic_ms());
    sfid__page_reset_keeper(f.page);
    const struct sfid__start start = {&f.g.layout,
                                      7,
                                      real_tick() << 12,
                                      real_tick() + (uint64_t)window_ms,
                                      real_tick(),
                                      f.g.max_ahead,
                                      0,
                                      0,
                                      NULL,
                                      false,
                                      0};
    sfid__record_append(f.page, 0, &start);
    f.records = 1;
    f.g.page = f.page;
    f.g.clock = &sfid__system_clock;
    f.g.source = SFID__TICK_CLOCK;
    f.g.half_window = window_ms / 2;
    memset((void *)&k, 0, sizeof k);
    k.generator = &f.g;
    memset((void *)&h, 0, sizeof h);
    h.generator = &f.g;
    h.deadline_ms = SFID__FOREVER;
    h.store = &store->store;
    h.slot.page = f.page;
    sfid__lease_init(&h.lease, &store->store.terms);
    k.holder = &h;
    k.on_event = events ? on_event : NULL;
    sfid__generator_start(&f.g, fake_record(&f));
}

static void end(void) {
    sfid__text_drop(&k.failure);
    munmap(f.page, SFID__MAP_SIZE);
    munmap(store, 4096);
}

/* Draws for a while; how many calls failed. */
static int draw_for_ms(int64_t ms) {
    int failed = 0;
    const int64_t until = tap_now_ms() + ms;
    for (int64_t before = tap_now_ms(), after; before < until; before = after) {
        failed += sfid_next(fake_handle(&f)) < 0;
        after = tap_now_ms();
        if (after - before > longest_call.ms)
            longest_call = took_longer(longest_call, took_between(before, after));
    }
    return failed;
}

/* Two checks. */
static void flows_for_ms(int64_t ms, const char *what) {
    longest_call = (struct took){0, 0};
    is_i64(draw_for_ms(ms), 0, "%s", what);
    in_time(longest_call, CALL_MS, "%s: no call waits", what);
}

#endif
