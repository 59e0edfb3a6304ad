/* SPDX-License-Identifier: MIT */
/*
 * Containers: mount and PID namespaces, in which every process has the same process and thread IDs.
 * They share both directories, or one of them and have the other to themselves, each way. Two run
 * at once, one of them ends, and a new one comes in its place, which finds its own directory empty.
 * No two alive have one pid, unless they share it, no ID comes twice, and the IDs of a pid go on
 * increasing. Then with pids leased from a server; and, as a control, two that have nothing in
 * common.
 *
 * Sizes: the first one ends by SIGKILL, with a server both directories are common (long: also by a
 * close, each way). Namespaces take root.
 */
#include "support/local.h"
#include "support/redis.h"

#include <sys/wait.h>

/* long ticks: what is issued again is issued again in the same tick */
#define LAYOUT "38:10:15/100ms"

enum { RUN = 1, STATE = 2, BOTH = 3, NOTHING = 0, BURST = 32, APART = 77 };
enum { LONG_MS = 60000 /* of a lease: a machine that stands still loses none */, PAUSE_MS = 2000 };

static sfid_layout layout;

struct box {
    const sfid_options *opt;
    unsigned volumes; /* directories that it shares with the others */
    bool closing;
    uint64_t life;
    atomic_int held, may_end;
    int rc;
    _Atomic int64_t pid, ids, errors;
    _Atomic uint64_t limit, renewals;
    _Atomic pid_t self, keeper; /* as its namespace numbers them */
    struct took longest;        /* of its calls */
    char text[300];
    pid_t child;
};

/* ---- inside ---------------------------------------------------------------- */

static void look(struct box *b, sfid *g) {
    sfid_status_info st;
    if (sfid_status(g, &st) != 0)
        return;
    atomic_store(&b->limit, st.limit_tick);
    atomic_store(&b->renewals, st.renewals);
}

static int draw_in(void *arg) {
    struct box *b = arg;
    struct idlog log;
    sfid *g = NULL;
    int64_t ids[BURST];
    witness_begin();
    b->rc = sfid_open(&g, b->opt);
    snprintf(b->text, sizeof b->text, "%s", sfid_last_error(g));
    atomic_store(&b->self, getpid());
    atomic_store(&b->pid, sfid_pid(g));
    if (b->rc == 0)
        log_start(&log, 1 << 21, b->life, IDLOG_ANY_PID, "box-%" PRIu64, b->life);
    atomic_store(&b->held, 1);
    while (b->rc == 0 && !atomic_load(&b->may_end)) {
        const int64_t begin = tap_now_ms(), n = sfid_next_n(g, ids, BURST);
        b->longest = took_longer(b->longest, took_since(begin));
        atomic_fetch_add(n < 0 ? &b->errors : &b->ids, n < 0 ? 1 : n);
        if (n > 0)
            log_ids(&log, ids, n);
        look(b, g);
        nap_us(2000);
    }
    if (b->closing)
        sfid_close(g);
    return 0;
}

/* The first process of a container. Those outside wait for the one that made the namespaces, and
 * its end is theirs. */
static int contain(void *arg) {
    struct box *b = arg;
    if (!own_mounts() || (!(b->volumes & RUN) && !mount_tmpfs(dirs.run, "size=16m")) ||
        (!(b->volumes & STATE) && !mount_tmpfs(dirs.state, "size=16m")) ||
        unshare(CLONE_NEWPID) < 0)
        return APART;
    const pid_t first = child_start(draw_in, b);
    int status;
    while (waitpid(first, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : DIED;
}

/* ---- outside --------------------------------------------------------------- */

static struct box *box_start(const sfid_options *opt, unsigned volumes, bool closing) {
    static uint64_t lives;
    struct box *b = shared_memory(sizeof *b);
    b->opt = opt;
    b->volumes = volumes;
    b->closing = closing;
    b->life = ++lives;
    b->child = child_start(contain, b);
    if (!flag_wait(&b->held, 1, TAP_WAIT_MS))
        die("a container does not open");
    if (b->rc != 0)
        diag("open: %s", b->text);
    return b;
}

static void box_end(struct box *b) {
    atomic_store(&b->may_end, 1);
    if (b->closing)
        is_i64(child_wait(b->child, TAP_WAIT_MS), 0, "it ends well");
    else
        child_kill(b->child);
}

struct goes_on {
    struct box *b;
    int64_t ids;
    uint64_t tick, renewals;
};

static bool has_gone_on(void *arg) {
    const struct goes_on *w = arg;
    return atomic_load(&w->b->ids) > w->ids && atomic_load(&w->b->limit) > w->tick &&
           atomic_load(&w->b->renewals) >= w->renewals &&
           (w->b->opt->ttl_ms == LONG_MS || tick_now(&layout) > w->tick);
}

/* It generates in a later window than now. One that is too long to see its end has been extended
 * twice. */
static bool outlives_window(struct box *b) {
    struct goes_on w = {b, atomic_load(&b->ids), atomic_load(&b->limit),
                        atomic_load(&b->renewals) + 2};
    return tap_wait_until(has_gone_on, &w, TAP_WAIT_MS);
}

static bool draws(struct box *b) {
    struct goes_on w = {b, atomic_load(&b->ids), 0, 0};
    return tap_wait_until(has_gone_on, &w, TAP_WAIT_MS);
}

static void relay(const sfid_options *opt, unsigned volumes, bool one_pid, bool closing,
                  const char *what) {
    struct box *first = box_start(opt, volumes, closing), *second = box_start(opt, volumes, true);
    if (!ok(first->rc == 0 && second->rc == 0 && draws(first) && draws(second),
            "%s: two containers generate", what))
        return;
    is_i64(atomic_load(&first->self), atomic_load(&second->self),
           "%s: their processes have one process ID", what);
    is_i64(first->pid == second->pid, one_pid, "%s: %s", what,
           one_pid ? "they share a pid" : "each has a pid of its own");
    box_end(first);
    ok(outlives_window(second), "%s: one ends, the other goes on past its window", what);
    struct box *third = box_start(opt, volumes, true);
    ok(third->rc == 0 && draws(third), "%s: a new one generates", what);
    is_i64(third->pid == second->pid, one_pid, "%s: %s", what,
           one_pid ? "from the shared pid" : "and not from the pid in use");
    box_end(second);
    is_i64(atomic_load(&second->errors), 0, "%s: no call of the one that stayed has failed", what);
    in_time(second->longest, PAUSE_MS, "%s: nor waited for long", what);
    ok(draws(third), "%s: the new one goes on without it", what);
    box_end(third);
    judge(LAYOUT, one_pid ? "per-file" : "pid", UINT64_MAX, what);
}

static void each_way(const char *store, bool share, const char *what) {
    static const char *const sharing[] = {"", "the run directory", "the state directory",
                                          "both directories"};
    const bool all = getenv("SFID_TEST_LONG") != NULL, leases = strncmp(store, "local", 5) != 0;
    char app[40], text[120];
    for (unsigned volumes = leases && !all ? BOTH : RUN; volumes <= BOTH; volumes++)
        for (int closing = 0; closing <= all; closing++) {
            snprintf(app, sizeof app, "%s-%u%d", what, volumes, closing);
            snprintf(text, sizeof text, "%s, %s in common, %s", what, sharing[volumes],
                     closing ? "closed" : "killed");
            sfid_options opt = local_options(app, store, &layout);
            opt.max_ahead_ms = 0;
            opt.max_wait_ms = TAP_WAIT_MS;
            opt.pid_max = 63;
            if (leases) {
                opt.pid_min = 1;
                opt.open_timeout_ms = TAP_WAIT_MS;
                opt.ttl_ms = LONG_MS;
                opt.heartbeat_ms = 300;
                opt.skew_budget_ms = 50;
                opt.on_unknown = SFID_TRUST;
            }
            relay(&opt, volumes, share && volumes == BOTH, closing, text);
        }
}

/* Shows that the namespaces are apart: where nothing is in common the local store cannot know. */
static void nothing_in_common(void) {
    sfid_options opt = local_options("apart", "local", &layout);
    struct box *a = box_start(&opt, NOTHING, false), *b = box_start(&opt, NOTHING, false);
    is_i64(atomic_load(&a->pid), atomic_load(&b->pid),
           "control: two with nothing in common take one pid of the local store");
    box_end(a);
    box_end(b);
}

static void leased(void) {
    struct redis r;
    char store[200];
    const char *installed[8];
    if (redis_installed_ones(installed, COUNT_OF(installed)) == 0)
        return;
    redis_start(&r, installed[0], "containers", 0, NULL);
    snprintf(store, sizeof store, "unix://%s?timeout=20s", r.socket);
    each_way(store, false, "leased");
    redis_kill(&r);
}

static int probe(void *arg) {
    (void)arg;
    return own_mounts() && unshare(CLONE_NEWPID) == 0 ? 0 : APART;
}

int main(void) {
    dirs_make();
    witness_begin();
    layout = layout_of(LAYOUT);
    if (!can_mount()) {
        skip(1, "cannot mount a file system here");
    } else if (child_run(probe, NULL, TAP_WAIT_MS) != 0) {
        skip(1, "cannot make a PID namespace here");
    } else {
        each_way("local?lead_ms=300", false, "local");
        each_way("local?lead_ms=300&share=1", true, "shared");
        leased();
        nothing_in_common();
    }
    return done_testing();
}
