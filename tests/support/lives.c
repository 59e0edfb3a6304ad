/* SPDX-License-Identifier: MIT */
#include "support/lives.h"

enum { BURST = 8, LOG_ROOM = 4096, MOST_ALIVE = 256 };

struct lives_report *lives_begin(void) {
    return shared_file("report", sizeof(struct lives_report));
}

/* ---- a life ------------------------------------------------------------- */

/* Of the first error: how the page stood then, too. */
static void fail(struct lives_report *report, const sfid *g, int64_t code) {
    sfid_status_info st;
    const bool known = sfid_status(g, &st) == 0 && st.pid >= 0;
    if (atomic_fetch_add(&report->errors, 1) != 0)
        return;
    atomic_store(&report->an_error, code);
    snprintf(report->text, sizeof report->text,
             "%s (%s%d, pid %d, window %d ms, %d failures, %d losses, it keeps: %d)",
             sfid_last_error(g), known ? "connected " : "not open ", (int)st.connected, (int)st.pid,
             (int)st.window_ms, (int)st.renew_failures, (int)st.losses, (int)st.keeper_here);
}

static void one(struct lives_report *report, sfid *g, struct idlog *log) {
    const int64_t before = atomic_load(&report->highest), id = sfid_next(g);
    if (id < 0) {
        fail(report, g, id);
        return;
    }
    idlog_put(log, id);
    if (id <= before)
        atomic_fetch_add(&report->behind, 1);
    raise_to(&report->highest, id);
}

int lives_live(struct lives_report *report, uint64_t random, const sfid_options *opt) {
    /* so that LeakSanitizer finds the one that is not closed; it may have no thread that points at
     * it */
    static sfid *g;
    struct idlog log;
    const int64_t begin = mono_ns();
    const int rc = sfid_open(&g, opt);
    if (rc < 0) {
        fail(report, g, rc);
        return 1;
    }
    const uint64_t life = atomic_fetch_add(&report->lives, 1) + 1;
    log_start(&log, LOG_ROOM, life, IDLOG_ANY_PID, "%" PRIu64, life);
    const int64_t pid = sfid_pid(g);
    if (atomic_exchange(&report->pid, pid) != pid)
        atomic_fetch_add(&report->other_pids, 1);
    one(report, g, &log);
    const uint64_t n = atomic_fetch_add(&report->firsts_n, 1);
    if (n < LIVES_FIRSTS)
        atomic_store(&report->firsts[n], mono_ns() - begin);
    const int64_t until = mono_ns() + (int64_t)(draw_random(&random) % 1000) *
                                          (draw_random(&random) % 4 ? 20000 : 600000);
    while (mono_ns() < until && idlog_room(&log, BURST) == BURST) {
        for (int i = 0; i < BURST; i++)
            one(report, g, &log);
        atomic_fetch_add(&report->ids, BURST);
        nap_us((long)(draw_random(&random) % 10000));
    }
    sfid_status_info st;
    if (sfid_status(g, &st) == 0 && st.keeper_here)
        atomic_fetch_add(&report->keepers, 1);
    if (draw_random(&random) % 4 == 0)
        return 0; /* without a close */
    sfid_close(g);
    atomic_fetch_add(&report->closed, 1);
    return 0;
}

/* ---- the storm ---------------------------------------------------------- */

struct process {
    pid_t pid;       /* 0: none */
    int64_t kill_at; /* 0: never */
    int64_t begin;
    struct patience patience;
};

static void start_life(struct process *p, uint64_t *rng, const char *argument,
                       struct lives_tally *t) {
    char random[24];
    snprintf(random, sizeof random, "%" PRIu64, draw_random(rng));
    p->begin = mono_ns();
    p->patience = (struct patience){0};
    const bool doomed = draw_random(rng) % 4 == 0, early = draw_random(rng) % 2;
    p->kill_at =
        doomed ? p->begin + (int64_t)(draw_random(rng) % (early ? 4000000 : 600000000)) : 0;
    p->pid = self_start("live", random, argument, NULL, NULL);
    t->started++;
}

static void look_after(struct process *p, struct lives_tally *t) {
    int status = 0;
    const int64_t now = mono_ns();
    if (p->kill_at && now >= p->kill_at) {
        kill(p->pid, SIGKILL);
        p->kill_at = 0;
    } else if (!patient(&p->patience, TAP_WAIT_MS)) {
        kill(p->pid, SIGKILL);
        diag("process %d hangs", (int)p->pid);
        t->hung++;
    }
    if (waitpid(p->pid, &status, WNOHANG) != p->pid)
        return;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    t->kills += killed;
    const bool failed = !killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    if (failed)
        diag("process %d ended after %" PRIi64 " ms: %s %d", (int)p->pid,
             (now - p->begin) / NS_PER_MS, WIFSIGNALED(status) ? "signal" : "exit status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    t->failed += failed;
    p->pid = 0;
}

void lives_rage(int64_t for_ns, int64_t every_ns, uint64_t *rng, const char *argument,
                void (*meanwhile)(void *arg), void *arg, struct lives_tally *t) {
    static struct process all[MOST_ALIVE];
    const int64_t begin = mono_ns();
    const unsigned before = t->started;
    unsigned alive = 1;
    while (mono_ns() - begin < for_ns || alive > 0) {
        const bool due = mono_ns() - begin < for_ns &&
                         mono_ns() - begin > (int64_t)(t->started - before) * every_ns;
        bool started = false;
        alive = 0;
        for (unsigned i = 0; i < MOST_ALIVE; i++) {
            if (all[i].pid)
                look_after(&all[i], t);
            else if (due && !started) {
                start_life(&all[i], rng, argument, t);
                started = true;
            }
            alive += all[i].pid != 0;
        }
        t->most_alive = alive > t->most_alive ? alive : t->most_alive;
        if (meanwhile)
            meanwhile(arg);
        nap_us(300);
    }
}

void lives_judge(struct lives_report *report, const struct lives_tally *t) {
    const size_t n = (size_t)(report->firsts_n < LIVES_FIRSTS ? report->firsts_n : LIVES_FIRSTS);
    const int64_t middle = median((int64_t *)report->firsts, n);
    diag("figure: %u lives, %u killed, at most %u at once; %" PRIu64 " opened, %" PRIi64
         " closed, %" PRIu64 " kept at their end; about %" PRIi64 " IDs",
         t->started, t->kills, t->most_alive, report->lives, report->closed, report->keepers,
         report->ids);
    diag("figure: sfid_open() to the first ID: median %.3f ms, p99 %.3f ms", (double)middle / 1e6,
         n ? (double)report->firsts[n * 99 / 100] / 1e6 : 0);
    is_u64(t->failed + t->hung, 0, "no life that is left alone fails, or hangs");
    if (!is_i64(report->errors, 0, "no open and no call fails"))
        diag("one got %" PRIi64 ": %s", report->an_error, report->text);
    is_i64(report->behind, 0, "each ID is above all that any process had before");
}

/* ---- one after another -------------------------------------------------- */

enum way { CLOSED, EXITED, KILLED_THEN, WAYS };

struct short_life {
    const sfid_options *opt;
    enum way way;
    int64_t first, last, pid;
};

static int live_shortly(void *arg) {
    struct short_life *life = arg;
    sfid *g = open_or_die(life->opt);
    life->pid = sfid_pid(g);
    life->first = sfid_next(g);
    life->last = sfid_next(g);
    if (life->way == CLOSED)
        sfid_close(g);
    if (life->way == KILLED_THEN)
        raise(SIGKILL);
    return 0;
}

unsigned lives_without_gap(const sfid_options *opt, int lives) {
    struct short_life *life = shared_memory(sizeof *life);
    unsigned gaps = 0, ticks = 0, moved = 0;
    int64_t before = -1, pid = -1;
    for (int i = 0; i < lives; i++) {
        *life = (struct short_life){.opt = opt, .way = (enum way)(i * 7 % WAYS)};
        child_run(live_shortly, life, TAP_WAIT_MS);
        const bool same_tick =
            before >= 0 && id_tick(opt->layout, life->first) == id_tick(opt->layout, before);
        moved += before >= 0 && life->pid != pid;
        ticks += before >= 0 && !same_tick;
        const bool one_tick = id_tick(opt->layout, life->first) == id_tick(opt->layout, life->last);
        gaps +=
            (same_tick && life->first != before + 1) || (one_tick && life->last != life->first + 1);
        gaps += life->first <= before || life->last <= life->first;
        before = life->last;
        pid = life->pid;
    }
    munmap(life, sizeof *life);
    is_u64(gaps, 0, "%d lives, closed, exited and killed: numbers without a gap (%u ticks began)",
           lives, ticks);
    return moved;
}
