/* SPDX-License-Identifier: MIT */
#include "base/watch.h"

#include "base/alive.h"
#include "base/futex.h"

#include <limits.h>
#include <sys/mman.h>

#define PLACES_BITS 14
/* processes of a family that have a thread at one time */
#define PLACES (UINT32_C(1) << PLACES_BITS)
#define FEW 16

struct watch {
    _Alignas(SFID__LINE) _Atomic uint64_t number; /* how often this place was taken */
    _Atomic uint32_t thread;                      /* that has it: base/alive.h */
    _Atomic uint32_t bell;                        /* futex: what to look at; 0: nothing */
};

struct watches {
    _Atomic uint32_t used, search; /* places that were ever taken; where the next search begins */
    struct watch place[PLACES];    /* memory that is not touched costs nothing */
};

/* Set once, and never changed: children have it at the same address. */
static _Atomic(struct watches *) family;

/* Acquire, with the exchange in sfid__watch_prepare(). */
static struct watches *ours(void) { return atomic_load_explicit(&family, memory_order_acquire); }

bool sfid__watch_prepare(void) {
    struct watches *none = NULL;
    if (ours())
        return true;
    void *fresh = mmap(NULL, sizeof *none, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&family, &none, fresh, memory_order_acq_rel,
                                                 memory_order_relaxed))
        munmap(fresh, sizeof *none); /* another thread was first */
    return true;
}

/* The place that a name has; NULL for a word that is no name. */
static struct watch *place_of(uint64_t name) {
    struct watches *all = ours();
    return all && (name & ~SFID__WATCH_FLAG) != 0 ? &all->place[name % PLACES] : NULL;
}

static uint64_t number_of(uint64_t name) { return (name & ~SFID__WATCH_FLAG) >> PLACES_BITS; }

static uint64_t name_of(uint32_t at, uint64_t number) { return number << PLACES_BITS | at; }

/* Acquire, with the release in take_at(): the bell is silent. */
static uint64_t taken(const struct watch *w) {
    return atomic_load_explicit(&w->number, memory_order_acquire);
}

static uint64_t take_at(struct watches *all, uint32_t at) {
    struct watch *w = &all->place[at];
    if (!sfid__alive_take(&w->thread))
        return 0;
    atomic_store_explicit(&w->bell, 0, memory_order_relaxed); /* nobody knows the new name yet */
    /* Not a store: of two that have the place, because one counts as dead, each has a name of its
     * own. */
    return name_of(at, atomic_fetch_add_explicit(&w->number, 1, memory_order_release) + 1);
}

/* Tries n places that were taken before, from a different one each time. */
static uint64_t take_used(struct watches *all, uint32_t n) {
    /* Relaxed, all three: which places are tried, and in which order, decides nothing. */
    const uint32_t used = SFID__MIN(atomic_load_explicit(&all->used, memory_order_relaxed), PLACES);
    const uint32_t first = atomic_fetch_add_explicit(&all->search, 1, memory_order_relaxed);
    uint64_t name = 0;
    for (uint32_t i = 0; i < SFID__MIN(n, used) && name == 0; i++)
        name = take_at(all, (first + i) % used);
    return name;
}

uint64_t sfid__watch_take(void) {
    if (!sfid__watch_prepare())
        return 0;
    struct watches *all = ours();
    uint64_t name = take_used(all, FEW);
    if (name == 0 && atomic_load_explicit(&all->used, memory_order_relaxed) < PLACES) {
        /* one process gets each number */
        const uint32_t at = atomic_fetch_add_explicit(&all->used, 1, memory_order_relaxed);
        name = at < PLACES ? take_at(all, at) : 0;
    }
    return name ? name : take_used(all, PLACES);
}

bool sfid__watch_is_ours(uint64_t name) {
    const struct watch *w = place_of(name);
    return w && taken(w) == number_of(name);
}

void sfid__watch_leave(uint64_t name) {
    /* another one may have the same number, in another PID namespace */
    if (sfid__watch_is_ours(name))
        sfid__alive_leave(&place_of(name)->thread);
}

bool sfid__watch_lives(uint64_t name) {
    return sfid__watch_is_ours(name) && sfid__alive(&place_of(name)->thread);
}

void sfid__watch_ring(uint64_t name, uint32_t what) {
    struct watch *w = place_of(name);
    if (w == NULL || taken(w) != number_of(name)) /* another process may have the place now */
        return;
    uint32_t rung = atomic_load_explicit(&w->bell, memory_order_relaxed), next;
    /* Release, with the exchange in sfid__watch_hear(): who hears the bell sees what was written
     * before it was rung. */
    do
        next = rung == 0 || rung == what ? what : SFID__WATCH_ALL;
    while (!atomic_compare_exchange_weak_explicit(&w->bell, &rung, next, memory_order_release,
                                                  memory_order_relaxed));
    sfid__futex_wake(&w->bell, SFID__FUTEX_SHARED, 1);
}

void sfid__watch_ring_all(uint64_t name) {
    struct watch *w = place_of(name);
    if (w == NULL)
        return;
    /* as in sfid__watch_ring() */
    atomic_exchange_explicit(&w->bell, SFID__WATCH_ALL, memory_order_release);
    sfid__futex_wake(&w->bell, SFID__FUTEX_SHARED, INT_MAX);
}

uint32_t sfid__watch_hear(uint64_t name) {
    struct watch *w = place_of(name);
    return w ? atomic_exchange_explicit(&w->bell, 0, memory_order_acquire) : 0;
}

void sfid__watch_sleep(uint64_t name, int64_t ms) {
    struct watch *w = place_of(name);
    if (w)
        sfid__futex_wait(&w->bell, SFID__FUTEX_SHARED, 0, ms);
}
