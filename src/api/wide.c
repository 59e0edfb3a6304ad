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

static SFID__HOT uint64_t pid_of(const struct sfid__record *r) { return r->pid_field >> sfid__shift(r->pid_shift); }

static SFID__HOT uint64_t seq_of(const struct sfid__record *r, uint64_t n) { return n & (sfid__record_capacity(r) - 1); }

/* The IDs of a call's positions, all of one tick. */
static void put_all(const struct sfid *g, const struct sfid__call *call, sfid_wide *ids) {
    const struct sfid__wide_frame frame = g->wrap.frame;
    const uint64_t tick = sfid__record_tick(call->from, call->n), pid = pid_of(call->from), seq = seq_of(call->from, call->n);
    uint64_t random[CHUNK] = {0};
    for (size_t done = 0, count; done < call->count; done += count) {
        count = SFID__MIN((size_t)call->count - done, CHUNK);
        if (frame.random)
            sfid__keyed_n(g->wrap.nonce, call->n + done, random, count);
        for (size_t i = 0; i < count; i++)
            ids[done + i] = sfid__wide_put(&frame, tick, pid, seq + done + i, random[i]);
    }
}

/* Can this handle generate wide IDs at all? */
static int check(struct sfid *g, const sfid_wide *ids) {
    if (ids == NULL)
        return SFID_EINVAL;
    if (g == NULL)
        return SFID_ECLOSED;
    return likely(sfid__is_wide(&g->generator)) ? 0 : sfid__wrong_width(&g->generator);
}

static SFID__UNGUARDED int next(struct sfid *g, bool may_sleep, sfid_wide *id) {
    struct sfid__call call;
    int rc = check(g, id);
    if (rc == 0)
        rc = sfid__next_number(&g->generator, may_sleep, &call);
    if (unlikely(rc < 0))
        return rc;
    const struct sfid__wide_frame *frame = &g->wrap.frame;
    const uint64_t random = frame->random ? sfid__keyed(g->wrap.nonce, call.n) : 0;
    *id = sfid__wide_put(frame, sfid__record_tick(call.from, call.n), pid_of(call.from), seq_of(call.from, call.n), random);
    return 0;
}

int sfid_next_wide(sfid *g, sfid_wide *id) { return next(g, true, id); }

int sfid_try_next_wide(sfid *g, sfid_wide *id) { return next(g, false, id); }

int64_t sfid_next_n_wide(sfid *g, sfid_wide *ids, size_t n) {
    if (n == 0)
        return 0;
    const int wrong = check(g, ids);
    if (wrong < 0)
        return wrong;
    n = sfid__countable(n);
    struct sfid__call call = {.may_sleep = true}; /* one for all runs, as in sfid_next_n() */
    size_t done = 0;
    while (done < n) {
        call.want = n - done;
        call.in_hand = call.copied = false;
        const int rc = sfid__draw_front(&g->generator, &call);
        done = call.copied ? 0 : done;
        if (rc < 0)
            return done ? (int64_t)done : rc;
        put_all(g, &call, ids + done);
        done += (size_t)call.count;
    }
    return (int64_t)done;
}
