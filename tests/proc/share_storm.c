/* SPDX-License-Identifier: MIT */
/*
 * A storm on one shared page: 64 short lives a second, of which a quarter is killed with SIGKILL at any moment, in sfid_open()
 * and sfid_close() too. The window is short, so that keepers are needed again and again, and die with their processes. All
 * lives have one pid; no duplicate; each ID is above every one that any process had got before it was asked for; no call and
 * no open of a life that is left alone fails; files do not grow in number.
 *
 * Sizes: 8 s (long: 300 s; with a sanitizer 16 lives a second for 5 s).
 */
#include "support/local.h"

#define LAYOUT "41:10:12/1ms"
#define APP "crowd"

enum { LEAD_MS = 200, BURST = 8, LOG_ROOM = 4096, MOST_ALIVE = 256, MOST_FIRSTS = 1 << 15 };

static sfid_layout layout;

static struct report {
    _Atomic uint64_t lives, keepers;
    _Atomic int64_t highest; /* ID that any process has got */
    _Atomic int64_t behind;  /* IDs not above that */
    _Atomic int64_t errors, an_error, other_pids, closed;
    _Atomic int64_t ids;
    _Atomic uint64_t firsts_n;
    _Atomic int64_t firsts[MOST_FIRSTS]; /* sfid_open() to first ID */
    char text[200];
} * report;

/* ---- a life ------------------------------------------------------------- */

static void fail(int64_t code, const char *text) {
    atomic_fetch_add(&report->errors, 1);
    atomic_store(&report->an_error, code);
    snprintf(report->text, sizeof report->text, "%s", text);
}

static int64_t one(sfid *g, struct idlog *log) {
    const int64_t before = atomic_load(&report->highest), id = sfid_next(g);
    if (id < 0) {
        fail(id, sfid_last_error(g));
        return id;
    }
    idlog_put(log, id);
    if (id <= before)
        atomic_fetch_add(&report->behind, 1);
    raise_to(&report->highest, id);
    return id;
}

static int live(uint64_t random) {
    struct idlog log;
    dirs_make();
    report = shared_file("report", sizeof *report);
    layout = layout_of(LAYOUT);
    sfid_options opt = local_options(APP, "local?lead_ms=200&share=1", &layout);
    opt.max_ahead_ms = 0;
    sfid *g = NULL;
    const int64_t begin = mono_ns();
    const int rc = sfid_open(&g, &opt);
    if (rc < 0) {
        fail(rc, sfid_last_error(g));
        return 1;
    }
    const uint64_t life = atomic_fetch_add(&report->lives, 1) + 1;
    log_start(&log, LOG_ROOM, life, IDLOG_ANY_PID, "%" PRIu64, life);
    if (sfid_pid(g) != 0)
        atomic_fetch_add(&report->other_pids, 1);
    one(g, &log);
    const uint64_t n = atomic_fetch_add(&report->firsts_n, 1);
    if (n < MOST_FIRSTS)
        atomic_store(&report->firsts[n], mono_ns() - begin);
    const int64_t until = mono_ns() + (int64_t)(draw_random(&random) % 1000) * (draw_random(&random) % 4 ? 20000 : 600000);
    while (mono_ns() < until && idlog_room(&log, BURST) == BURST) {
        for (int i = 0; i < BURST; i++)
            one(g, &log);
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
};

struct tally {
    unsigned started, kills, failed, hung, most_alive;
};

static void start_life(struct process *p, uint64_t *rng, struct tally *t) {
    char random[24];
    snprintf(random, sizeof random, "%" PRIu64, draw_random(rng));
    p->begin = mono_ns();
    const bool doomed = draw_random(rng) % 4 == 0, early = draw_random(rng) % 2;
    p->kill_at = doomed ? p->begin + (int64_t)(draw_random(rng) % (early ? 4000000 : 600000000)) : 0;
    p->pid = self_start("live", random, NULL, NULL, NULL);
    t->started++;
}

static void look_after(struct process *p, struct tally *t) {
    int status = 0;
    const int64_t now = mono_ns();
    if (p->kill_at && now >= p->kill_at) {
        kill(p->pid, SIGKILL);
        p->kill_at = 0;
    } else if (now - p->begin > patience(30000) * (int64_t)NS_PER_MS) {
        kill(p->pid, SIGKILL);
        t->hung++;
    }
    if (waitpid(p->pid, &status, WNOHANG) != p->pid)
        return;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    t->kills += killed;
    t->failed += !killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    p->pid = 0;
}

static void rage(int64_t for_ns, int64_t every_ns, uint64_t *rng, struct tally *t) {
    static struct process all[MOST_ALIVE];
    const int64_t begin = mono_ns();
    unsigned alive = 1;
    while (mono_ns() - begin < for_ns || alive > 0) {
        const bool due = mono_ns() - begin < for_ns && mono_ns() - begin > (int64_t)t->started * every_ns;
        bool started = false;
        alive = 0;
        for (unsigned i = 0; i < MOST_ALIVE; i++) {
            if (all[i].pid)
                look_after(&all[i], t);
            else if (due && !started) {
                start_life(&all[i], rng, t);
                started = true;
            }
            alive += all[i].pid != 0;
        }
        t->most_alive = alive > t->most_alive ? alive : t->most_alive;
        nap_us(300);
    }
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "live") == 0)
        _exit(live(strtoull(argv[2], NULL, 10)));
    static struct tally t;
    char state[4300], run[200];
    uint64_t rng = seed();
    dirs_make();
    layout = layout_of(LAYOUT);
    report = shared_file("report", sizeof *report);
    rage((int64_t)sized(8, 300, 5) * 1000 * NS_PER_MS, 1000 * (int64_t)NS_PER_MS / (SANITIZED ? 16 : 64), &rng, &t);
    const size_t n = (size_t)(report->firsts_n < MOST_FIRSTS ? report->firsts_n : MOST_FIRSTS);
    const int64_t middle = median((int64_t *)report->firsts, n);
    diag("figure: %u lives, %u killed, at most %u at once; %" PRIu64 " opened, %" PRIi64 " closed, %" PRIu64
         " kept at their end; about %" PRIi64 " IDs",
         t.started, t.kills, t.most_alive, report->lives, report->closed, report->keepers, report->ids);
    diag("figure: sfid_open() to the first ID: median %.3f ms, p99 %.3f ms", (double)middle / 1e6,
         n ? (double)report->firsts[n * 99 / 100] / 1e6 : 0);
    is_u64(t.failed + t.hung, 0, "no life that is left alone fails, or hangs");
    if (!is_i64(report->errors, 0, "no open and no call fails"))
        diag("one got %" PRIi64 ": %s", report->an_error, report->text);
    is_i64(report->other_pids, 0, "all have one pid");
    is_i64(report->behind, 0, "each ID is above all that any process had before");
    ok(report->keepers > 0, "some kept the pid");
    snprintf(state, sizeof state, "%s/" APP, dirs.state);
    snprintf(run, sizeof run, "%s/" APP, dirs.run);
    is_i64(count_entries(state), 3, "the state directory has one mark, the layout and the doors");
    is_i64(count_entries(run), 3, "the run directory has one page under two names, and the doors");
    judge(LAYOUT, "per-file", UINT64_MAX, "storm");
    return done_testing();
}
