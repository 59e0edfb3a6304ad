/* SPDX-License-Identifier: MIT */
/**
 * turmoil.h - one life in turmoil.c: a process with threads, lanes, batches
 * and forks, which does to itself all that a process may do.
 *
 * IDs are logged in memory that the whole world shares: who is in a jail, or
 * has no descriptors, opens no file.
 */
#ifndef SFID_TESTS_TURMOIL_H
#define SFID_TESTS_TURMOIL_H

#include "support/own_clock.h"
#include "support/roots.h"

enum {
    LOGS = 6144,
    LOG_IDS = 1 << 14,
    MEMBERS = 256,
    MOST_ALIVE = 20,
    THREADS = 3,
    BURST = 48,
    DEPTH = 3
};

/* what is removed, renamed and restored here: never both, and so never both at once */
enum side { RUN_SIDE, STATE_SIDE };

struct tally {
    _Atomic uint64_t lives, opened, ids, forks, jails, mounts, closefroms, pid_spaces, closes,
        exits;
    _Atomic uint64_t kills, stops, steps, removals, full_logs, refusals, odd, crashes;
    _Atomic int64_t an_odd;
};

struct log {
    struct idlog_head head;
    char who[40];
    int64_t ids[LOG_IDS];
};

/* An app with all processes that use it: one side that things happen to, one clock. */
struct world {
    struct place place;
    char app[24], store[120], layout_text[24];
    sfid_layout layout;
    bool fixed, apart; /* apart: namespaces can be had */
    int64_t pid_max;
    enum side side;
    _Atomic int64_t clock_ns, ends_at; /* ends_at: monotonic */
    /* alive: about so many, as the world counts them now and then */
    atomic_int over, alive;
    _Atomic pid_t members[MEMBERS];
    _Atomic uint32_t logs_used, number;
    struct tally tally;
    struct log *logs;
};

static struct world *here;
static bool users_change; /* where they may */

/* This process. */
struct life {
    sfid *g;
    sfid_lane *lane; /* of the first thread; a child has it, too */
    uint64_t rng, number;
    unsigned depth;
    bool in_pid_space, knows_mounts;
    atomic_bool in_jail, covered;
};

static struct life me;

/* $SFID_TURMOIL_WITHOUT names what is left out, to find out what it takes: "jail,step". */
static bool without(const char *what) {
    const char *list = getenv("SFID_TURMOIL_WITHOUT");
    return list && strstr(list, what) != NULL;
}

static void count(_Atomic uint64_t *what) {
    atomic_fetch_add_explicit(what, 1, memory_order_relaxed);
}

/* ---- logs --------------------------------------------------------------- */

/* A thread's: the next one is taken when one is full. */
static bool take_log(struct idlog *log) {
    const uint32_t i = atomic_fetch_add(&here->logs_used, 1);
    if (i >= LOGS) {
        count(&here->tally.full_logs);
        return false;
    }
    struct log *l = &here->logs[i];
    *log = (struct idlog){.head = &l->head, .ids = l->ids, .capacity = LOG_IDS};
    snprintf(l->who, sizeof l->who, "life-%" PRIu64 ".%u-pid-%" PRId64 "%s%s%s", me.number,
             me.depth, sfid_pid(me.g), me.in_jail ? "-jail" : "", me.covered ? "-covered" : "",
             me.in_pid_space ? "-space" : "");
    return true;
}

static bool log_has_room(struct idlog *log, size_t n) {
    return (log->head && idlog_room(log, n) == n) || take_log(log);
}

/* ---- a thread ----------------------------------------------------------- */

struct drawer {
    sfid *g;
    sfid_lane *lane; /* NULL: without */
    struct idlog log;
    uint64_t rng;
};

static bool is_over(void) {
    return atomic_load(&here->over) || mono_ns() > atomic_load(&here->ends_at);
}

static void note_ids(struct drawer *d, const int64_t *ids, int64_t n) {
    if (n >= 0) {
        log_ids(&d->log, ids, n);
        atomic_fetch_add_explicit(&here->tally.ids, (uint64_t)n, memory_order_relaxed);
        return;
    }
    count(&here->tally.refusals);
    if (n != SFID_EAGAIN && n != SFID_ELEASE && n != SFID_ECLOCK && n != SFID_ECLOSED) {
        count(&here->tally.odd);
        atomic_store(&here->tally.an_odd, n);
    }
}

static void draw_once(struct drawer *d) {
    int64_t ids[BURST];
    const size_t want = 1 + draw_random(&d->rng) % BURST;
    if (!log_has_room(&d->log, BURST))
        return;
    if (d->lane == NULL && draw_random(&d->rng) % 2) {
        note_ids(d, ids, sfid_next_n(d->g, ids, want));
        return;
    }
    for (size_t i = 0; i < want; i++) {
        ids[0] = d->lane ? sfid_lane_next(d->lane) : i % 2 ? sfid_try_next(d->g) : sfid_next(d->g);
        note_ids(d, ids, ids[0] < 0 ? ids[0] : 1);
        if (ids[0] < 0)
            return;
    }
}

static void *draw_on(void *arg) {
    struct drawer *d = arg;
    while (!is_over()) {
        draw_once(d);
        nap_us(8000 + (long)(draw_random(&d->rng) % 30000));
    }
    return NULL;
}

/* ---- a process ---------------------------------------------------------- */

static void join_members(pid_t pid) {
    for (size_t i = 0; i < MEMBERS; i++) {
        pid_t none = 0;
        if (atomic_compare_exchange_strong(&here->members[i], &none, pid))
            return;
    }
}

__attribute__((noreturn)) static void live_on(struct life *l);

/* ThreadSanitizer ends a child whose threads bear the numbers of its parent's. In a jail its
 * reports name no function, and so nothing of tests/tsan.supp fits. */
#ifdef __SANITIZE_THREAD__
enum { UNDER_TSAN = true };
#else
enum { UNDER_TSAN = false };
#endif

/* A child that shares the generator, and may outlive its parent. */
static void fork_life(struct life *l) {
    if (UNDER_TSAN || without("fork") || l->depth >= DEPTH ||
        atomic_fetch_add(&here->alive, 1) >= MOST_ALIVE || is_over())
        return;
    let_threads_start();
    const uint64_t random = draw_random(&l->rng);
    const pid_t child = fork();
    if (child < 0)
        return;
    if (child > 0) {
        count(&here->tally.forks);
        return;
    }
    if (!l->in_pid_space)
        join_members(getpid());
    l->depth++;
    l->rng = random;
    live_on(l);
}

static void go_to_jail(struct life *l) {
    char jail[WHERE];
    snprintf(jail, sizeof jail, "%s", here->place.jail);
    if (UNDER_TSAN || without("jail") || l->in_jail || !(geteuid() == 0 || l->knows_mounts) ||
        !jail_in(jail))
        return;
    l->in_jail = true;
    count(&here->tally.jails);
    must(!users_change || draw_random(&l->rng) % 3 != 0 || become_somebody(),
         "cannot become somebody else");
}

/* The side that things happen to is covered; for this process and its children alone. */
static void cover(struct life *l) {
    const struct place *p = &here->place;
    const char *there = here->side == RUN_SIDE ? p->run : p->state,
               *copy = here->side == RUN_SIDE ? p->run_copy : p->state_copy;
    if (without("cover") || !l->knows_mounts || l->in_jail)
        return;
    if (draw_random(&l->rng) % 2 ? mount_tmpfs(there, "size=16m") : bind_over(copy, there))
        count(&here->tally.mounts);
    l->covered = true;
}

static void close_descriptors(void) {
    if (without("close"))
        return;
    close_all();
    count(&here->tally.closefroms);
}

static void do_something(struct life *l) {
    const uint64_t what = draw_random(&l->rng) % 300;
    if (what < 3)
        fork_life(l);
    else if (what == 3)
        go_to_jail(l);
    else if (what == 4)
        close_descriptors();
    else if (what == 5)
        cover(l);
}

__attribute__((noreturn)) static void end_life(struct life *l) {
    if (draw_random(&l->rng) % 2 == 0) {
        sfid_close(l->g); /* under its threads */
        count(&here->tally.closes);
    } else {
        count(&here->tally.exits);
    }
    _exit(0);
}

/* Half of the lives are short; those that go on for some windows are what a lost root does harm
 * to. */
static void live_on(struct life *l) {
    static struct drawer drawers[THREADS + 1];
    const unsigned threads = (unsigned)(draw_random(&l->rng) % (THREADS + 1));
    const int64_t ends_at =
        mono_ns() +
        (int64_t)(draw_random(&l->rng) % (draw_random(&l->rng) % 2 ? 12000 : 1500)) * NS_PER_MS;
    pthread_t thread;
    count(&here->tally.lives);
    for (unsigned i = 0; i <= threads; i++) {
        struct drawer *d = &drawers[i];
        *d = (struct drawer){.g = l->g, .rng = draw_random(&l->rng)};
        if (i == 0)
            d->lane = l->lane;
        else if (draw_random(&l->rng) % 2 && sfid_lane_open(&d->lane, l->g) < 0)
            die("no lane");
        if (i > 0)
            start_thread(&thread, draw_on, d);
    }
    while (!is_over() && mono_ns() < ends_at) {
        draw_once(&drawers[0]);
        do_something(l);
        nap_us(4000 + (long)(draw_random(&l->rng) % 12000));
    }
    end_life(l);
}

static sfid_options world_options(void) {
    sfid_options opt = options_of(here->app, -1, &here->layout);
    opt.run_dir = here->place.run;
    opt.state_dir = here->place.state;
    opt.max_ahead_ms = 500;
    opt.max_wait_ms = 1000;
    opt.open_timeout_ms = 2000;
    opt.pid_min = 1;
    opt.pid_max = here->pid_max;
    opt.store = here->store;
    if (here->fixed) {
        opt.pid = 1 + (int64_t)(me.number % (uint64_t)here->pid_max);
        opt.pid_min = opt.pid_max = 0;
        opt.store = NULL;
    } else if (strncmp(here->store, "redis", 5) == 0) {
        opt.ttl_ms = 3000;
        opt.heartbeat_ms = 700;
        opt.skew_budget_ms = 100;
        opt.on_unknown = SFID_TRUST;
    }
    return opt;
}

/* Everything of this process from here on lies in a PID namespace, of which its child is the
 * first. */
static void enter_pid_space(struct life *l) {
    siginfo_t ended;
    if (unshare(CLONE_NEWPID) < 0)
        return;
    const pid_t child = fork();
    if (child < 0)
        _exit(0);
    /* killed, it leaves the first one of that namespace to the world; which alone reaps members */
    if (child > 0) {
        join_members(child);
        while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
            ;
        _exit(0);
    }
    count(&here->tally.pid_spaces);
    l->in_pid_space = true;
}

/* From the start to the end of a process that the world starts. */
static int live(void *arg) {
    struct life *const l = &me;
    l->rng = *(uint64_t *)arg;
    l->number = atomic_fetch_add(&here->number, 1);
    own_clock = &here->clock_ns;
    if (here->apart && draw_random(&l->rng) % 3 == 0)
        l->knows_mounts = apart();
    if (here->apart && (geteuid() == 0 || l->knows_mounts) && draw_random(&l->rng) % 8 == 0)
        enter_pid_space(l);
    if (draw_random(&l->rng) % 3 == 0)
        cover(l);
    const sfid_options opt = world_options();
    while (sfid_open(&l->g, &opt) < 0) {
        sfid_close(l->g);
        if (is_over() || draw_random(&l->rng) % 4 == 0)
            return 0;
        nap_us(20000);
    }
    count(&here->tally.opened);
    must(draw_random(&l->rng) % 2 == 0 || sfid_lane_open(&l->lane, l->g) >= 0, "no lane");
    live_on(l);
}

#endif
