/* SPDX-License-Identifier: MIT */
/*
 * slow.c - the slow path.
 *
 * Three rules alone keep IDs apart, here as on the hot path:
 *
 *   (a) one atomic read-modify-write of the record's own word takes a position,
 *       by add or compare-and-swap. The word's modification order is the order
 *       of the IDs, and no two calls get the same position;
 *   (b) a position is issued only if its tick is below the record's limit, which
 *       never passes what the store has granted;
 *   (c) a position taken with the closed bit set is dropped.
 *
 * The highest clock tick seen (hi), the lead and the clock itself decide pace only: when to issue,
 * to wait and to refuse. Their races cost a wait or a position, never uniqueness or order. So all
 * of them are relaxed, but for hi, where [hi] gives the reason.
 *
 * After every sleep and every lost race a call goes through the rows from the top. Rows 1-6 are
 * look(), 7-10 settle(), 11-18 take().
 *
 *    1  before the epoch                          SFID_ECLOCK
 *    2  past the layout's end                     SFID_EOVERFLOW
 *    3  window over, nothing good in hand         word closed: 7, 11, 12. Else ask the keeper;
 *                                                 sleep and look again,
 *                                                 or SFID_ELEASE
 *    4  clock above hi                            raise hi
 *    5  clock below the hi loaded first           a regression: raise the lead to its size, at most
 *                                                 max_ahead
 *    6  else                                      shrink the lead to what the word is ahead
 *    7  in hand, record closed, not below limit   drop it
 *    8  in hand, due                              issue it
 *    9  in hand, not due, may not wait            give it up: SFID_EAGAIN, SFID_ECLOCK behind hi
 *   10  in hand, not due                          sleep until it is due
 *   11  word closed, a newer record published     use that one
 *   12  word closed, none newer                   being replaced: as 3 (a closed handle is seen
 *                                                 before row 1)
 *   20  record void (page.h), before row 3        drop what is in hand, close the word: 11, 12 (in
 *                                                 a tick of the hot path, unseen)
 *   19  tick of clock and word below `from`,      sleep until it is due, or as 9 (generator.h,
 *                                                 struct sfid__crowd)
 *       and that not due
 *   13  word behind the clock, or `from`          move it to that tick and take a position; 14 if
 *                                                 that is at the limit
 *   14  word due and at the limit                 as 3, but SFID_ECLOCK behind hi
 *   15  word due                                  take a position
 *   16  else, may not wait                        as 9
 *   17  else, the wait would be too long          as 9
 *   18  else                                      take one position, keep it in hand, to 10
 *
 * Due means: tick <= max(clock + lead, hi). A failing call leaves the word alone, but for the one
 * position it may have in hand. If the store's clock was ahead of ours, a record begins with that
 * lead, even above max_ahead: the time of day is the store's then.
 */
#include "draw/slow.h"

#include "draw/record.h"
#include "id/layout.h"

#define NAP_FIRST_NS INT64_C(1000000)
#define REPORTED_REGRESSION_MS 1000

struct sfid__record sfid__no_record = {.word = SFID__CLOSED};
struct sfid__record sfid__wide_only = {.word = SFID__CLOSED};
struct sfid__record sfid__shared_only = {.word = SFID__CLOSED};

enum { DRAWN = 0, AGAIN = 1, GO = 2 }; /* next to the negative codes */

/* What one look at clock and record showed; in ticks. */
struct view {
    struct sfid__record *r;
    struct sfid__time now;
    uint64_t clock, hi_before, hi, lead, limit;
    bool behind; /* the clock is below a tick that was seen before it was read */
};

static uint64_t load(const _Atomic uint64_t *p) {
    /* pace or statistics: see the head of the file */
    return atomic_load_explicit(p, memory_order_relaxed);
}

/* Raises *p to at least value; true if this call did it. */
static bool raise(_Atomic uint64_t *p, uint64_t value, memory_order order) {
    uint64_t seen = load(p);
    while (seen < value)
        if (atomic_compare_exchange_weak_explicit(p, &seen, value, order, memory_order_relaxed))
            return true;
    return false;
}

static uint64_t tick_of(const struct sfid__record *r, uint64_t word) {
    return sfid__record_tick(r, word & ~SFID__CLOSED);
}

/* ---- until when ----------------------------------------------------------- */

/* The time until the clock shows a tick; at least 1. */
static int64_t until_ns(const struct sfid__generator *g, const struct view *v, uint64_t tick) {
    const int64_t ms = sfid__tick_begin_ms(&g->layout, tick) - v->now.ms;
    return ms > INT64_MAX / 2000000 ? INT64_MAX / 2 : SFID__MAX(ms * 1000000 - v->now.ns, 1);
}

/* The time until the clock, helped by the lead, makes a tick due. */
static int64_t until_due_ns(const struct sfid__generator *g, const struct view *v, uint64_t tick) {
    return until_ns(g, v, tick > v->lead ? tick - v->lead : 0);
}

/* ---- the ways out -------------------------------------------------------- */

/*
 * Rows 9, 10, 16, 17: a position is there, but its tick is not due. The sequence was used up,
 * unless the clock is behind, or the record began ahead of the clock and this is its first tick.
 * Each call counts once.
 */
static void count_exhausted(struct sfid__generator *g, struct sfid__call *call,
                            const struct view *v, uint64_t tick) {
    if (call->exhausted || v->behind || tick == v->r->floor)
        return;
    call->exhausted = true;
    atomic_fetch_add_explicit(&g->exhausted, 1, memory_order_relaxed); /* statistic */
}

/* Rows 9, 16, 17. */
static int refuse(struct sfid__generator *g, const struct view *v) {
    atomic_fetch_add_explicit(&g->refused, 1, memory_order_relaxed); /* statistic */
    return v->behind ? SFID_ECLOCK : SFID_EAGAIN;
}

/* Rows 3, 12, 14: nothing may be issued until the keeper has done its part. The sleep ends when it
 * has (wait.c). */
static int wait_for_keeper(struct sfid__generator *g, struct sfid__call *call,
                           const struct view *v) {
    sfid__wait_want_keeper(g, call->may_sleep, true);
    call->nap_ns = call->nap_ns ? SFID__MIN(call->nap_ns * 2, SFID__WAIT_LONGEST_NS) : NAP_FIRST_NS;
    if (sfid__wait_ns(g, call, call->nap_ns, true))
        return AGAIN;
    /* Acquire, with the release half of sfid__record_close: a call that saw the word closed by
     * close sees the handle closed. */
    atomic_thread_fence(memory_order_acquire);
    if (sfid__is_closed(g))
        return SFID_ECLOSED;
    if (sfid__wait_is_short(g)) /* a caller that may not sleep has not lost its lease */
        return SFID_EAGAIN;
    return load(&v->r->limit) > v->limit ? AGAIN : SFID_ELEASE;
}

/*
 * Row 14, and a position in hand at the limit: a window that ends with the layout cannot be
 * renewed. Behind hi the window is not over: the clock does not reach as far as the word has come.
 */
static int at_limit(struct sfid__generator *g, struct sfid__call *call, const struct view *v) {
    const int rc = v->limit >= g->end ? SFID_EOVERFLOW : wait_for_keeper(g, call, v);
    return rc == SFID_ELEASE && v->behind ? SFID_ECLOCK : rc;
}

/*
 * Goes on with the newest record, unless that is the one seen; false then. Only that one is
 * replaced: a handle that closes meanwhile is not reopened. Nobody follows another pointer than the
 * handle's: after close a record published by another process is unmapped.
 */
static bool use_newest(const struct sfid__generator *g, struct sfid__record *seen) {
    struct sfid__record *current = sfid__page_current(g->page);
    if (current == seen)
        return false;
    /* No part of what const promises. Relaxed: the exchange below passes it on. */
    raise((_Atomic uint64_t *)(uintptr_t)&g->furthest, (uint64_t)(current - g->page->records),
          memory_order_relaxed);
    /* Release, with the acquire in look(), on the hot path and in sfid__generator_stop(): passes on
     * what page_current acquired. */
    atomic_compare_exchange_strong_explicit(sfid__record_at(g), &seen, current,
                                            memory_order_acq_rel, memory_order_relaxed);
    return true;
}

/* Rows 11 and 12. */
static int take_newer(struct sfid__generator *g, struct sfid__call *call, const struct view *v) {
    return use_newest(g, v->r) ? AGAIN /* 11 */ : wait_for_keeper(g, call, v); /* 12 */
}

/* Row 20: another copy of this machine may issue what is in hand. A keeper may be closing, too:
 * closing is idempotent. */
static int leave_void(struct sfid__generator *g, struct sfid__call *call, const struct view *v) {
    sfid__record_close(v->r);
    call->in_hand = false;
    call->copied = true;
    return take_newer(g, call, v);
}

/* How far ahead of the clock a call may issue. */
static uint64_t lead_of(const struct sfid__generator *g, const struct sfid__record *r) {
    const uint64_t lead = SFID__MIN(load(&r->lead), SFID__MAX(g->max_ahead, g->max_skew));
    return g->exhaustion == SFID_BORROW ? SFID__MAX(lead, g->max_ahead) : lead;
}

/* ---- rows 1 to 6 --------------------------------------------------------- */

/* Row 5. A regression is reported once, and again if the clock goes back further. */
static void regressed(struct sfid__generator *g, struct view *v) {
    const uint64_t back = v->hi - v->clock;
    raise(&v->r->lead, SFID__MIN(back, g->max_ahead), memory_order_relaxed);
    const uint64_t ms = back * g->layout.unit_ms;
    uint64_t reported = load(&v->r->behind);
    if (ms <= reported * g->layout.unit_ms + REPORTED_REGRESSION_MS)
        return;
    if (atomic_compare_exchange_strong_explicit(&v->r->behind, &reported, back,
                                                memory_order_relaxed, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&g->page->regressions, 1, memory_order_relaxed); /* statistic */
        raise(&g->page->largest_regression_ms, ms, memory_order_relaxed);
        if (g->keeper_wanted)
            sfid__page_poke(g->page); /* it reports the event */
    }
}

/* Row 6. */
static void shrink_lead(struct sfid__generator *g, struct view *v) {
    if (load(&v->r->behind) != 0)
        atomic_store_explicit(&v->r->behind, 0, memory_order_relaxed);
    uint64_t lead = load(&v->r->lead);
    if (g->exhaustion == SFID_BORROW && lead <= g->max_ahead)
        return;
    const uint64_t wt = tick_of(v->r, load(&v->r->word));
    const uint64_t ahead = wt > v->clock ? wt - v->clock : 0;
    while (lead > ahead)
        if (atomic_compare_exchange_weak_explicit(&v->r->lead, &lead, ahead, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
}

/* Reads the record in v and the clock: rows 1 and 2. GO, or a code. */
static int look_at_clock(const struct sfid__generator *g, struct view *v) {
    if (v->r == &sfid__no_record)
        return SFID_ECLOSED;
    /* [hi] Acquire, with the release in row 4 below: hi is loaded before the clock is read. In the
     * other order, every thread that is preempted in between would take another's progress for a
     * step back of the clock. */
    v->hi_before = atomic_load_explicit(&v->r->hi, memory_order_acquire);
    v->now = sfid__now(g->clock);
    if (v->now.ms < g->layout.epoch_ms)
        return SFID_ECLOCK; /* 1 */
    v->clock = sfid__tick_of_ms(&g->layout, v->now.ms);
    if (v->clock >= g->end)
        return SFID_EOVERFLOW;                                           /* 2 */
    v->limit = atomic_load_explicit(&v->r->limit, memory_order_acquire); /* [limit] */
    return GO;
}

static int look(struct sfid__generator *g, struct sfid__call *call, struct view *v) {
    /* [news] Acquire, with the release in sfid__page_announce(): before all that is looked at
     * below. A handle that did not open has no page. */
    if (g->page)
        call->news = atomic_load_explicit(&g->page->news, memory_order_acquire);
    /* Acquire, with the release that published the record ([publish] in record.c, or open): its
     * fields are there. */
    v->r =
        call->in_hand ? call->from : atomic_load_explicit(sfid__record_at(g), memory_order_acquire);
    const int rc = look_at_clock(g, v);
    if (rc != GO)
        return rc;
    if (sfid__record_is_void(v->r, 0))
        return leave_void(g, call, v); /* 20 */
    v->hi = load(&v->r->hi);
    if (v->clock >= v->limit && !(call->in_hand && tick_of(v->r, call->n) < v->limit)) {
        if (!(load(&v->r->word) & SFID__CLOSED))
            return wait_for_keeper(g, call, v); /* 3 */
        call->in_hand = false;                  /* 7 */
        return take_newer(g, call, v);          /* 11, 12: closed, and its window is over */
    }
    if (v->clock > v->hi) {
        raise(&v->r->hi, v->clock, memory_order_release); /* 4 [hi] */
        v->hi = v->clock;
    }
    v->behind = v->clock < v->hi_before;
    if (v->behind)
        regressed(g, v); /* 5 */
    else
        shrink_lead(g, v); /* 6 */
    v->lead = lead_of(g, v->r);
    const uint64_t early = atomic_load_explicit(&g->page->early, memory_order_relaxed); /* pace */
    if (g->half_window != 0 && v->clock + (early ? early : g->half_window) >= v->limit)
        sfid__wait_want_keeper(g, call->may_sleep, false);
    /* as in sfid__wait_want_keeper() */
    else if (atomic_load_explicit(&g->keeper_due, memory_order_relaxed))
        atomic_store_explicit(&g->keeper_due, false, memory_order_relaxed);
    return GO;
}

/* Another call may have raised hi since the look, and moved the word there. Relaxed: a tick seen
 * late is only waited for. */
static bool due(const struct view *v, uint64_t tick) {
    return tick <= SFID__MAX(v->clock + v->lead, load(&v->r->hi));
}

/* ---- rows 7 to 10: a position is in hand --------------------------------- */

static int settle(struct sfid__generator *g, struct sfid__call *call, const struct view *v) {
    const uint64_t tick = tick_of(v->r, call->n);
    if (tick >= v->limit) {
        /* Acquire, with the release half of sfid__record_close: after it no limit of this record
         * rises. */
        if ((atomic_load_explicit(&v->r->word, memory_order_acquire) & SFID__CLOSED) == 0)
            return at_limit(g, call, v);
        call->in_hand = false; /* 7 */
        return AGAIN;
    }
    if (due(v, tick)) {
        call->count = 1; /* 8 */
        return DRAWN;
    }
    count_exhausted(g, call, v, tick);
    if (g->exhaustion == SFID_FAIL || !sfid__wait_ns(g, call, until_due_ns(g, v, tick), false))
        return refuse(g, v); /* 9 */
    return AGAIN;            /* 10 */
}

/* ---- rows 11 to 18: nothing in hand -------------------------------------- */

/* Moves the word from w to n + count; true if this call did it. Relaxed: (a) needs only the one
 * location. */
static bool draw(struct sfid__call *call, struct sfid__record *r, uint64_t w, uint64_t n,
                 uint64_t count) {
    if (!atomic_compare_exchange_strong_explicit(&r->word, &w, n + count, memory_order_relaxed,
                                                 memory_order_relaxed))
        return false;
    call->from = r;
    call->n = n;
    call->count = count;
    return true;
}

/* splitmix64 (Steele, Lea, Flood 2014). Spreads low bits; nothing depends on its quality. */
static uint64_t random_start(struct sfid__generator *g) {
    if (g->random_start == 0)
        return 0;
    uint64_t z =
        atomic_fetch_add_explicit(&g->random, UINT64_C(0x9e3779b97f4a7c15), memory_order_relaxed);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % g->random_start;
}

/* How many positions from n on are in n's tick, at most what the call wants. */
static uint64_t part_of(const struct sfid__call *call, const struct sfid__record *r, uint64_t n) {
    const uint64_t capacity = sfid__record_capacity(r);
    return SFID__MIN(call->want, capacity - (n & (capacity - 1)));
}

/* The first tick that this process may issue: generator.h, struct sfid__crowd. Acquire, with the
 * release in set_from(), crowd.c. */
static uint64_t from_of(const struct sfid__generator *g) {
    return g->shared ? atomic_load_explicit(&g->crowd.from, memory_order_acquire) : 0;
}

/*
 * The time until this process may issue IDs here, where clock and word have reached a tick; 0: now.
 * What it issued elsewhere ahead of the clock counts as a regression, as in record.c,
 * record_begin(): the lead covers it. One tick ahead is where exhaustion left it.
 */
static int64_t held_back_ns(const struct sfid__generator *g, const struct view *v, uint64_t tick) {
    const uint64_t from = from_of(g);
    if (tick >= from)
        return 0;
    if (from == UINT64_MAX)
        return NAP_FIRST_NS;
    const uint64_t ahead = from - v->clock,
                   lead = SFID__MAX(v->lead, ahead > 1 ? SFID__MIN(ahead, g->max_ahead) : 0);
    return from <= SFID__MAX(v->clock + lead, load(&v->r->hi)) ? 0 : until_ns(g, v, from - lead);
}

static int take(struct sfid__generator *g, struct sfid__call *call, const struct view *v) {
    struct sfid__record *r = v->r;
    const uint64_t w = load(&r->word);
    if (w & SFID__CLOSED)
        return take_newer(g, call, v);
    const uint64_t wt = sfid__record_tick(r, w);
    const int64_t held_back = held_back_ns(g, v, SFID__MAX(wt, v->clock));
    if (held_back) /* 19 */
        return sfid__wait_ns(g, call, held_back, false) ? AGAIN : refuse(g, v);
    const uint64_t begin = SFID__MAX(v->clock, from_of(g));
    if (wt < begin) { /* 13 */
        if (begin >= v->limit)
            return at_limit(g, call, v);
        const uint64_t n = (begin << sfid__shift(r->seq_bits)) + random_start(g);
        if (!draw(call, r, w, n, part_of(call, r, n)))
            return AGAIN;
        if (begin > v->clock)
            raise(&r->lead, begin - v->clock, memory_order_relaxed);
        atomic_fetch_add_explicit(&r->skipped, n - w, memory_order_relaxed); /* statistic */
        return DRAWN;
    }
    if (wt >= v->limit && (v->limit >= g->end || due(v, wt)))
        return at_limit(g, call, v); /* 14 */
    if (due(v, wt))
        return draw(call, r, w, w, part_of(call, r, w)) ? DRAWN : AGAIN; /* 15 */
    if (!call->may_sleep || g->exhaustion == SFID_FAIL ||
        until_due_ns(g, v, wt) > sfid__wait_left_ns(g, call)) {
        count_exhausted(g, call, v, wt);
        return refuse(g, v); /* 16, 17 */
    }
    if (wt >= v->limit)
        /* due soon, but nothing may be issued yet: the window has to grow first */
        return at_limit(g, call, v);
    if (!draw(call, r, w, w, 1))
        return AGAIN;
    call->in_hand = true; /* 18 */
    return settle(g, call, v);
}

int sfid__draw(struct sfid__generator *g, struct sfid__call *call) {
    if (call->in_hand && (call->n & SFID__CLOSED)) {
        call->in_hand = false;                                                    /* (c) */
        atomic_fetch_add_explicit(&call->from->skipped, 1, memory_order_relaxed); /* statistic */
    }
    int rc;
    do {
        struct view v;
        rc = look(g, call, &v);
        if (rc == GO)
            rc = call->in_hand ? settle(g, call, &v) : take(g, call, &v);
    } while (rc == AGAIN);
    if (rc < 0) {
        if (call->in_hand) /* given up: nobody issues it any more */
            atomic_fetch_add_explicit(&call->from->skipped, 1, memory_order_relaxed);
        /* both are statistics; the last writer wins */
        atomic_store_explicit(&g->last_code, rc, memory_order_relaxed);
    }
    return rc;
}

/* ---- what a call would find ---------------------------------------------- */

/* Rows 1 to 6 of the record in v, read only: what row 5 adds to the lead makes nothing due that hi
 * does not. GO, or a code. */
static int glance(const struct sfid__generator *g, struct view *v) {
    const int rc = look_at_clock(g, v);
    if (rc != GO)
        return rc;
    v->behind = v->clock < v->hi_before;
    v->lead = lead_of(g, v->r);
    return GO;
}

static struct sfid__record *in_use(const struct sfid__generator *g) {
    return atomic_load_explicit(sfid__record_at(g), memory_order_acquire); /* as in look() */
}

/* Row 20, but for the tick of the word: the hot path goes on there. */
static bool enters_void(const struct view *v, uint64_t wt) {
    return wt != v->clock && sfid__record_is_void(v->r, 0);
}

int64_t sfid__draw_retry_ms(const struct sfid__generator *g) {
    struct view v = {.r = in_use(g)};
    const int rc = glance(g, &v);
    if (rc != GO)
        return rc;
    const uint64_t w = load(&v.r->word), wt = tick_of(v.r, w);
    const int64_t held_back = held_back_ns(g, &v, SFID__MAX(wt, v.clock));
    const bool may_now = !held_back && (wt <= v.clock || due(&v, wt));
    if (!(w & SFID__CLOSED) && wt >= v.limit && v.limit >= g->end)
        return SFID_EOVERFLOW;
    if ((w & SFID__CLOSED) || v.clock >= v.limit || (may_now && wt >= v.limit) ||
        enters_void(&v, wt))
        return SFID__WAIT_LONGEST_NS / 1000000;
    if (may_now)
        return 0;
    return ((held_back ? held_back : until_due_ns(g, &v, wt)) + 999999) / 1000000;
}

bool sfid__draw_ready(const struct sfid__generator *g) {
    struct view v = {.r = in_use(g)};
    /* Relaxed: if it is closed only now, the answer is of a moment before. */
    if (v.r != &sfid__no_record && (load(&v.r->word) & SFID__CLOSED) && use_newest(g, v.r)) /* 11 */
        v.r = in_use(g);
    if (glance(g, &v) != GO)
        return false;
    const bool awaited = sfid__wait_is_short(g);
    const uint64_t w = load(&v.r->word), wt = tick_of(v.r, w);
    if ((w & SFID__CLOSED) || v.clock >= v.limit || enters_void(&v, wt))
        return awaited; /* 3, 12, 20 */
    if (wt >= v.limit && v.limit >= g->end)
        return false; /* 14: the layout has ended */
    if (wt <= v.clock || due(&v, wt))
        return wt < v.limit || awaited; /* 13, 15, or 14 */
    /* 16: used up for the moment, but not behind hi, and not a wait for a mark that lies ahead */
    return !v.behind && wt < v.limit;
}
