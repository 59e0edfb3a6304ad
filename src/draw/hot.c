/* SPDX-License-Identifier: MIT */
/*
 * hot.c - the hot path.
 *
 * draw() reads a hint of the current tick, and the tick of the state word or of
 * the last look at it. If both are one tick, below the limit, one add takes a
 * position. The hint may lag or be wrong: it only decides whether the slow path
 * has to look. Three rules keep IDs apart, (a), (b) and (c) of slow.c:
 *
 *   (a) fetch_add on the record's word takes the position;
 *   (b) a position is issued here only if its tick equals the hint, and the hint
 *       is below the record's limit. The tick of a closed word is above every
 *       limit, and so is the hint of a clock before the epoch;
 *   (c) a position with the closed bit has another tick than the hint.
 *
 * The look at the word before the add keeps failing calls from moving it:
 * without a look, every refused call would add one. But between threads it moves
 * the word's cache line to and fro once more than the add does. Where a sequence
 * has SFID__LOOK_BITS or more, one look a tick is enough: word_tick is the tick
 * in which a call of this process, or of the one that forked it, saw the word.
 * The inline form reads it, too, and calls sfid_next() for the look.
 *
 *   A call whose position turns out to be of another tick clears word_tick. Once
 *   a record's tick is used up, or the record closed, no look finds its word in
 *   that tick again. So word_tick is set to the tick again only by a call that
 *   had looked before, and between two stores each thread takes one position at
 *   most: its call finds word_tick set, adds, fails and clears it. K threads of
 *   a process take K positions too many, and K * (K + 1) if each of them stopped
 *   between its look and its store (doc/model/look.pml). They wait with them in
 *   hand, or lose them. Forked children have a word_tick of their own; theirs come
 *   on top. A word never falls, and a record never begins below the one before.
 *   So the word is not behind word_tick.
 *
 *   word_tick is a hint like the clock's, so relaxed: (b) and (c) are checked
 *   after the add.
 *
 *   record  acquire, with [publish] (record.c) and sfid__generator_start: the
 *           record's plain fields are there before its address.
 *   limit   acquire, with the release in sfid__record_raise_limit [limit]: the
 *           mark that covers these ticks is durable.
 *   word    relaxed: one location, whose modification order is the order of
 *           IDs. A position carries no other data with it.
 *
 * A generator whose page processes share has a closed record here: it may move
 * on to another page, so that a call looks at more (next_shared(), crowd.c).
 */
#include "draw/hot.h"

#include "base/random.h"
#include "draw/fill.h"
#include "draw/hint.h"
#include "id/layout.h"

#include <limits.h>

int sfid__wrong_width(struct sfid__generator *g) {
    if (sfid__is_closed(g))
        return SFID_ECLOSED;
    /* a statistic, as in sfid__draw() */
    atomic_store_explicit(&g->last_code, SFID_EINVAL, memory_order_relaxed);
    return SFID_EINVAL;
}

#define LOOK UINT64_MAX /* as word_tick: calls look */

/* The slow path: returns an ID, or fills in *out if out is given. */
static int64_t slow(struct sfid__generator *g, struct sfid__call call, struct sfid__call *out) {
    const int rc =
        out == NULL && sfid__is_wide(g) ? sfid__wrong_width(g) : sfid__draw_front(g, &call);
    if (out)
        *out = call;
    return rc < 0 || out ? rc : sfid__compose(call.from, call.n);
}

/* The two ways into the slow path. Their arguments are scalars: a struct would give the hot path a
 * stack frame. */
static __attribute__((noinline)) int64_t next_slow(struct sfid__generator *g, bool may_sleep,
                                                   struct sfid__call *out) {
    return slow(g, (struct sfid__call){.may_sleep = may_sleep, .want = 1}, out);
}

static __attribute__((noinline)) int64_t next_in_hand(struct sfid__generator *g,
                                                      struct sfid__record *r, uint64_t n,
                                                      bool may_sleep, struct sfid__call *out) {
    atomic_store_explicit(&g->word_tick, LOOK, memory_order_relaxed);
    return slow(
        g,
        (struct sfid__call){.may_sleep = may_sleep, .want = 1, .from = r, .n = n, .in_hand = true},
        out);
}

#define SAMPLE_BITS 6 /* of 64 positions one is counted, for all of them */
#define SAMPLED_BITS 10

/*
 * Counts positions that this process takes, for note_full() in crowd.c, which compares them with
 * what all take in a tick or more. An add for each call would cost a third of it, and one for each
 * 16th call still half a nanosecond. So of calls for one ID one in 64 counts for all of them,
 * chosen by the position's bits as Fibonacci hashing spreads them (Knuth, The Art of Computer
 * Programming, 6.4): of positions that follow one another each 64th, give or take one, and of those
 * that two processes take in turn as many for one as for the other. In a short sequence a sample
 * would say little: the shortest that has one is worth 16 of them a tick.
 */
static SFID__HOT void count_mine(struct sfid__crowd *c, struct sfid__run run) {
    /* Two adds: gcc would compute a common addend from whether the caller's exchange took place.
     * Both relaxed: a statistic. */
    if (run.count > 1 || run.from->seq_bits < SAMPLED_BITS)
        atomic_fetch_add_explicit(&c->mine, run.count, memory_order_relaxed);
    else if (unlikely(run.n * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SAMPLE_BITS) == 0))
        atomic_fetch_add_explicit(&c->mine, UINT64_C(1) << SAMPLE_BITS, memory_order_relaxed);
}

/*
 * Takes positions from a page that processes share, in a tick of which this process has issued an
 * ID: most calls need no more. Once a tick, and while the keeper has been asked and has not
 * answered, the slow path has to look, in crowd.c.
 *
 * The exchange takes positions only from the word that was compared, as in draw_many(). They are
 * issued if no `next` is seen after that. `last` is found at the tick before: the argument of
 * may_issue() in crowd.c needs no more than that it is found there before `next` is looked for, so
 * both are sequentially consistent, with the fences [move]. The call that raised it has compared
 * the tick with `from`, which does not change. Other orders as in draw().
 */
static SFID__HOT struct sfid__run draw_shared(struct sfid__generator *g, uint64_t tick,
                                              uint64_t want) {
    /* Relaxed: sfid__front() reads it anew. Where none is seen, the look behind the exchange
     * decides. */
    const bool moves = atomic_load_explicit(&g->crowd.next, memory_order_relaxed) != NULL;
    struct sfid__generator *at = unlikely(moves) ? sfid__front(g) : g;
    struct sfid__crowd *c = &at->crowd;
    struct sfid__record *r = atomic_load_explicit(&c->record, memory_order_acquire);
    const uint64_t capacity = sfid__record_capacity(r);
    uint64_t n = atomic_load_explicit(&r->word, memory_order_relaxed), count;
    do { /* the page last: a handle that did not open has none, and a record that is closed */
        if (unlikely(sfid__record_tick(r, n) != tick ||
                     tick >= atomic_load_explicit(&r->limit, memory_order_acquire) ||
                     atomic_load_explicit(&c->last, memory_order_seq_cst) != tick ||
                     atomic_load_explicit(&at->page->asked_ms, memory_order_relaxed) != 0))
            return (struct sfid__run){0};
        count = want == 1 ? 1 : SFID__MIN(want, capacity - (n & (capacity - 1)));
    } while (unlikely(!atomic_compare_exchange_weak_explicit(
        &r->word, &n, n + count, memory_order_relaxed, memory_order_relaxed)));
    if (unlikely(atomic_load_explicit(&c->next, memory_order_seq_cst) != NULL)) {
        atomic_fetch_add_explicit(&r->skipped, count, memory_order_relaxed); /* a statistic */
        return (struct sfid__run){0};
    }
    const struct sfid__run run = {r, n, count};
    count_mine(c, run);
    return run;
}

/* Both not inlined: what they need in registers would cost calls of other generators some. */
static SFID__UNGUARDED SFID__ALIGNED __attribute__((noinline)) int64_t
next_shared(struct sfid__generator *g, uint64_t tick, bool may_sleep) {
    const struct sfid__run run = draw_shared(g, tick, 1);
    return likely(run.from != NULL) ? sfid__compose_in(run.from, tick, run.n)
                                    : next_slow(g, may_sleep, NULL);
}

static SFID__UNGUARDED SFID__ALIGNED __attribute__((noinline)) int64_t
next_number_shared(struct sfid__generator *g, uint64_t tick, bool may_sleep,
                   struct sfid__call *out) {
    const struct sfid__run run = draw_shared(g, tick, 1);
    if (unlikely(run.from == NULL))
        return next_slow(g, may_sleep, out);
    out->from = run.from;
    out->n = run.n;
    return 0;
}

/*
 * Looks whether the word is in the tick. keeper_due, a hint, so relaxed: a call that may not sleep
 * was the first of the tick and could start no keeper; the next call that may sleep takes the slow
 * path, which starts it. Short sequences go without: each of their calls looks, and would load it.
 * Their ticks are short, so a call that may sleep is soon the first of one.
 */
static SFID__HOT bool is_in(struct sfid__generator *g, const struct sfid__record *r, uint64_t tick,
                            bool may_sleep) {
    if (sfid__record_tick(r, atomic_load_explicit(&r->word, memory_order_relaxed)) != tick)
        return false;
    if (r->seq_bits < SFID__LOOK_BITS)
        return true;
    if (unlikely(atomic_load_explicit(&g->keeper_due, memory_order_relaxed)))
        return !may_sleep; /* and the next call looks, too */
    atomic_store_explicit(&g->word_tick, tick, memory_order_relaxed);
    return true;
}

/* Takes a position. Returns its ID, or fills in *out if out is given. Each caller has a copy of
 * this with out folded in. */
static SFID__HOT int64_t draw(struct sfid__generator *g, bool may_sleep, struct sfid__call *out) {
    const uint64_t tick = sfid__hint(g);
    struct sfid__record *r =
        atomic_load_explicit(out ? &g->wide_record : &g->record, memory_order_acquire);
    if (unlikely(tick >= atomic_load_explicit(&r->limit, memory_order_acquire)) ||
        (atomic_load_explicit(&g->word_tick, memory_order_relaxed) != tick &&
         unlikely(!is_in(g, r, tick, may_sleep))))
        return !g->shared    ? next_slow(g, may_sleep, out)
               : out == NULL ? next_shared(g, tick, may_sleep)
                             : next_number_shared(g, tick, may_sleep, out);
    const uint64_t n = atomic_fetch_add_explicit(&r->word, 1, memory_order_relaxed);
    /* the tick was used up meanwhile, or the record closed */
    if (unlikely(sfid__record_tick(r, n) != tick))
        return next_in_hand(g, r, n, may_sleep, out);
    if (out == NULL)
        return sfid__compose_in(r, tick, n);
    out->from = r;
    out->n = n;
    return 0;
}

SFID__UNGUARDED int sfid__next_number(struct sfid__generator *g, bool may_sleep,
                                      struct sfid__call *call) {
    return (int)(may_sleep ? draw(g, true, call) : draw(g, false, call));
}

/* Aligned, so that what it costs does not change with the code before it: half a line further on it
 * took a tenth longer. */
SFID__UNGUARDED SFID__ALIGNED int64_t sfid_next(sfid *handle) {
    return unlikely(handle == NULL) ? SFID_ECLOSED
                                    : draw((struct sfid__generator *)(void *)handle, true, NULL);
}

SFID__UNGUARDED SFID__ALIGNED int64_t sfid_try_next(sfid *handle) {
    return unlikely(handle == NULL) ? SFID_ECLOSED
                                    : draw((struct sfid__generator *)(void *)handle, false, NULL);
}

int64_t sfid__next_in_hand(sfid *handle, void *record, uint64_t n) {
    return next_in_hand((struct sfid__generator *)(void *)handle, record, n, true, NULL);
}

/*
 * Takes positions of the hint's tick for a batch, at most what is left of it. None: the slow path
 * has to look.
 *
 * The exchange takes them only from the word that was compared, so all of them are of the hint's
 * tick: (b) and (c) need no second look. An add would take positions of the next tick, too. Orders
 * as in draw().
 */
static SFID__HOT struct sfid__run draw_many(struct sfid__generator *g, uint64_t tick, bool wide,
                                            uint64_t want) {
    struct sfid__record *r =
        atomic_load_explicit(wide ? &g->wide_record : &g->record, memory_order_acquire);
    uint64_t n = atomic_load_explicit(&r->word, memory_order_relaxed);
    while (likely(sfid__record_tick(r, n) == tick &&
                  tick < atomic_load_explicit(&r->limit, memory_order_acquire))) {
        const uint64_t capacity = sfid__record_capacity(r), left = capacity - (n & (capacity - 1)),
                       count = SFID__MIN(want, left);
        if (likely(atomic_compare_exchange_weak_explicit(
                &r->word, &n, n + count, memory_order_relaxed, memory_order_relaxed)))
            return (struct sfid__run){r, n, count};
    }
    return (struct sfid__run){0};
}

SFID__UNGUARDED struct sfid__run sfid__draw_in_tick(struct sfid__generator *g, uint64_t tick,
                                                    uint64_t want) {
    return g->shared ? draw_shared(g, tick, want) : draw_many(g, tick, false, want);
}

SFID__UNGUARDED bool sfid__draw_numbers(struct sfid__generator *g, uint64_t want,
                                        struct sfid__run *run) {
    const uint64_t tick = sfid__hint(g);
    *run = unlikely(g->shared) ? draw_shared(g, tick, want) : draw_many(g, tick, true, want);
    return run->count == want;
}

int sfid__draw_run(struct sfid__generator *g, struct sfid__call *call, struct sfid__run *run) {
    call->in_hand = call->copied = false;
    const int rc = sfid__draw_front(g, call);
    *run = (struct sfid__run){call->from, call->n, call->count};
    return rc;
}

static SFID__HOT void fill(int64_t *ids, struct sfid__run run) {
    sfid__fill(ids, (size_t)run.count, (uint64_t)sfid__compose(run.from, run.n),
               sfid__record_step(run.from));
}

/* A batch that is not all in the hint's tick; run: its first positions, or none. */
static __attribute__((noinline)) int64_t next_n_slow(struct sfid__generator *g, int64_t *ids,
                                                     size_t n, struct sfid__run run) {
    /* one for all rounds: max_wait_ms limits the whole call */
    struct sfid__call call = {.may_sleep = true};
    if (sfid__is_wide(g))
        return sfid__wrong_width(g);
    size_t done = 0;
    for (;;) {
        if (run.count == 0) {
            call.want = n - done;
            const int rc = sfid__draw_run(g, &call, &run);
            done = call.copied ? 0 : done;
            if (rc < 0)
                return done ? (int64_t)done : rc;
        }
        fill(ids + done, run);
        done += (size_t)run.count;
        if (done >= n)
            return (int64_t)done;
        run = sfid__draw_in_tick(g, sfid__hint(g), n - done);
    }
}

static SFID__UNGUARDED SFID__ALIGNED __attribute__((noinline)) int64_t
next_n_shared(struct sfid__generator *g, uint64_t tick, int64_t *ids, size_t n) {
    const struct sfid__run run = draw_shared(g, tick, n);
    if (unlikely(run.count != n))
        return next_n_slow(g, ids, n, run);
    fill(ids, run);
    return (int64_t)n;
}

/* Not inlined: what it needs in registers would cost the batches that are all in one tick some. */
static SFID__UNGUARDED __attribute__((noinline)) int64_t
next_n_rest(struct sfid__generator *g, uint64_t tick, int64_t *ids, size_t n) {
    return next_n_slow(g, ids, n, draw_many(g, tick, false, n));
}

static __attribute__((noinline)) int64_t next_n_odd(struct sfid__generator *g, int64_t *ids,
                                                    size_t n) {
    if (n == 0)
        return 0;
    if (ids == NULL)
        return SFID_EINVAL;
    return g == NULL ? SFID_ECLOSED : sfid_next_n((sfid *)(void *)g, ids, sfid__countable(n));
}

/*
 * A batch whose first and last position are of the hint's tick; the exchange takes them from the
 * word that was compared, as in draw_many(), through which all others go. Orders as in draw().
 */
SFID__UNGUARDED SFID__ALIGNED int64_t sfid_next_n(sfid *handle, int64_t *ids, size_t n) {
    struct sfid__generator *g = (struct sfid__generator *)(void *)handle;
    if (unlikely((uint64_t)n - 1 >= INT64_MAX || ids == NULL || g == NULL))
        return next_n_odd(g, ids, n);
    const uint64_t tick = sfid__hint(g);
    struct sfid__record *r = atomic_load_explicit(&g->record, memory_order_acquire);
    uint64_t at = atomic_load_explicit(&r->word, memory_order_relaxed);
    if (likely(sfid__record_tick(r, at) == tick && sfid__record_tick(r, at + n - 1) == tick &&
               tick < atomic_load_explicit(&r->limit, memory_order_acquire) &&
               atomic_compare_exchange_weak_explicit(&r->word, &at, at + n, memory_order_relaxed,
                                                     memory_order_relaxed))) {
        sfid__fill(ids, n, (uint64_t)sfid__compose_in(r, tick, at), sfid__record_step(r));
        return (int64_t)n;
    }
    return g->shared ? next_n_shared(g, tick, ids, n) : next_n_rest(g, tick, ids, n);
}

int sfid_retry_ms(const sfid *handle) {
    if (handle == NULL)
        return SFID_ECLOSED;
    const int64_t ms =
        sfid__draw_retry_ms(sfid__front((const struct sfid__generator *)(const void *)handle));
    return (int)SFID__MIN(ms, INT_MAX);
}

int sfid_ready(const sfid *handle) {
    return handle != NULL &&
           sfid__draw_ready(sfid__front((const struct sfid__generator *)(const void *)handle));
}

void sfid__generator_init(struct sfid__generator *g) {
    atomic_init(&g->record, &sfid__no_record);
    atomic_init(&g->word_tick, LOOK);
    g->unit_s = 1; /* a handle whose open failed may be used, too */
}

void sfid__generator_widen(struct sfid__generator *g) {
    atomic_init(&g->wide_record, &sfid__no_record);
    atomic_init(&g->record, &sfid__wide_only);
}

void sfid__generator_use_seconds(struct sfid__generator *g) {
    g->source = SFID__TICK_SECONDS;
    g->unit_s = g->layout.unit_ms / 1000;
    g->epoch_s = (uint64_t)(g->layout.epoch_ms / 1000);
}

void sfid__generator_seed(struct sfid__generator *g) {
    uint64_t seed;
    sfid__random(&seed, sizeof seed);
    atomic_init(&g->random, seed);
}

void sfid__generator_share(struct sfid__generator *g) {
    sfid__generator_seed(g);
    atomic_init(&g->crowd.record, &sfid__no_record);
    if (sfid__is_wide(g))
        atomic_init(&g->wide_record, &sfid__shared_only);
    else
        atomic_init(&g->record, &sfid__shared_only);
    g->shared = true;
}

void sfid__generator_start(struct sfid__generator *g, struct sfid__record *r) {
    /* with the acquire in draw() and look() */
    atomic_store_explicit(sfid__record_at(g), r, memory_order_release);
}

void sfid__generator_stop(struct sfid__generator *g) {
    /*
     * Acquire, with the exchange in slow.c, use_newest(): close() knows each record of the page
     * that a call went on with, and keeps it mapped (mapping.c). A store would not read what that
     * call has written. Only constants lie behind the new value.
     */
    atomic_exchange_explicit(sfid__record_at(g), &sfid__no_record, memory_order_acquire);
    if (g->page)
        sfid__page_announce(g->page); /* calls that wait for the keeper */
}
