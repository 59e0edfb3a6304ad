/* SPDX-License-Identifier: MIT */
/*
 * lane.c - runs of positions, each for one thread.
 *
 * A run is taken like any position: by one compare-and-swap on the record's
 * word (slow.c). So no position is in two runs, or in a run and in another
 * call. Rule (b) of slow.c, that a tick lies below its record's limit, is
 * checked for each ID again. A forked child finds the run's memory zeroed, so
 * parent and child never issue the same position. If the system does not wipe
 * that memory, or only claims to, a run has one position.
 *
 * A lane issues a position without another look at the table only in that
 * position's own tick, and takes a run without one only in the tick that the
 * hint shows, as a batch does (hot.c). If the tick lies ahead of the clock (borrowing, or a
 * clock that stepped back), each position goes through the table as one in hand.
 * If the tick is past, the lane drops the rest of the run.
 */
#include "base/process.h"
#include "draw/hint.h"
#include "draw/hot.h"

#include <sfid.h>
#include <stdlib.h>
#include <sys/mman.h>

#define RUN_PART 64      /* a run takes at most 1/64 of the sequence: tens of lanes share a tick */
#define SHARED_PART 1024 /* the same for all lanes of the processes that share a page */
#define RUN_LONGEST 512
#define PAGE 4096 /* mmap rounds up */

/* What is left of a run: the IDs from id on, below stop. Only id changes from one ID to the
 * next. */
struct run {
    struct sfid__record *from; /* NULL: none */
    uint64_t tick;
    uint64_t id, stop, step;
    uint64_t end; /* the position behind the run; its ID would be stop */
};

struct sfid_lane {
    _Atomic(struct sfid__record *) *record; /* the generator's */
    struct run *run;
    bool by_second; /* a tick is a second, and time() shows it; epoch_s is the generator's */
    uint64_t epoch_s;
    struct sfid__generator *generator;
    uint64_t length;
};

static_assert(offsetof(struct sfid_lane, run) == offsetof(struct sfid__lane_head, run),
              "inline form: run");
static_assert(offsetof(struct run, tick) == offsetof(struct sfid__run_head, tick) &&
                  offsetof(struct run, id) == offsetof(struct sfid__run_head, id) &&
                  offsetof(struct run, stop) == offsetof(struct sfid__run_head, stop) &&
                  offsetof(struct run, step) == offsetof(struct sfid__run_head, step),
              "inline form: what is left of a run");

static uint64_t left_of(const struct run *run) {
    return run->id < run->stop ? (run->stop - run->id) >> sfid__shift(run->from->seq_shift) : 0;
}

/* Gives up the positions that are left. */
static void drop_run(struct run *run) {
    const uint64_t left = left_of(run);
    if (left)
        atomic_fetch_add_explicit(&run->from->skipped, left, memory_order_relaxed); /* statistic */
    *run = (struct run){.from = NULL};
}

static void use(struct sfid_lane *lane, struct sfid__generator *g) {
    lane->generator = sfid__front(g);
    lane->record = sfid__record_at(lane->generator);
}

static SFID__HOT int64_t take_run(struct run *run, struct sfid__run taken) {
    const struct sfid__record *r = taken.from;
    const int64_t first = sfid__compose(r, taken.n);
    const uint64_t id = (uint64_t)first, step = sfid__record_step(r);
    *run =
        (struct run){taken.from, sfid__record_tick(r, taken.n), id + step, id + step * taken.count,
                     step,       taken.n + taken.count};
    return first;
}

/* The ID of a run that goes out next. */
static SFID__HOT int64_t step_on(struct run *run) {
    const uint64_t id = run->id;
    run->id = id + run->step;
    return (int64_t)id;
}

/* Through the table: the position that goes out next waits for its tick, or a run begins a tick, or
 * the keeper is wanted. */
static __attribute__((noinline)) int64_t next_by_table(struct sfid_lane *lane, uint64_t left,
                                                       bool waits) {
    struct run *run = lane->run;
    struct sfid__call call = {.may_sleep = true, .want = lane->length};
    if (waits) {
        call.want = 1;
        call.from = run->from;
        call.n = run->end - left;
        call.in_hand = true;
        step_on(run);
    }
    const int rc = sfid__draw_front(lane->generator, &call);
    if (rc < 0)
        return rc;
    if (waits && call.from == run->from)
        return sfid__compose(call.from, call.n);
    use(lane, lane->generator);
    drop_run(run); /* what is left lies below what was just taken */
    return take_run(run, (struct sfid__run){call.from, call.n, call.count});
}

/*
 * Not inlined: what it needs in registers would cost the calls that have a run some. Not cold
 * either: of a lane that borrows each call comes here. keeper_due as in hot.c, is_in().
 */
static SFID__UNGUARDED __attribute__((noinline)) int64_t next_run(struct sfid_lane *lane,
                                                                  uint64_t tick) {
    struct run *run = lane->run;
    struct sfid__generator *g = lane->generator;
    const uint64_t left = left_of(run);
    /* Of a record that was replaced, or whose handle was closed, nothing is waited for. Relaxed:
     * only the address is compared. */
    const bool waits = left && run->tick > tick &&
                       run->from == atomic_load_explicit(lane->record, memory_order_relaxed);
    if (!waits)
        drop_run(run);
    if (waits || unlikely(atomic_load_explicit(&g->keeper_due, memory_order_relaxed)))
        return next_by_table(lane, left, waits);
    const struct sfid__run taken = sfid__draw_in_tick(g, tick, lane->length);
    if (unlikely(taken.count == 0))
        return next_by_table(lane, left, false);
    if (g->shared)
        use(lane, g);
    return take_run(run, taken);
}

static SFID__HOT int64_t next_in(struct sfid_lane *lane, uint64_t tick) {
    struct run *run = lane->run;
    /* Acquire, as in hot.c: record, with [publish]; limit, with [limit]. */
    struct sfid__record *r = atomic_load_explicit(lane->record, memory_order_acquire);
    if (likely(run->tick == tick && run->id < run->stop && run->from == r &&
               tick < atomic_load_explicit(&r->limit, memory_order_acquire)))
        return step_on(run);
    return next_run(lane, tick);
}

static __attribute__((noinline)) int64_t next_by_clock(struct sfid_lane *lane) {
    return next_in(lane, sfid__hint(lane->generator));
}

/* Not inlined, and no call comes back here: so nothing has to be saved on the stack. */
static SFID__UNGUARDED SFID__ALIGNED __attribute__((noinline)) int64_t
next_by_counter(struct sfid_lane *lane) {
    uint64_t tick;
    struct sfid__generator *g = lane->generator;
    if (likely(g->source == SFID__TICK_COUNTER && sfid__ticks_lasts(&g->ticks, &tick)))
        return next_in(lane, tick);
    return next_by_clock(lane);
}

SFID__UNGUARDED SFID__ALIGNED int64_t sfid_lane_next(sfid_lane *lane) {
    if (unlikely(lane == NULL))
        return SFID_ECLOSED;
    if (!lane->by_second)
        return next_by_counter(lane);
    const uint64_t second = (uint64_t)time(NULL);
    return next_in(lane, second - lane->epoch_s);
}

int sfid_lane_open(sfid_lane **out, sfid *g) {
    if (out)
        *out = NULL;
    struct sfid__generator *generator = (struct sfid__generator *)(void *)g;
    if (out == NULL || g == NULL || sfid__is_wide(generator))
        return SFID_EINVAL;
    struct sfid_lane *lane = malloc(sizeof *lane);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (lane == NULL || page == MAP_FAILED) {
        free(lane);
        if (page != MAP_FAILED)
            munmap(page, PAGE);
        return SFID_ENOMEM;
    }
    lane->run = page;
    lane->by_second = generator->source == SFID__TICK_SECONDS && generator->unit_s == 1;
    lane->epoch_s = generator->epoch_s;
    use(lane, generator);
    const uint64_t part =
        (generator->layout.max_seq + 1) / (generator->shared ? SHARED_PART : RUN_PART);
    lane->length = SFID__MIN(SFID__MAX(part, 1), RUN_LONGEST);
    if (!sfid__process_wipes(page, PAGE))
        /* a kernel before 4.14, or an emulator: a run is never left with a position */
        lane->length = 1;
    *out = lane;
    return 0;
}

void sfid_lane_close(sfid_lane *lane) {
    if (lane == NULL)
        return;
    drop_run(lane->run);
    munmap(lane->run, PAGE);
    free(lane);
}
