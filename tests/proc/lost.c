/* SPDX-License-Identifier: MIT */
/*
 * The app's state directory is removed under processes that draw with the "local" store: locks and
 * marks are gone. Whoever holds a pid goes on and has it again, nobody who comes meanwhile gets it,
 * and no ID is repeated. In a forked family the first to renew makes the loss good; parent and
 * child go on whichever of them closes or is killed. The one that can renew is late, and the other
 * one takes its place, which cannot: IDs go on. Where neither can, both try with pauses.
 *
 * Sizes: removed 10 times under four processes (long: 100; sanitizer: 4), and once under each
 * family.
 */
#include "support/local.h"

#include <sys/mount.h>
#include <sys/ptrace.h>

#define LAYOUT "41:5:12/1ms"
#define STORE "local?lead_ms=200"
#define LONGER_STORE "local?lead_ms=1500"

enum { LEAD_MS = 200, PROCESSES = 4, LOG_ROOM = 1 << 19, BURST = 10 };
/* PAUSE_MS: a keeper may be late, and the next one, too. TRY_MS: half of the shortest pause between
 * two tries. */
enum { PAUSE_MS = 2500, TRY_MS = 25 };
enum end {
    PARENT_CLOSES,
    PARENT_KILLED,
    CHILD_CLOSES,
    CHILD_KILLED,
    CHILD_MAY_NOT_WRITE,
    NEITHER_MAY_WRITE
};

static sfid_layout layout;

static struct report {
    atomic_int done;
    _Atomic int64_t drawn[PROCESSES + 2], errors, an_error, losses;
    atomic_int closed; /* who was to close has */
    _Atomic pid_t child;
    _Atomic int64_t failures;           /* renewals, of one process and in succession */
    struct took longest[PROCESSES + 2]; /* that some calls took */
} * report;

static int64_t longest_hold_ms; /* of a keeper */

static sfid_options options(const char *app) {
    sfid_options opt = local_options(app, STORE, &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = TAP_WAIT_MS;
    return opt;
}

static void draw(sfid *g, struct idlog *log, int number) {
    const int64_t begin = tap_now_ms();
    for (int i = 0; i < BURST && !idlog_full(log); i++) {
        const int64_t id = sfid_next(g);
        if (id >= 0)
            idlog_put(log, id);
        else if (atomic_fetch_add(&report->errors, 1) == 0)
            atomic_store(&report->an_error, id);
        atomic_fetch_add(&report->drawn[number], id >= 0);
    }
    report->longest[number] = took_longer(report->longest[number], took_since(begin));
    sfid_status_info st;
    if (sfid_status(g, &st) == 0)
        raise_to(&report->failures, (int64_t)st.renew_failures);
    nap_us(1000);
}

static void judge_calls(const char *what) {
    struct took longest = {0, 0};
    for (size_t i = 0; i < COUNT_OF(report->longest); i++)
        longest = took_longer(longest, report->longest[i]);
    if (!is_i64(report->errors, 0, "%s: no call fails", what))
        diag("one got %" PRIi64, report->an_error);
    in_time(longest, PAUSE_MS + longest_hold_ms, "%s: and none waits for long", what);
}

struct wait_more {
    int number;
    int64_t until;
};

static bool has_more(void *arg) {
    const struct wait_more *w = arg;
    return atomic_load(&report->drawn[w->number]) >= w->until;
}

/* All from one number to another draw on for longer than a window. */
static bool go_on(int from, int to) {
    const int64_t begin = mono_ns();
    while (mono_ns() - begin < 300 * (int64_t)NS_PER_MS)
        for (int i = from; i <= to; i++)
            if (!tap_wait_until(has_more,
                                &(struct wait_more){i, atomic_load(&report->drawn[i]) + BURST},
                                TAP_WAIT_MS))
                return false;
    return true;
}

static void remove_state(const char *app) {
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", dirs.state, app);
    remove_tree(path);
}

/* ---- processes ---------------------------------------------------------- */

static int one_of_many(void *arg) {
    const int number = *(int *)arg;
    const sfid_options opt = options("many");
    struct idlog log;
    sfid_status_info st;
    witness_begin();
    sfid *g = open_or_die(&opt);
    log_start(&log, LOG_ROOM, 1, (uint64_t)sfid_pid(g), "one-%d", number);
    while (!atomic_load(&report->done))
        draw(g, &log, number);
    if (sfid_status(g, &st) == 0)
        atomic_fetch_add(&report->losses, (int64_t)st.losses);
    sfid_close(g);
    return 0;
}

/* Comes while the others' locks are gone, draws a little and leaves. */
static int newcomer(void *arg) {
    static int number;
    const sfid_options opt = options("many");
    struct idlog log;
    (void)arg;
    witness_begin();
    sfid *g = open_or_die(&opt);
    log_start(&log, 1000, 2, (uint64_t)sfid_pid(g), "new-%d-%d", (int)getpid(), number++);
    for (int i = 0; i < 20; i++)
        draw(g, &log, PROCESSES);
    sfid_close(g);
    return 0;
}

static void test_many(void) {
    pid_t children[PROCESSES];
    const uint64_t times = sized(10, 100, 4);
    int bad = 0;
    memset(report, 0, sizeof *report);
    for (int i = 0; i < PROCESSES; i++)
        children[i] = child_start(one_of_many, &i);
    for (int i = 0; i < PROCESSES; i++)
        bad += !tap_wait_until(has_more, &(struct wait_more){i, 100}, TAP_WAIT_MS);
    for (uint64_t i = 0; i < times; i++) {
        remove_state("many");
        bad += child_run(newcomer, NULL, TAP_WAIT_MS) != 0;
        bad += i % 3 == 2 && !go_on(0, PROCESSES - 1);
    }
    atomic_store(&report->done, 1);
    for (int i = 0; i < PROCESSES; i++)
        bad += child_wait(children[i], TAP_WAIT_MS) != 0;
    is_i64(bad, 0,
           "many: removed %" PRIu64 " times: holders go on, newcomers get pids of their own",
           times);
    judge_calls("many");
    ok(report->losses > 0, "many: the loss is noticed (%" PRIi64 " times)", report->losses);
    is_i64(count_locked(dirs.shm, ""), 0, "many: no lock is left");
    judge(LAYOUT, "per-file", UINT64_MAX, "many");
}

/* ---- families ----------------------------------------------------------- */

struct family {
    sfid *g;
    const char *app;
    enum end end;
};

static bool make_read_only(void) {
    return mount(dirs.state, dirs.state, NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, dirs.state, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

/* In a view of its own the state directory is read-only. */
static bool loses_write_access(void) { return own_mounts() && make_read_only(); }

static int try_that(void *unused) {
    (void)unused;
    return loses_write_access() ? 0 : 1;
}

static int child_of(void *arg) {
    const struct family *f = arg;
    struct idlog log;
    witness_begin();
    if (f->end == CHILD_MAY_NOT_WRITE && !loses_write_access())
        return 1;
    log_start(&log, LOG_ROOM, 1, 0, "child");
    while (atomic_load(&report->done) < (f->end == CHILD_CLOSES ? 1 : 2))
        draw(f->g, &log, 1);
    sfid_close(f->g);
    atomic_store(&report->closed, 1);
    return 0;
}

static int parent_of(void *arg) {
    struct family *f = arg;
    sfid_options opt = options(f->app);
    struct idlog log;
    if (f->end == NEITHER_MAY_WRITE) {
        opt.store = LONGER_STORE;
        opt.max_wait_ms = 1;
        if (!own_mounts())
            return 2;
    }
    witness_begin();
    f->g = open_or_die(&opt);
    let_threads_start();
    const pid_t child = fork();
    if (child == 0)
        _exit(child_of(f));
    if (f->end == NEITHER_MAY_WRITE && !make_read_only())
        return 2;
    atomic_store(&report->child, child);
    log_start(&log, LOG_ROOM, 1, 0, "parent");
    while (atomic_load(&report->done) < (f->end == PARENT_CLOSES ? 1 : 2)) {
        draw(f->g, &log, 0);
        if (f->end == CHILD_KILLED && atomic_load(&report->done) == 1 &&
            !atomic_load(&report->closed)) {
            child_kill(child);
            atomic_store(&report->closed, 1);
        }
    }
    sfid_close(f->g);
    atomic_store(&report->closed, 1);
    return waitpid(child, NULL, 0) == child || f->end == CHILD_KILLED ? 0 : 1;
}

/* Draws until the loss was noticed by whoever renews. */
static void test_family(enum end end, const char *app, const char *what) {
    struct family f = {.app = app, .end = end};
    const int who_stays = end == PARENT_CLOSES || end == PARENT_KILLED ? 1 : 0;
    const sfid_options opt = options(app);
    memset(report, 0, sizeof *report);
    const pid_t parent = child_start(parent_of, &f);
    ok(tap_wait_until(has_more, &(struct wait_more){0, 100}, TAP_WAIT_MS) &&
           tap_wait_until(has_more, &(struct wait_more){1, 100}, TAP_WAIT_MS),
       "%s: parent and child draw", what);
    remove_state(app);
    ok(go_on(0, 1), "%s: both go on when the state is removed", what);
    atomic_store(&report->done, 1);
    if (end == PARENT_KILLED)
        child_kill(parent);
    else
        ok(flag_wait(&report->closed, 1, TAP_WAIT_MS), "%s: it happens", what);
    ok(go_on(who_stays, who_stays), "%s: the other one goes on", what);
    ok(pid_of_open(&opt) != 0, "%s: its pid is nobody else's", what);
    atomic_store(&report->done, 2);
    if (end != PARENT_KILLED)
        is_i64(child_wait(parent, TAP_WAIT_MS), 0, "%s: all end well", what);
    else
        ok(waitpid(-1, NULL, 0) > 0, "%s: the child ends", what);
    judge_calls(what);
    is_i64(count_locked(dirs.shm, ""), 0, "%s: no lock is left", what);
    is_i64(pid_of_open(&opt), 0, "%s: the pid is free", what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static bool has_keeper(void *process) {
    return thread_named(*(pid_t *)process, "sfid-keeper", NULL) != 0;
}

/* Its keeper is held until the window is over, and then goes on. */
static bool is_late(pid_t process) {
    if (!tap_wait_until(has_keeper, &process, TAP_WAIT_MS) ||
        !trace_seize(thread_named(process, "sfid-keeper", NULL)))
        return false;
    const int64_t begin = tap_now_ms();
    nap_us(3000L * LEAD_MS);
    const bool goes_on =
        ptrace(PTRACE_DETACH, thread_named(process, "sfid-keeper", NULL), NULL, NULL) == 0;
    const int64_t held_ms = tap_now_ms() - begin;
    longest_hold_ms = held_ms > longest_hold_ms ? held_ms : longest_hold_ms;
    return goes_on;
}

/*
 * One of two cannot renew: the other one made the lost mark anew and has its lock, or the child may
 * not write. It takes the page while the other one's keeper is late, and leaves it to that one
 * again.
 */
static void test_late(enum end end, const char *app, const char *what) {
    struct family f = {.app = app, .end = end};
    /* each keeper twice; who has the lock is not known */
    const int times = end == CHILD_MAY_NOT_WRITE ? 1 : 4;
    memset(report, 0, sizeof *report);
    const int64_t begin = tap_now_ms();
    const pid_t parent = child_start(parent_of, &f);
    ok(tap_wait_until(has_more, &(struct wait_more){0, 100}, TAP_WAIT_MS) &&
           tap_wait_until(has_more, &(struct wait_more){1, 100}, TAP_WAIT_MS),
       "%s: parent and child draw", what);
    if (end != CHILD_MAY_NOT_WRITE)
        remove_state(app);
    ok(go_on(0, 1), "%s: both go on", what);
    for (int i = 0; i < times; i++) {
        ok(is_late(i % 2 ? atomic_load(&report->child) : parent),
           "%s: a keeper is late, for longer than a window", what);
        ok(go_on(0, 1), "%s: both go on when it is back", what);
    }
    const int64_t failures = report->failures;
    ok(failures <= (tap_now_ms() - begin) / TRY_MS,
       "%s: the other one has not tried all the time (%" PRIi64 " times)", what, failures);
    atomic_store(&report->done, 2);
    is_i64(child_wait(parent, TAP_WAIT_MS), 0, "%s: all end well", what);
    judge_calls(what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static bool has_failures(void *least) { return atomic_load(&report->failures) >= *(int *)least; }

/* The first pause is of 50 ms, the longest a third of a window: each of the two tries with pauses
 * that grow to that. */
static void test_neither(void) {
    static const char what[] = "neither may write";
    enum { LONGER_MS = 1500, OUTAGE_MS = 3000, MOST = 20 };
    struct family f = {.app = "seventh", .end = NEITHER_MAY_WRITE};
    memset(report, 0, sizeof *report);
    const pid_t parent = child_start(parent_of, &f);
    ok(tap_wait_until(has_failures, &(int){1}, TAP_WAIT_MS), "%s: renewals fail", what);
    nap_us(1000L * LONGER_MS); /* then the window is over */
    const int64_t begin = mono_ns(), before = report->failures;
    nap_us(1000L * OUTAGE_MS);
    tap_wait_until(has_failures, &(int){(int)before + 1}, TAP_WAIT_MS);
    const int64_t more = report->failures - before,
                  most = MOST * ((mono_ns() - begin) / NS_PER_MS) / OUTAGE_MS;
    ok(more > 0 && more <= most, "%s: they are tried with pauses (%" PRIi64 " times)", what, more);
    child_kill(parent);
    kill(atomic_load(&report->child), SIGKILL);
    waitpid(-1, NULL, 0); /* it is this process's by now */
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

int main(void) {
    dirs_make();
    witness_begin();
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm); /* where locks are counted */
    layout = layout_of(LAYOUT);
    report = shared_memory(sizeof *report);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    test_many();
    test_family(PARENT_CLOSES, "first", "parent closes");
    test_family(PARENT_KILLED, "second", "parent killed");
    test_family(CHILD_CLOSES, "third", "child closes");
    test_family(CHILD_KILLED, "fourth", "child killed");
    if (can_trace()) {
        test_late(PARENT_CLOSES, "fifth", "late, state removed");
        if (child_run(try_that, NULL, TAP_WAIT_MS) == 0) {
            test_late(CHILD_MAY_NOT_WRITE, "sixth", "late, child may not write");
            test_neither();
        } else {
            skip(1, "cannot mount a file system here");
        }
    } else {
        skip(1, "cannot trace a thread here");
    }
    return done_testing();
}
