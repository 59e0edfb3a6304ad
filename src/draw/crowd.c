/* SPDX-License-Identifier: MIT */
#include "draw/crowd.h"

#include "draw/record.h"

#include <errno.h>

#define TICKS 10 /* ticks that are used up at most so far apart belong together */

static uint64_t load(const _Atomic uint64_t *p) {
    return atomic_load_explicit(p, memory_order_relaxed); /* statistics */
}

/* splitmix64's last step: spreads the bits. Nothing depends on its quality. */
static uint64_t scrambled(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 29;
}

/*
 * A call found a tick used up. If that is the second time within ten ticks, this process moves on
 * with a probability of one half less its share of what the page has issued in between. So one that
 * has half of that stays, and it is rare that all leave at once. Positions that nobody took do not
 * count: a process alone has all of what is issued, however often it pauses. count: what the call
 * has, of which the page knows already.
 */
static void note_full(struct sfid__generator *g, bool may_sleep, uint64_t count) {
    struct sfid__crowd *c = &g->crowd;
    /* Acquire, as in slow.c look(). Not the page's: that may not be mapped any more (slow.c
     * use_newest()). */
    const struct sfid__record *r = atomic_load_explicit(sfid__record_at(g), memory_order_acquire);
    if (r == &sfid__no_record)
        return;
    const uint64_t word = sfid__record_position(r), mine = load(&c->mine) + count,
                   issued = sfid__record_issued(r);
    const uint64_t ours = mine - load(&c->full_mine), all = issued - load(&c->full_issued);
    uint64_t before = load(&c->full);
    if (sfid__record_tick(r, word) == sfid__record_tick(r, before) ||
        !atomic_compare_exchange_strong_explicit(&c->full, &before, word, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    atomic_store_explicit(&c->full_mine, mine, memory_order_relaxed);
    atomic_store_explicit(&c->full_issued, issued, memory_order_relaxed);
    if (word < before || sfid__record_tick(r, word - before) > TICKS || !may_sleep ||
        g->page_wanted == NULL)
        return;
    if (all == 0 || all > word - before) /* another record than before */
        return;
    if (scrambled(word ^ load(&g->random)) % all > all / 2 + ours)
        g->page_wanted(g);
}

/*
 * Notes what a call took. False if the process moved on meanwhile: then it may lie above what the
 * next page issues.
 *
 * Sequentially consistent, with the fences [move] in set_from(): the exchange that raised `last` to
 * this tick, or above, comes before the load that finds it there, and that before the load of
 * `next`. If that finds no next generator, it comes before the mover's fence, and the mover finds
 * `last` raised. So only the first call of a tick pays for the order.
 */
static bool may_issue(struct sfid__generator *g, const struct sfid__call *call) {
    struct sfid__crowd *c = &g->crowd;
    const uint64_t tick = sfid__record_tick(call->from, call->n);
    uint64_t last = atomic_load_explicit(&c->last, memory_order_seq_cst);
    atomic_fetch_add_explicit(&c->mine, call->count, memory_order_relaxed);
    while (last < tick && !atomic_compare_exchange_weak_explicit(
                              &c->last, &last, tick, memory_order_seq_cst, memory_order_seq_cst))
        ;
    return atomic_load_explicit(&c->next, memory_order_seq_cst) == NULL;
}

/* Sets where `next` begins for this process, if nobody has: the thread that moves it does not exist
 * in a child forked just then. */
static void set_from(struct sfid__generator *g, struct sfid__generator *next) {
    uint64_t open = UINT64_MAX;
    atomic_thread_fence(memory_order_seq_cst); /* [move] */
    /* this page may have given nothing */
    const uint64_t from = SFID__MAX(load(&g->crowd.last) + 1, load(&g->crowd.from));
    /* Release, with the acquire in slow.c from_of(): not before the above. */
    atomic_compare_exchange_strong_explicit(&next->crowd.from, &open, from, memory_order_release,
                                            memory_order_relaxed);
}

static struct sfid__generator *front(struct sfid__generator *g) {
    struct sfid__generator *next;
    /* Acquire, with the release in sfid__draw_move(). */
    for (; (next = atomic_load_explicit(&g->crowd.next, memory_order_acquire)) != NULL; g = next)
        if (load(&next->crowd.from) == UINT64_MAX)
            set_from(g, next);
    return g;
}

static int draw_from(struct sfid__generator *g, struct sfid__call *call) {
    if (!g->shared)
        return sfid__draw(g, call);
    for (;;) {
        struct sfid__generator *at = front(g);
        const int rc = sfid__draw(at, call);
        if (call->exhausted)
            note_full(at, call->may_sleep, rc < 0 ? 0 : call->count);
        if (rc < 0 || may_issue(at, call))
            return rc;
        /* statistic */
        atomic_fetch_add_explicit(&call->from->skipped, call->count, memory_order_relaxed);
        call->in_hand = false;
    }
}

int sfid__draw_front(struct sfid__generator *g, struct sfid__call *call) {
    const int before = errno; /* a signal handler may be the caller */
    const int rc = draw_from(g, call);
    errno = before;
    return rc;
}

void sfid__draw_move(struct sfid__generator *g, struct sfid__generator *next) {
    atomic_store_explicit(&next->crowd.from, UINT64_MAX, memory_order_relaxed);
    /* Release, with the acquire in front() and sfid__front(). */
    atomic_store_explicit(&g->crowd.next, next, memory_order_release);
    set_from(g, next);
}
