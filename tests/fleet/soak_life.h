/* SPDX-License-Identifier: MIT */
/*
 * soak_life.h - what a process of tests/fleet/soak does. It opens, generates at a slow pace, forks
 * when it is told, and closes. It measures how long it wanted an ID and got none, and which faults
 * were on meanwhile.
 */
#ifndef SFID_TESTS_SOAK_LIFE_H
#define SFID_TESTS_SOAK_LIFE_H

#include "support/fleet.h"
#include "support/own_clock.h"

enum { APPS = 9, MEMBERS = 32, SEATS = 2 * MEMBERS, HOSTS = 16, SERVERS = 2 };
enum { CODES = 16 }; /* more than there are */
enum { LOG_ROOM = 1 << 16, BURST = 8, NAP_US = 35000 };

/* What is done. A fault of a process counts for the stalls of this process, any other for its
 * app's. */
enum fault {
    KILLED_OFF,
    CLOSED,
    FORKED,
    STOPPED,
    CLOCK_STEP,
    RUN_GONE,
    SLOT_GONE,
    STATE_GONE,
    MARK_GONE,
    FLUSHED,
    EMPTY,
    OLD_SAVE,
    PAUSED,
    SERVER_CLOCK,
    FAULTS,
    OF_A_PROCESS = STOPPED
};

static const char *const fault_names[FAULTS + 1] = {
    "killed",    "closed",         "forked",    "stopped", "clock step", "run dir gone",
    "slot gone", "state dir gone", "mark gone", "flushed", "back empty", "back with old save",
    "paused",    "server's clock", "no fault"};

/* A place for one process after the other; SEATS above MEMBERS are those of forked children. */
struct seat {
    unsigned app, host;
    atomic_int fork_wanted;
    /* a child is to come; it sets this to 0, and does not live if it is already */
    atomic_int unborn;
    _Atomic int64_t stopped_till;      /* monotonic; INT64_MAX: it is stopped */
    _Atomic int64_t own[OF_A_PROCESS]; /* as on_till, of its own faults */
};

struct stall {
    _Atomic int64_t any_ms, alone_ms; /* alone: no fault of another kind was on */
};

/* Shared by all processes. */
struct board {
    pid_t test;
    struct seat seats[SEATS];
    _Atomic int64_t host_clock_ns[HOSTS];
    /* monotonic: until then a fault of this kind may be felt */
    _Atomic int64_t on_till[APPS][FAULTS];
    struct stall stalls[FAULTS + 1];
    _Atomic uint64_t opened, refused_opens, refusals, odd, order_breaks, lost;
    _Atomic int64_t odd_code;
    _Atomic uint64_t opens_by[CODES];
};

static struct board *board;
static struct member *members; /* one for each seat */
static sfid_layout layouts[APPS];
static char log_dirs[APPS][4300];

static void count(_Atomic uint64_t *what) {
    atomic_fetch_add_explicit(what, 1, memory_order_relaxed);
}

/* ---- stalls ------------------------------------------------------------- */

/* A process wanted an ID since then, and has one now. Nothing counts that was stopped itself
 * meanwhile. */
static void note_stall(const struct seat *s, int64_t since_ns) {
    const int64_t ms = (mono_ns() - since_ns) / NS_PER_MS;
    int on[FAULTS], n = 0;
    if (ms < 1 || atomic_load(&s->stopped_till) >= since_ns)
        return;
    for (int f = 0; f < FAULTS; f++)
        if (atomic_load(f < OF_A_PROCESS ? &s->own[f] : &board->on_till[s->app][f]) >= since_ns)
            on[n++] = f;
    if (n == 0)
        on[n++] = FAULTS;
    for (int i = 0; i < n; i++)
        raise_to(&board->stalls[on[i]].any_ms, ms);
    if (n == 1)
        raise_to(&board->stalls[on[0]].alone_ms, ms);
}

/* ---- a process ---------------------------------------------------------- */

/* These are what a fault may cost. Anything else is a mistake of the library or of the test. */
static bool may_be(int64_t code) {
    return code == SFID_EAGAIN || code == SFID_ELEASE || code == SFID_ECLOCK ||
           code == SFID_EREDIS || code == SFID_ENOPID || code == SFID_EBUSY || code == SFID_ESTATE;
}

static void note_refusal(_Atomic uint64_t *which, int64_t code, const char *text) {
    count(which);
    if (may_be(code))
        return;
    count(&board->odd);
    atomic_store(&board->odd_code, code);
    fprintf(stderr, "# odd: %" PRIi64 ": %s\n", code, text);
}

/*
 * Puts a wide ID into 63 bits: tick, pid and sequence, all that tells it from others. A worker of a
 * host is shared: its processes lease the high bits of its sequence, which is their pid here.
 */
static int64_t narrow(const sfid_options *opt, const sfid_layout *l, sfid_wide id) {
    sfid_wide_parts p;
    must(sfid_wide_parse(opt->wide, id, &p) == 0 && (opt->app || (int64_t)p.pid == opt->pid),
         "a wide ID is not of its layout");
    const uint64_t low = opt->app ? p.pid << l->pid_shift | p.seq : p.seq;
    must(low >> l->time_shift == 0 && p.tick >> (63 - l->time_shift) == 0,
         "63 bits do not hold a wide ID");
    return (int64_t)(p.tick << l->time_shift | low);
}

static int64_t draw_one(const struct member *m, sfid *g) {
    static sfid_wide last;
    sfid_wide id;
    if (m->opt.wide == NULL)
        return sfid_next(g);
    const int rc = sfid_next_wide(g, &id);
    if (rc < 0)
        return rc;
    if (sfid_wide_compare(last, id) >= 0)
        count(&board->order_breaks);
    last = id;
    return narrow(&m->opt, m->noted, id);
}

static void draw_burst(struct member *m, sfid *g, struct idlog *log, int64_t *since) {
    const struct seat *s = &board->seats[m - members];
    for (int i = 0; i < BURST && !idlog_full(log); i++) {
        *since = *since ? *since : mono_ns();
        const int64_t id = draw_one(m, g);
        member_note(m, log, id);
        if (id < 0) {
            note_refusal(&board->refusals, id, sfid_last_error(g));
            return;
        }
        note_stall(s, *since);
        *since = 0;
    }
}

static void fork_child(struct member *m, sfid *g);

/* since: it wants an ID since then; 0: from the first call on. */
static void draw_till_end(struct member *m, sfid *g, int64_t since) {
    struct seat *s = &board->seats[m - members];
    struct idlog log;
    uint64_t rng = recorder.process;
    member_log(&log, LOG_ROOM, 0);
    while (!atomic_load(&m->may_end)) {
        draw_burst(m, g, &log, &since);
        if (atomic_exchange(&s->fork_wanted, 0))
            fork_child(m, g);
        nap_us(NAP_US / 2 + (long)(draw_random(&rng) % NAP_US));
        if (kill(board->test, 0) < 0)
            _exit(DIED);
    }
    idlog_close(&log);
    atomic_fetch_add(&board->lost, (uint64_t)events_of(m, SFID_EVENT_LOST));
    member_close(m, g);
}

/* The child goes on with the generator, and may outlive its parent. */
static void fork_child(struct member *m, sfid *g) {
    struct member *child = m + MEMBERS;
    let_threads_start();
    const pid_t pid = fork();
    must(pid >= 0, "fork: %s", strerror(errno));
    if (pid > 0)
        return;
    const int64_t since = mono_ns();
    if (!atomic_exchange(&board->seats[child - members].unborn, 0))
        _exit(0);
    atomic_store(&child->ready, getpid());
    recorder_prepare(&recorder, child);
    recorder_begin(&recorder, g);
    atomic_store(&child->opened, 1);
    draw_till_end(child, g, since);
    _exit(0);
}

static int live(void *arg) {
    struct member *m = arg;
    const struct seat *s = &board->seats[m - members];
    sfid *g = NULL;
    own_clock = &board->host_clock_ns[s->host];
    snprintf(dirs.logs, sizeof dirs.logs, "%s", log_dirs[s->app]);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    member_open(m, &g);
    atomic_store(&m->opened, 1);
    if (m->rc == 0) {
        count(&board->opened);
        draw_till_end(m, g, recorder.begin_ns);
        return 0;
    }
    note_refusal(&board->refused_opens, m->rc, m->text);
    count(&board->opens_by[-m->rc % CODES]);
    sfid_close(g);
    return 0;
}

#endif
