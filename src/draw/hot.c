/* SPDX-License-Identifier: MIT */
/*
 * hot.c - the hot path.
 *
 * draw() reads a hint of the current tick, and the state word. If the word's
 * tick equals the hint and lies below the limit, one add takes a position. The
 * hint may lag or be wrong: it only decides whether the slow path has to look.
 * Three rules keep IDs apart, (a), (b) and (c) of slow.c:
 *
 *   (a) fetch_add on the record's word takes the position;
 *   (b) a position is issued here only if its tick equals the hint, and the hint
 *       is below the record's limit. The tick of a closed word is above every
 *       limit, and so is the hint of a clock before the epoch;
 *   (c) a position with the closed bit has another tick than the hint.
 *
 * The check before the add keeps failing calls from moving the word: without
 * it, every refused call would add one.
 *
 *   record  acquire, with [publish] (record.c) and sfid__generator_start: the
 *           record's plain fields are there before its address.
 *   limit   acquire, with the release in sfid__record_raise_limit [limit]: the
 *           mark that covers these ticks is durable.
 *   word    relaxed: one location, whose modification order is the order of
 *           IDs. A position carries no other data with it.
 *
 * A generator whose page processes share has a closed record here, and takes the
 * slow path for each ID: it may move on to another page.
 */
#include "draw/hot.h"

#include "base/random.h"
#include "draw/hint.h"
#include "id/layout.h"

int sfid__wrong_width(struct sfid__generator *g) {
    if (sfid__is_closed(g))
        return SFID_ECLOSED;
    atomic_store_explicit(&g->last_code, SFID_EINVAL, memory_order_relaxed); /* a statistic, as in sfid__draw() */
    return SFID_EINVAL;
}

static SFID__COLD int64_t next_slow(struct sfid__generator *g, struct sfid__call call) {
    const int rc = sfid__is_wide(g) ? sfid__wrong_width(g) : sfid__draw_front(g, &call);
    return rc < 0 ? rc : sfid__compose(call.from, call.n);
}

static SFID__COLD int64_t number_slow(struct sfid__generator *g, struct sfid__call call, struct sfid__call *out) {
    const int rc = sfid__draw_front(g, &call);
    *out = call;
    return rc;
}

static SFID__HOT int64_t slow(struct sfid__generator *g, struct sfid__call call, struct sfid__call *out) {
    return out ? number_slow(g, call, out) : next_slow(g, call);
}

/* Takes a position. Returns its ID, or fills in *out if out is given. Each caller has a copy of this with out folded in. */
static SFID__HOT int64_t draw(struct sfid__generator *g, bool may_sleep, struct sfid__call *out) {
    struct sfid__record *r = atomic_load_explicit(out ? &g->wide_record : &g->record, memory_order_acquire);
    const uint64_t tick = sfid__hint(g, r);
    uint64_t n = atomic_load_explicit(&r->word, memory_order_relaxed);
    if (unlikely(n >> r->seq_bits != tick || tick >= atomic_load_explicit(&r->limit, memory_order_acquire)))
        return slow(g, (struct sfid__call){.may_sleep = may_sleep, .want = 1}, out);
    n = atomic_fetch_add_explicit(&r->word, 1, memory_order_relaxed);
    if (unlikely(n >> r->seq_bits != tick)) /* another thread took the last position of this tick in between */
        return slow(g, (struct sfid__call){.may_sleep = may_sleep, .want = 1, .from = r, .n = n, .in_hand = true}, out);
    if (out == NULL)
        return sfid__compose(r, n);
    out->from = r;
    out->n = n;
    return 0;
}

/* Aligned, so that what it costs does not change with the code before it: half a line further on it took a tenth longer. */
static SFID__UNGUARDED SFID__ALIGNED int64_t next(struct sfid__generator *g, bool may_sleep) { return draw(g, may_sleep, NULL); }

SFID__UNGUARDED int sfid__next_number(struct sfid__generator *g, bool may_sleep, struct sfid__call *call) {
    return (int)draw(g, may_sleep, call);
}

int64_t sfid_next(sfid *handle) {
    return unlikely(handle == NULL) ? SFID_ECLOSED : next((struct sfid__generator *)(void *)handle, true);
}

int64_t sfid_try_next(sfid *handle) {
    return unlikely(handle == NULL) ? SFID_ECLOSED : next((struct sfid__generator *)(void *)handle, false);
}

int64_t sfid__next_in_hand(sfid *handle, void *record, uint64_t n) {
    return next_slow((struct sfid__generator *)(void *)handle,
                     (struct sfid__call){.may_sleep = true, .want = 1, .from = record, .n = n, .in_hand = true});
}

int64_t sfid_next_n(sfid *handle, int64_t *ids, size_t n) {
    struct sfid__generator *g = (struct sfid__generator *)(void *)handle;
    if (n == 0)
        return 0;
    if (ids == NULL)
        return SFID_EINVAL;
    if (g == NULL)
        return SFID_ECLOSED;
    if (sfid__is_wide(g))
        return sfid__wrong_width(g);
    n = sfid__countable(n);
    struct sfid__call call = {.may_sleep = true}; /* one for all rounds: max_wait_ms limits the whole call */
    size_t done = 0;
    while (done < n) {
        call.want = n - done;
        call.in_hand = false;
        const int rc = sfid__draw_front(g, &call);
        if (rc < 0)
            return done ? (int64_t)done : rc;
        const uint64_t step = UINT64_C(1) << call.from->seq_shift;
        uint64_t id = (uint64_t)sfid__compose(call.from, call.n);
        for (const size_t end = done + (size_t)call.count; done < end; id += step)
            ids[done++] = (int64_t)id;
    }
    return (int64_t)done;
}

int sfid_retry_ms(const sfid *handle) {
    return handle == NULL ? SFID_ECLOSED : sfid__draw_retry_ms(sfid__front((const struct sfid__generator *)(const void *)handle));
}

int sfid_ready(const sfid *handle) {
    return handle != NULL && sfid__draw_ready(sfid__front((const struct sfid__generator *)(const void *)handle));
}

void sfid__generator_init(struct sfid__generator *g) { atomic_init(&g->record, &sfid__no_record); }

void sfid__generator_widen(struct sfid__generator *g) {
    atomic_init(&g->wide_record, &sfid__no_record);
    atomic_init(&g->record, &sfid__wide_only);
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
    atomic_store_explicit(sfid__record_at(g), r, memory_order_release); /* with the acquire in draw() and look() */
}

void sfid__generator_stop(struct sfid__generator *g) {
    /* Release, as at every store of this pointer; only constants lie behind it. */
    atomic_store_explicit(sfid__record_at(g), &sfid__no_record, memory_order_release);
}
