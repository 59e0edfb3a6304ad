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
 * them. They are a keyed hash of the position, under a key that the handle got
 * from the kernel. A fork family never takes a position twice. So nothing has
 * to be stored or asked for, and a signal handler may generate UUIDs, too.
 */
#include "api/handle.h"

#include "base/random.h"
#include "id/layout.h"

enum { RANDOM_BITS = 44 };

static int put_together(const struct sfid *g, const struct sfid__record *r, uint64_t n, sfid_wide *id) {
    const sfid_layout *engine = &g->generator.layout;
    const uint64_t pid = r->pid_field >> r->pid_shift;
    sfid_wide_parts parts = {.tick = n >> r->seq_bits, .pid = g->wrap.by_host ? g->wrap.worker : pid};
    parts.seq = sfid__wide_seq(g->wrap.by_host, engine, pid, n & engine->max_seq);
    if (g->wrap.layout.kind == SFID_UUID7)
        parts.random = sfid__random_of(g->wrap.key, n) >> (64 - RANDOM_BITS);
    return sfid_wide_compose(&g->wrap.layout, &parts, id);
}

/* Can this handle generate wide IDs at all? */
static int check(struct sfid *g, const sfid_wide *ids) {
    if (ids == NULL)
        return SFID_EINVAL;
    if (g == NULL)
        return SFID_ECLOSED;
    return likely(sfid__is_wide(&g->generator)) ? 0 : sfid__wrong_width(&g->generator);
}

static int next(struct sfid *g, bool may_sleep, sfid_wide *id) {
    struct sfid__call call;
    int rc = check(g, id);
    if (rc == 0)
        rc = sfid__next_number(&g->generator, may_sleep, &call);
    return rc < 0 ? rc : put_together(g, call.from, call.n, id);
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
        call.in_hand = false;
        int rc = sfid__draw_front(&g->generator, &call);
        for (uint64_t i = 0; rc == 0 && i < call.count; i++)
            rc = put_together(g, call.from, call.n + i, &ids[done++]);
        if (rc < 0)
            return done ? (int64_t)done : rc;
    }
    return (int64_t)done;
}
