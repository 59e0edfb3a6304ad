/* SPDX-License-Identifier: MIT */
/*
 * Pids handed from process to process as fast as these can close and open: with ticks of 10 ms
 * several lives meet in one. First two processes in turn on one pid, then both as they like on two.
 * No ID comes twice, the lives of a pid increase, and the next holder begins in the next tick at
 * the latest: no later than the clock, the tick behind the last ID of the pid, or the one behind
 * the last ID of its own slot, which go on increasing over all pids; whichever is furthest.
 *
 * Sizes: 60 lives each way (long: 1000; sanitizer: 30).
 */
#include "support/fleet.h"

#define LAYOUT "39:2:14/10ms"

/* FIRST_MS: a next holder that had to wait for a pause or a heartbeat needs longer for its first
 * ID. The ticks are looked at, too. */
enum { MOST_LIVES = 1000, MOST_DRAWN = 20, RUNNERS = 2, FIRST_MS = 300 };

struct life {
    int64_t pid;
    int runner;
    uint64_t first, last; /* ticks */
    uint64_t clock;       /* when the first ID was there */
    struct took to_first; /* ID, from the call of open */
};

/* Lives in the order in which they got their pid. */
struct race {
    struct member *members; /* one of each runner */
    atomic_int turn, lives, most;
    bool in_turn;
    _Atomic int64_t error;
    struct life all[MOST_LIVES + RUNNERS];
};

struct runner {
    struct race *race;
    int number;
};

static void live_once(struct race *race, int runner, uint64_t *rng) {
    struct member *m = &race->members[runner];
    sfid *g = NULL;
    struct idlog log;
    const uint64_t most = draw_random(rng) % MOST_DRAWN + 1;
    member_open(m, &g);
    if (m->rc != 0) {
        atomic_store(&race->error, m->rc);
        sfid_close(g);
        return;
    }
    struct life *life = &race->all[atomic_fetch_add(&race->lives, 1)];
    member_log(&log, MOST_DRAWN, 0);
    life->runner = runner;
    for (uint64_t i = 0; i < most; i++) {
        const int64_t id = sfid_next(g);
        if (i == 0) {
            life->to_first = took_since(recorder.begin_ns / NS_PER_MS);
            life->clock = tick_now(&layout);
            life->first = id_tick(&layout, id);
            life->pid = sfid_pid(g);
        }
        life->last = id_tick(&layout, id);
        member_note(m, &log, id);
    }
    idlog_close(&log);
    member_close(m, g);
}

static bool await_turn(struct race *race, int number) {
    struct patience p = {0};
    while (atomic_load(&race->turn) % RUNNERS != number && patient(&p, TAP_WAIT_MS))
        nap_us(50);
    return atomic_load(&race->turn) % RUNNERS == number;
}

static int run(void *arg) {
    const struct runner *runner = arg;
    struct race *race = runner->race;
    uint64_t rng = (uint64_t)runner->number + 1;
    for (;;) {
        if (race->in_turn && !await_turn(race, runner->number))
            return DIED;
        if (atomic_load(&race->lives) >= atomic_load(&race->most) || atomic_load(&race->error) != 0)
            break;
        live_once(race, runner->number, &rng);
        atomic_fetch_add(&race->turn, 1);
        if (!race->in_turn)
            nap_us((long)(draw_random(&rng) % 3000));
    }
    atomic_fetch_add(&race->turn, 1);
    return 0;
}

/* ---- what came of it -------------------------------------------------------- */

/* The first tick that a life may begin in without being late, going by another life before it. */
static uint64_t behind(const struct life *before, uint64_t tick) {
    return before && before->last + 1 > tick ? before->last + 1 : tick;
}

static int longest_last(const void *a, const void *b) {
    const struct took *x = a, *y = b;
    return (x->ms - x->stood_ms > y->ms - y->stood_ms) -
           (x->ms - x->stood_ms < y->ms - y->stood_ms);
}

static void check_lives(const struct race *race, const char *what) {
    const int n = atomic_load(&race->lives);
    const struct life *of_pid[4] = {NULL}, *of_runner[RUNNERS] = {NULL};
    struct took firsts[MOST_LIVES + RUNNERS];
    unsigned late = 0, met = 0, next = 0;
    for (int i = 0; i < n; i++) {
        const struct life *l = &race->all[i], *before = of_pid[l->pid & 3];
        if (l->first > behind(before, behind(of_runner[l->runner], l->clock))) {
            late++;
            diag("%s: life %d begins in tick %" PRIu64 ", with the clock at %" PRIu64
                 " and the life before up to %" PRIu64,
                 what, i, l->first, l->clock, before ? before->last : 0);
        }
        next += before && l->first == before->last + 1;
        met += before &&
               (before->runner == l->runner ? l->first < before->last : l->first <= before->last);
        firsts[i] = l->to_first;
        of_pid[l->pid & 3] = of_runner[l->runner] = l;
    }
    need(n > 0, "%s: nobody opened", what);
    qsort(firsts, (size_t)n, sizeof *firsts, longest_last);
    diag(
        "figure: %s: %d lives, %u began in the tick behind the last one's end; open to first ID: median %" PRId64
        " ms, worst %" PRId64 " ms",
        what, n, next, firsts[n / 2].ms, firsts[n - 1].ms);
    is_u64(
        met, 0,
        "%s: no life begins in a tick that another slot's before it drew from, nor below one of its own",
        what);
    is_u64(late, 0, "%s: the next holder begins in the next tick at the latest", what);
    in_time(firsts[n / 2], FIRST_MS, "%s: half of them have an ID at once", what);
}

static void hand_over(struct redis *r, bool in_turn, int64_t pid_min, int64_t pid_max,
                      const char *what) {
    struct race *race = shared_memory(sizeof *race);
    struct runner runners[RUNNERS];
    pid_t children[RUNNERS];
    sfid_options opt = fleet_options(r, what, &layout);
    opt.pid_min = pid_min;
    opt.pid_max = pid_max;
    race->members = members_new(RUNNERS, &opt);
    race->in_turn = in_turn;
    atomic_store(&race->most, (int)sized(60, MOST_LIVES, 30));
    for (int i = 0; i < RUNNERS; i++) {
        runners[i] = (struct runner){race, i};
        /* each has a slot of its own, with a word of its own */
        on_host(&race->members[i].opt, (unsigned)i);
        children[i] = child_start(run, &runners[i]);
    }
    for (int i = 0; i < RUNNERS; i++)
        is_i64(child_wait(children[i], (unsigned)sized(2, 10, 2) * TAP_WAIT_MS), 0,
               "%s: process %d ends well", what, i);
    is_i64(race->error, 0, "%s: each open gets a pid", what);
    is_i64(race->members[0].errors + race->members[1].errors, 0, "%s: no call fails", what);
    check_lives(race, what);
    judge(LAYOUT, "pid", UINT64_MAX, what);
}

static void test_handover(struct redis *r) {
    hand_over(r, true, 1, 1, "in-turn");
    hand_over(r, false, 1, 2, "at-will");
}

int main(void) { return fleet_main(LAYOUT, 1, 0, test_handover); }
