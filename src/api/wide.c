/* SPDX-License-Identifier: MIT */
/*
 * wide.c - puts wide IDs together around the positions of a generator.
 *
 * The word of such a generator counts the ticks and sequence of wide IDs
 * (wide_plan.h). The record that a position came from has its pid, even while
 * one pid replaces another. Tick, pid (or part) and sequence go into the ID as
 * they are. So what keeps positions apart keeps the IDs apart, and what orders
 * positions orders the IDs.
 *
 * The random bits of a UUID come below these, and neither property depends on
 * them. They are a keyed function of the position and the handle's nonce
 * (keyed.h). A fork family never takes a position twice, so no two UUIDs of it
 * have the same input. Nothing is stored and nobody is asked, and a signal
 * handler may generate UUIDs, too.
 */
#include "api/handle.h"

#include "base/keyed.h"

#define CHUNK 64 /* UUIDs whose random bits are made at once */

static SFID__HOT uint64_t pid_of(const struct sfid__record *r) {
    return r->pid_field >> sfid__shift(r->pid_shift);
}

static SFID__HOT uint64_t seq_of(const struct sfid__record *r, uint64_t n) {
    return n & (sfid__record_capacity(r) - 1);
}

/* A wide ID, as a vector that is stored at once. */
typedef uint64_t halves __attribute__((vector_size(16), aligned(_Alignof(sfid_wide)), may_alias));
static_assert(offsetof(sfid_wide, high) == 0 && sizeof(halves) == sizeof(sfid_wide), "halves");

static void put_random(const struct sfid *g, const struct sfid__run *run, sfid_wide common,
                       sfid_wide *ids) {
    const struct sfid__wide_frame f = g->wrap.frame; /* in registers, whatever ids points to */
    const uint64_t seq = seq_of(run->from, run->n);
    uint64_t random[CHUNK];
    for (size_t done = 0, count; done < run->count; done += count) {
        count = SFID__MIN((size_t)run->count - done, CHUNK);
        sfid__keyed_n(g->wrap.nonce, run->n + done, random, count);
        for (size_t i = 0; i < count; i++) {
            const sfid_wide own = sfid__wide_put(&f, 0, 0, seq + done + i, random[i]);
            ids[done + i] = (sfid_wide){common.high | own.high, common.low | own.low};
        }
    }
}

/*
 * The IDs of positions of one tick. What they have in common is put together once. Without random
 * bits they are numbers that follow one another at a fixed distance: the sequence has its bits in
 * the lower half (wide_plan.c), and no run leaves it.
 */
static SFID__HOT void put_all(const struct sfid *g, const struct sfid__run *run, sfid_wide *ids) {
    const struct sfid__wide_frame *f = &g->wrap.frame;
    const uint64_t tick = sfid__record_tick(run->from, run->n), pid = pid_of(run->from);
    if (f->random) {
        put_random(g, run, sfid__wide_put(f, tick, pid, 0, 0), ids);
        return;
    }
    const sfid_wide first = sfid__wide_put(f, tick, pid, seq_of(run->from, run->n), 0);
    const halves step = {0, UINT64_C(1) << f->seq_shift};
    halves id = {first.high, first.low};
    for (const sfid_wide *end = ids + run->count; ids < end; ids++, id += step)
        *(halves *)(void *)ids = id;
}

/* Can this handle generate wide IDs at all? */
static int check_wide(struct sfid *g, const sfid_wide *ids) {
    if (ids == NULL)
        return SFID_EINVAL;
    if (g == NULL)
        return SFID_ECLOSED;
    return likely(sfid__is_wide(&g->generator)) ? 0 : sfid__wrong_width(&g->generator);
}

static SFID__UNGUARDED int next(struct sfid *g, bool may_sleep, sfid_wide *id) {
    struct sfid__call call;
    int rc = check_wide(g, id);
    if (rc == 0)
        rc = sfid__next_number(&g->generator, may_sleep, &call);
    if (unlikely(rc < 0))
        return rc;
    const struct sfid__wide_frame *frame = &g->wrap.frame;
    const uint64_t random = frame->random ? sfid__keyed(g->wrap.nonce, call.n) : 0;
    *id = sfid__wide_put(frame, sfid__record_tick(call.from, call.n), pid_of(call.from),
                         seq_of(call.from, call.n), random);
    return 0;
}

int sfid_next_wide(sfid *g, sfid_wide *id) { return next(g, true, id); }

int sfid_try_next_wide(sfid *g, sfid_wide *id) { return next(g, false, id); }

/* As next_n_slow() of hot.c. */
static __attribute__((noinline)) int64_t next_n_slow(struct sfid *g, sfid_wide *ids, size_t n,
                                                     struct sfid__run run) {
    struct sfid__call call = {.may_sleep = true};
    size_t done = 0;
    for (;;) {
        if (run.count == 0) {
            call.want = n - done;
            const int rc = sfid__draw_run(&g->generator, &call, &run);
            done = call.copied ? 0 : done;
            if (rc < 0)
                return done ? (int64_t)done : rc;
        }
        put_all(g, &run, ids + done);
        done += (size_t)run.count;
        if (done >= n)
            return (int64_t)done;
        (void)sfid__draw_numbers(&g->generator, n - done, &run);
    }
}

SFID__UNGUARDED int64_t sfid_next_n_wide(sfid *g, sfid_wide *ids, size_t n) {
    if (n == 0)
        return 0;
    const int wrong = check_wide(g, ids);
    if (unlikely(wrong < 0))
        return wrong;
    n = sfid__countable(n);
    struct sfid__run run;
    if (unlikely(!sfid__draw_numbers(&g->generator, n, &run)))
        return next_n_slow(g, ids, n, run);
    put_all(g, &run, ids);
    return (int64_t)n;
}
