/* SPDX-License-Identifier: MIT */
/*
 * A storm on one app of the "local" store: 32 processes of two threads each are killed with SIGKILL
 * at any moment, in sfid_open() too, and started again at once. No duplicate; the IDs of a pid go
 * on increasing, whoever had it; no more than 32 pids and 4 to spare are in use at once or ever, so
 * none is left behind with the dead; each life that is left alone has its first ID within
 * open_timeout_ms.
 *
 * Sizes: 6 s (long: 60 s; with a sanitizer 8 processes and 5 s).
 */
#include "support/local.h"

#define LAYOUT "41:10:12/1ms"

enum {
    MOST = 32,
    THREADS = 2,
    SPARE_PIDS = 4,
    BURST = 16,
    LOG_ROOM = 1 << 17,
    MOST_FIRSTS = 1 << 16,
    PIDS = 1024,
    COUNTS = 10
};
enum { FIRST_MS = 5000 }; /* open_timeout_ms where it is not set */

static sfid_layout layout;

/* From main() to the first ID of a life, which it measures itself. */
struct first {
    atomic_int there; /* the rest is, too */
    int64_t from_ms, to_ms, stood_ms;
};

/* What lives tell the storm. */
static struct report {
    _Atomic uint64_t life;            /* lives that got a pid, in the order they got it */
    struct first first[MOST];         /* of a process's present life */
    _Atomic int64_t errors, an_error; /* calls that failed, and how one of them did */
    atomic_char held[PIDS];           /* ever */
    _Atomic int64_t ids;
} * report;

/* ---- a life ------------------------------------------------------------- */

struct drawer {
    sfid *g;
    struct idlog log;
    uint64_t rng;
};

static void note(struct idlog *log, int64_t id) {
    if (id >= 0) {
        idlog_put(log, id);
        return;
    }
    atomic_fetch_add(&report->errors, 1);
    atomic_store(&report->an_error, id);
}

/* A burst now and then: what is tested is who has which pid, and the logs of a minute have to
 * fit. */
static void *draw_on(void *arg) {
    struct drawer *d = arg;
    int64_t ids[BURST];
    while (idlog_room(&d->log, BURST) == BURST) {
        const bool batch = draw_random(&d->rng) % 4 == 0;
        const int64_t n = batch ? sfid_next_n(d->g, ids, BURST) : 0;
        log_ids(&d->log, ids, n > 0 ? n : 0);
        if (n < 0)
            note(&d->log, n);
        for (int i = 0; !batch && i < BURST; i++)
            note(&d->log, sfid_next(d->g));
        atomic_fetch_add(&report->ids, BURST);
        nap_us((long)(draw_random(&d->rng) % 4000));
    }
    return NULL;
}

__attribute__((noreturn)) static void live(unsigned number, uint64_t random) {
    witness_begin();
    const int64_t from_ms = tap_now_ms();
    struct drawer drawers[THREADS];
    pthread_t thread;
    dirs_make();
    report = shared_file("report", sizeof *report);
    struct first *first = &report->first[number];
    layout = layout_of(LAYOUT);
    const sfid_options opt = local_options("storm", "local", &layout);
    sfid *g = open_or_die(&opt);
    const uint64_t pid = (uint64_t)sfid_pid(g), life = atomic_fetch_add(&report->life, 1) + 1;
    if (pid < PIDS)
        atomic_store(&report->held[pid], 1);
    for (unsigned i = 0; i < THREADS; i++) {
        drawers[i] = (struct drawer){.g = g, .rng = random + i};
        log_start(&drawers[i].log, LOG_ROOM, life, pid, "%" PRIu64 "-%u", life, i);
    }
    note(&drawers[0].log, next_within(g, TAP_WAIT_MS));
    const struct took took = took_since(from_ms);
    first->from_ms = from_ms;
    first->to_ms = from_ms + took.ms;
    first->stood_ms = took.stood_ms;
    atomic_store(&first->there, 1);
    for (unsigned i = 0; i < THREADS; i++)
        start_thread(&thread, draw_on, &drawers[i]);
    for (;;)
        pause();
}

/* ---- the storm ---------------------------------------------------------- */

struct process {
    pid_t pid;
    bool spared;     /* until its first ID */
    int64_t kill_at; /* monotonic; 0: not known before the first ID */
    int64_t length_ns, begin;
    struct patience patience;
    bool killed; /* and not gone yet: what it was writing may have to reach the disk first */
};

struct tally {
    int64_t firsts[MOST_FIRSTS];
    size_t firsts_n;
    unsigned kills, early, without, ended_alone, most_locked;
    struct took longest;
};

static void start_life(struct process *p, unsigned number, uint64_t *rng) {
    char which[8], random[24];
    snprintf(which, sizeof which, "%u", number);
    snprintf(random, sizeof random, "%" PRIu64, draw_random(rng));
    atomic_store(&report->first[number].there, 0);
    p->killed = false;
    p->patience = (struct patience){0};
    p->begin = mono_ns();
    p->spared = draw_random(rng) % 4 != 0;
    p->length_ns = (int64_t)(draw_random(rng) % (p->spared ? 500 : 8)) * NS_PER_MS +
                   (int64_t)(draw_random(rng) % NS_PER_MS);
    p->kill_at = p->spared ? 0 : p->begin + p->length_ns;
    p->pid = self_start("live", which, random, NULL, NULL);
}

/* What a life has seen of the machine, or what the test has, which also knows of the disk. */
static struct took took_of(const struct first *first) {
    struct took took = took_between(first->from_ms, first->to_ms);
    took.stood_ms = first->stood_ms > took.stood_ms ? first->stood_ms : took.stood_ms;
    return took;
}

/* Kills a life whose time has come. Who does not get an ID is left alone for as long as it takes,
 * within reason. */
static void kill_life(struct process *p, unsigned number, struct tally *t) {
    const struct first *first = &report->first[number];
    const int64_t now = mono_ns();
    const bool there = atomic_load(&first->there);
    if (p->kill_at == 0 && there)
        p->kill_at = now + p->length_ns;
    if ((p->kill_at == 0 || now < p->kill_at) && patient(&p->patience, TAP_WAIT_MS))
        return;
    kill(p->pid, SIGKILL);
    p->killed = true;
    t->kills++;
    t->early += !there;
    t->without += p->spared && !there;
    if (!p->spared || !there)
        return;
    const struct took took = took_of(first);
    t->longest = took_longer(t->longest, took);
    if (t->firsts_n < MOST_FIRSTS)
        t->firsts[t->firsts_n++] = took.ms;
}

static bool life_is_over(const struct process *p, struct tally *t) {
    int status = 0;
    if (waitpid(p->pid, &status, WNOHANG) != p->pid)
        return false;
    t->ended_alone += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
    return true;
}

/* Pids whose marks are locked just now: that is holding them. */
static unsigned count_held_now(void) {
    char dir[4300];
    snprintf(dir, sizeof dir, "%s/storm", dirs.state);
    return (unsigned)count_locked(dir, "pid-");
}

/* Again if there are too many: who counts slowly finds pids of the dead beside those of the
 * processes that came after them. */
static unsigned count_held_at_once(unsigned most) {
    unsigned held = count_held_now();
    for (int i = 1; i < COUNTS && held > most; i++) {
        const unsigned again = count_held_now();
        held = again < held ? again : held;
    }
    return held;
}

static void rage(unsigned processes, int64_t for_ns, uint64_t *rng, struct tally *t) {
    struct process all[MOST] = {0};
    int64_t look_at = 0;
    for (unsigned i = 0; i < processes; i++)
        start_life(&all[i], i, rng);
    for (const int64_t end = mono_ns() + for_ns; mono_ns() < end; nap_us(500)) {
        for (unsigned i = 0; i < processes; i++) {
            if (!all[i].killed)
                kill_life(&all[i], i, t);
            else if (life_is_over(&all[i], t))
                start_life(&all[i], i, rng);
        }
        if (mono_ns() < look_at)
            continue;
        const unsigned locked = count_held_at_once(processes + SPARE_PIDS);
        t->most_locked = locked > t->most_locked ? locked : t->most_locked;
        look_at = mono_ns() + 20 * NS_PER_MS;
    }
    for (unsigned i = 0; i < processes; i++)
        child_kill(all[i].pid);
}

static unsigned count_held(unsigned *highest) {
    unsigned n = 0;
    for (unsigned i = 0; i < PIDS; i++) {
        n += atomic_load(&report->held[i]);
        *highest = atomic_load(&report->held[i]) ? i : *highest;
    }
    return n;
}

static void report_storm(struct tally *t, unsigned processes) {
    unsigned highest = 0;
    const unsigned held = count_held(&highest);
    const int64_t middle = median(t->firsts, t->firsts_n);
    diag("figure: %u kills, %u of them before the first ID; %" PRIu64
         " lives got a pid, about %" PRIi64 " IDs",
         t->kills, t->early, report->life, report->ids);
    diag("figure: main() to first ID: median %" PRIi64 " ms, worst %" PRIi64 " ms of %zu", middle,
         t->longest.ms, t->firsts_n);
    diag("figure: %u pids used in all, the highest %u; at most %u held at once", held, highest,
         t->most_locked);
    is_u64(t->ended_alone, 0, "no life ends by itself");
    if (!is_i64(report->errors, 0, "no call fails"))
        diag("one got %" PRIi64, report->an_error);
    is_u64(t->without, 0, "each life that is left alone has an ID");
    in_time(t->longest, FIRST_MS, "within open_timeout_ms");
    ok(t->most_locked > 0 && t->most_locked <= processes + SPARE_PIDS,
       "no more pids are held at once than there are processes, and 4");
    ok(held <= processes + SPARE_PIDS,
       "no more pids than that are used in all: none stays with the dead");
}

/* When all are dead nothing holds a pid, and the first is to be had. */
static void test_calm(void) {
    const sfid_options opt = local_options("storm", "local", &layout);
    is_u64(count_held_now(), 0, "after the storm no lock is left");
    sfid *g = open_or_die(&opt);
    ok(sfid_pid(g) < SPARE_PIDS, "a newcomer gets one of the lowest pids");
    ok(next_within(g, TAP_WAIT_MS) > 0, "and draws from it");
    sfid_close(g);
}

int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], "live") == 0)
        live((unsigned)atoi(argv[2]), strtoull(argv[3], NULL, 10));
    static struct tally tally;
    uint64_t rng = seed();
    const unsigned processes = SANITIZED ? 8 : MOST;
    dirs_make();
    witness_begin();
    witness_system();
    layout = layout_of(LAYOUT);
    report = shared_file("report", sizeof *report);
    const sfid_options opt = local_options("storm", "local", &layout);
    /* publishes the layout: otherwise all wait for the disk at once */
    must(try_open(&opt) == 0, "cannot open");
    rage(processes, (int64_t)sized(6, 60, 5) * 1000 * NS_PER_MS, &rng, &tally);
    report_storm(&tally, processes);
    test_calm();
    judge(LAYOUT, "pid", UINT64_MAX, "storm");
    return done_testing();
}
