/* SPDX-License-Identifier: MIT */
/*
 * wide.c - wide IDs around the numbers of a generator.
 *
 * A handle of wide IDs is an `sfid` under another name, whose word counts their
 * ticks and sequence numbers (wide_plan.h). Which record a number was drawn
 * from says which pid it is of, also while one pid is exchanged for another; so
 * what keeps numbers apart keeps the IDs apart, and what orders them orders
 * the IDs: tick, pid (or part) and sequence all go in whole.
 *
 * The random bits of a UUID come below all that, and neither hangs on them.
 * They are a keyed hash of the number drawn, under a key that the handle got
 * from the kernel: no number is drawn twice by a fork family, so nothing has to
 * be kept, or asked for, and a signal handler may draw as well.
 */
#include "api/handle.h"

#include "base/random.h"
#include "id/layout.h"

enum { RANDOM_BITS = 44 };

static struct sfid *handle(const sfid_wide_gen *g) {
    return (struct sfid *)(uintptr_t)g; /* the same object, never changed as another */
}

/* ---- drawing -------------------------------------------------------------- */

static int put_together(const struct sfid *g, const struct sfid__record *r, uint64_t n, sfid_wide *id) {
    const sfid_layout *engine = &g->generator.layout;
    const uint64_t pid = r->pid_field >> r->pid_shift;
    sfid_wide_parts parts = {.tick = n >> r->seq_bits, .pid = g->wrap.by_host ? g->wrap.worker : pid};
    parts.seq = sfid__wide_seq(g->wrap.by_host, engine, pid, n & engine->max_seq);
    if (g->wrap.layout.kind == SFID_UUID7)
        parts.random = sfid__random_of(g->wrap.key, n) >> (64 - RANDOM_BITS);
    return sfid_wide_compose(&g->wrap.layout, &parts, id);
}

static int next(sfid_wide_gen *gen, bool may_sleep, sfid_wide *id) {
    struct sfid *g = handle(gen);
    struct sfid__call call;
    if (g == NULL || id == NULL)
        return SFID_EINVAL;
    const int rc = sfid__next_number(&g->generator, may_sleep, &call);
    return rc < 0 ? rc : put_together(g, call.from, call.n, id);
}

int sfid_wide_next(sfid_wide_gen *g, sfid_wide *id) { return next(g, true, id); }

int sfid_wide_try_next(sfid_wide_gen *g, sfid_wide *id) { return next(g, false, id); }

int64_t sfid_wide_next_n(sfid_wide_gen *gen, sfid_wide *ids, size_t n) {
    struct sfid *g = handle(gen);
    if (n == 0)
        return 0;
    if (g == NULL || ids == NULL)
        return SFID_EINVAL;
    n = sfid__countable(n);
    struct sfid__call call = {.may_sleep = true}; /* one for all runs, as in sfid_next_n() */
    size_t done = 0;
    while (done < n) {
        call.want = n - done;
        call.in_hand = false;
        int rc = sfid__draw(&g->generator, &call);
        for (uint64_t i = 0; rc == 0 && i < call.count; i++)
            rc = put_together(g, call.from, call.n + i, &ids[done++]);
        if (rc < 0)
            return done ? (int64_t)done : rc;
    }
    return (int64_t)done;
}

/* ---- all else ------------------------------------------------------------- */

int sfid_wide_open(sfid_wide_gen **out, const sfid_options *opt) { return sfid__open((struct sfid **)(void *)out, opt, true); }

int sfid_wide_retry_ms(const sfid_wide_gen *g) { return sfid_retry_ms(handle(g)); }

int64_t sfid_wide_pid(const sfid_wide_gen *g) {
    const int64_t pid = sfid_pid(handle(g));
    return pid < 0 || !handle(g)->wrap.by_host ? pid : (int64_t)handle(g)->wrap.worker;
}

int sfid_wide_status(const sfid_wide_gen *g, sfid_status_info *out) { return sfid_status(handle(g), out); }

const char *sfid_wide_last_error(const sfid_wide_gen *g) { return sfid_last_error(handle(g)); }

void sfid_wide_close(sfid_wide_gen *g) { sfid_close(handle(g)); }
