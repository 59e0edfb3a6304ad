/* SPDX-License-Identifier: MIT */
/* keeper_berth.c - a keeper that is one of many: its turns in the crew of the process. keeper.c has
 * the argument. */
#include "lease/keeper_parts.h"

#define ASIDE_MOST_MS 5000

/* I7. True if the crew with this watch keeps the page: it lives, and it is at work on the page, or
 * answers, or pauses after a failure. */
static bool is_kept_by(const struct sfid__keeper *k, uint64_t watch) {
    if (watch == 0 || !sfid__watch_lives(watch & ~SFID__IN_TURN))
        return false;
    return (watch & SFID__IN_TURN) || !sfid__keeper_is_deaf(k) ||
           /* a hint */
           atomic_load_explicit(&k->generator->page->resting, memory_order_relaxed) == SFID__FAILS;
}

/* Acquire, with the exchanges in take_page() and pass(). */
static uint64_t watch_of(const struct sfid__page *page) {
    return atomic_load_explicit(&page->watch, memory_order_acquire);
}

bool sfid__berth_is_served(const struct sfid__keeper *k) {
    return is_kept_by(k, watch_of(k->generator->page));
}

static struct sfid__keeper *keeper_of(const struct sfid__berth *b) {
    return (struct sfid__keeper *)(void *)((uintptr_t)b - offsetof(struct sfid__keeper, berth));
}

/* I9. Relaxed: turns write it; for calls it is a hint. */
static bool steps_aside(const struct sfid__keeper *k) {
    return sfid__monotonic_ms(k->generator->clock) <
           atomic_load_explicit(&k->aside_until_ms, memory_order_relaxed);
}

/* I7. Takes a page that nobody keeps, and begins its first turn. */
static bool take_page(struct sfid__keeper *k, uint64_t watch, uint32_t number) {
    struct sfid__page *page = k->generator->page;
    uint64_t seen = watch_of(page);
    if (is_kept_by(k, seen) || steps_aside(k))
        return false;
    /* Acq_rel, with the exchanges of earlier keepers: the machine is brought up to what they left.
     * One of two wins. */
    if (!atomic_compare_exchange_strong_explicit(&page->watch, &seen, watch | SFID__IN_TURN,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false;
    /* a hint: this turn looks at the poke all the same */
    atomic_store_explicit(&page->berth, number, memory_order_relaxed);
    k->watch = watch;
    atomic_store_explicit(&k->gave_way, false, memory_order_relaxed); /* for sfid_status() alone */
    /* I8. Relaxed: the exchange orders it. */
    const uint64_t reign = atomic_fetch_add_explicit(&page->reign, 1, memory_order_relaxed);
    if (reign != k->followed)
        sfid__holder_unfollow(k->holder);
    k->followed = reign + 1;
    return true;
}

/* I7. From the first value to the second; false if another crew has the page by now. Acq_rel, as in
 * take_page(). */
static bool pass(struct sfid__keeper *k, uint64_t from, uint64_t to) {
    return atomic_compare_exchange_strong_explicit(&k->generator->page->watch, &from, to,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

static void step_in_turn(struct sfid__keeper *k, bool first, int64_t *due_ms) {
    struct sfid__page *page = k->generator->page;
    if (first) {
        sfid__holder_attend(k->holder, sfid__keeper_tell_event, k, &k->stop);
        sfid__keeper_tell_opened(k);
        sfid__holder_resume(k->holder);
    }
    /* I4. Acquire, with the release in sfid__page_poke. */
    const bool poked = atomic_exchange_explicit(&page->poke, 0, memory_order_acq_rel) != 0;
    *due_ms = sfid__holder_step(k->holder, poked || first);
    sfid__keeper_note_rest(k, *due_ms);
}

/*
 * Another crew keeps the page. This one forgets what it knew of it, and looks now and then whether
 * that one still lives: it may die where no call asks for another, and the lease of a server would
 * end.
 */
static int64_t give_way(struct sfid__keeper *k) {
    if (k->watch != 0) {
        /* this turn may have taken a poke that was meant for the other one */
        sfid__page_wake(k->generator->page);
        sfid__holder_unfollow(k->holder);
    }
    k->watch = 0;
    atomic_store_explicit(&k->gave_way, true, memory_order_relaxed); /* for sfid_status() alone */
    return sfid__monotonic_ms(k->generator->clock) + sfid__keeper_window_ms(k) / 4;
}

/*
 * I9. Leaves the page to others for a pause, and goes on with what it knows if nobody took it. The
 * pause doubles here: the machine's begins anew when another one has kept the page, and several
 * that fail would try without end.
 */
static int64_t step_aside(struct sfid__keeper *k, uint64_t watch, int64_t due_ms) {
    const int64_t now_ms = sfid__monotonic_ms(k->generator->clock),
                  longest_ms = sfid__keeper_window_ms(k) / 3;
    k->aside_ms = SFID__MAX(due_ms - now_ms,
                            SFID__MIN(2 * k->aside_ms, SFID__MIN(longest_ms, ASIDE_MOST_MS)));
    const int64_t until_ms = now_ms + k->aside_ms;
    atomic_store_explicit(&k->aside_until_ms, until_ms, memory_order_relaxed);
    if (!pass(k, watch | SFID__IN_TURN, 0))
        return give_way(k);
    k->watch = 0;
    sfid__page_wake(k->generator->page); /* a crew that looks at the page takes it at once */
    return until_ms;
}

static int64_t take_turn(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    struct sfid__keeper *k = keeper_of(b);
    const bool first = k->watch != watch;
    int64_t due_ms = SFID__FOREVER;
    /* Acquire, with the release in sfid__keeper_stop(), which waits for this turn and then takes
     * the berth out. */
    if (atomic_load_explicit(&k->stop, memory_order_acquire) != 0)
        return SFID__FOREVER;
    if (!(first ? take_page(k, watch, number) : pass(k, watch, watch | SFID__IN_TURN)))
        return give_way(k);
    step_in_turn(k, first, &due_ms);
    if (sfid__keeper_backs_off(k) && sfid__holder_is_stuck(k->holder))
        return step_aside(k, watch, due_ms);
    k->aside_ms = 0;
    return pass(k, watch | SFID__IN_TURN, watch) ? due_ms : give_way(k);
}

/* Relaxed: the turn that follows takes the poke with acquire. */
static bool is_poked(const struct sfid__berth *b) {
    const struct sfid__keeper *k = keeper_of(b);
    if (atomic_load_explicit(&k->generator->page->poke, memory_order_relaxed) == 0)
        return false;
    return k->watch != 0 ? !sfid__keeper_pauses(k) : !sfid__berth_is_served(k) && !steps_aside(k);
}

static bool has_failed(const struct sfid__berth *b) {
    const struct sfid__keeper *k = keeper_of(b);
    return k->watch != 0 && sfid__keeper_backs_off(k);
}

static uint64_t group_of(const struct sfid__berth *b) { return keeper_of(b)->holder->store->group; }

/* This process's crew has ended: it has lost its watch, or got none. */
static void has_left(struct sfid__berth *b) {
    struct sfid__keeper *k = keeper_of(b);
    /* this thread may have taken a poke that was meant for the other one */
    sfid__page_wake(k->generator->page);
    sfid__holder_unfollow(k->holder);
    k->watch = 0;
    atomic_store_explicit(&k->owner, sfid__keeper_own() | SFID__KEEPER_ENDED,
                          memory_order_release); /* with the acquire in sfid__keeper_start */
}

static const struct sfid__berth_ops berth_ops = {.turn = take_turn,
                                                 .is_poked = is_poked,
                                                 .has_failed = has_failed,
                                                 .group = group_of,
                                                 .left = has_left};

/* 0 or an errno. In a child the berth is a copy of its parent's. */
int sfid__berth_join(struct sfid__keeper *k) {
    if (k->berth.ops == NULL) { /* once: later a call may be in sfid__crew_look() with it */
        k->berth.ops = &berth_ops;
        k->berth.remote = k->holder->store->server != NULL;
    }
    k->watch = 0;
    k->aside_ms = 0; /* a parent's */
    atomic_store_explicit(&k->aside_until_ms, 0, memory_order_relaxed);
    return sfid__crew_join(&k->berth);
}

/* For the closing thread (I5). */
void sfid__berth_leave(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    sfid__crew_leave(&k->berth);
    if (k->watch == 0) {
        if (atomic_load_explicit(&page->reign, memory_order_relaxed) != k->followed)
            sfid__holder_unfollow(k->holder); /* I8: another crew has kept since */
        return;
    }
    if (watch_of(page) == k->watch)
        /* a hint: nobody rests any more */
        atomic_store_explicit(&page->resting, 0, memory_order_relaxed);
    if (!pass(k, k->watch, 0)) {
        sfid__page_wake(page); /* as above */
        sfid__holder_unfollow(k->holder);
    }
    k->watch = 0;
}

bool sfid__keeper_is_missed(const struct sfid__keeper *k) {
    return sfid__keeper_in_crew(k) && !sfid__berth_is_served(k) && !steps_aside(k);
}

void sfid__keeper_look(struct sfid__keeper *k) { sfid__crew_look(&k->berth); }
