/* SPDX-License-Identifier: MIT */
/*
 * What keeps a window from being extended in time: the process is stopped, its keeper alone is,
 * renewals fail, the state directory is hidden, read-only or full. Each ID is held against the
 * durable mark as it stands when the call returns: none is beyond what was granted. When the window
 * is over a call that may wait does so, one that may not says SFID_ELEASE, and both go on by
 * themselves when the cause is gone.
 *
 * Sizes: each way once (long: 10 times). The window is 0.4 s.
 */
#include "support/local.h"

#include <sys/ptrace.h>
#include <sys/resource.h>

#define LAYOUT "41:4:18/1ms"
#define STORE "local?lead_ms=400"
#define APP "stopped"

enum {
    LATE_MS = 50,
    LOG_ROOM = 1 << 22,
    BURST = 5,
    SHORT_WAIT_MS = 5,
    LONG_WAIT_MS = 60000,
    PID = 1
};
enum way { BY_NEXT, BY_TRY };

static sfid_layout layout;

/* How a drawer draws, and what it saw. */
static struct scene {
    enum way way;
    uint32_t max_wait_ms;
    bool own_mounts;
    char mounted[100]; /* the small file system that the state directory is on, or "" */
    atomic_int begun, done;
    /* the drawer was not run for so long that the keeper may have gone to rest: then calls say
     * SFID_EAGAIN */
    bool late;
    atomic_int spoil, mend; /* orders: one of enum spoil */
    atomic_int orders;      /* carried out; -1: one failed */
    /* asked: calls begun; calls: those that have returned, and were judged */
    _Atomic int64_t drawn, last, asked, calls;
    _Atomic int64_t beyond, window_beyond;      /* IDs and windows past the mark */
    _Atomic int64_t out_of_window, wrong, code; /* refused as they should be; otherwise, and how */
    _Atomic int64_t window_ms, failures;        /* as sfid_status() tells them */
    /* of the next call that is told that the window is over */
    atomic_int text_wanted, text_there;
    char text[300];
} * scene;

/* ---- who draws ---------------------------------------------------------- */

static void judge_id(int64_t id, int mark) {
    if (id_tick(&layout, id) >= mark_tick_of(mark, &layout))
        atomic_fetch_add(&scene->beyond, 1);
    atomic_store(&scene->last, id);
    atomic_fetch_add(&scene->drawn, 1);
}

/* A call begins, or has failed: was there none for so long? */
static void note_time(bool begins) {
    static int64_t last;
    const int64_t now = mono_ns();
    scene->late = scene->late || (last != 0 && now - last > LATE_MS * (int64_t)NS_PER_MS);
    if (begins)
        last = now;
}

static void judge_error(const sfid *g, int64_t code) {
    note_time(false);
    if (code == SFID_ELEASE && atomic_exchange(&scene->text_wanted, 0)) {
        snprintf(scene->text, sizeof scene->text, "%s", sfid_last_error(g));
        atomic_store(&scene->text_there, 1);
    }
    if (code == SFID_ELEASE || (code == SFID_EAGAIN && (scene->way == BY_TRY || scene->late))) {
        atomic_fetch_add(&scene->out_of_window, 1);
        return;
    }
    atomic_fetch_add(&scene->wrong, 1);
    atomic_store(&scene->code, code);
}

/* A window of so many ms from before the question on, at least, ends at the mark or before. */
static void judge_window(const sfid *g, int mark) {
    sfid_status_info st;
    const uint64_t before = tick_now(&layout);
    if (sfid_status(g, &st) != 0)
        return;
    atomic_store(&scene->window_ms, st.window_ms);
    atomic_store(&scene->failures, (int64_t)st.renew_failures);
    if (st.window_ms > 0 && before + (uint64_t)st.window_ms > mark_tick_of(mark, &layout) + 1)
        atomic_fetch_add(&scene->window_beyond, 1);
}

static bool spoil_state(int how);
static bool mend_state(int how);

static void *follow_orders(void *arg) {
    (void)arg;
    for (; !atomic_load(&scene->done); nap_us(1000)) {
        const int spoil = atomic_exchange(&scene->spoil, 0),
                  mend = atomic_exchange(&scene->mend, 0);
        const bool good = (!spoil || spoil_state(spoil)) && (!mend || mend_state(mend));
        if (spoil || mend)
            atomic_store(&scene->orders, good ? atomic_load(&scene->orders) + 1 : -1);
    }
    return NULL;
}

static sfid_options scene_options(void) {
    sfid_options opt = local_options(APP, STORE, &layout);
    opt.pid_min = opt.pid_max = PID;
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = scene->max_wait_ms;
    return opt;
}

static int drawer(void *arg) {
    static unsigned lives;
    struct idlog log;
    pthread_t thread;
    (void)arg;
    signal(SIGXFSZ, SIG_IGN); /* as whoever lives with limited files does */
    if (scene->own_mounts && !own_mounts())
        return DIED;
    if (scene->mounted[0] && !mount_tmpfs(scene->mounted, "size=128k"))
        return DIED;
    const sfid_options opt = scene_options();
    log_start(&log, LOG_ROOM, ++lives, PID, "drawer-%d", (int)getpid());
    sfid *g = open_or_die(&opt);
    const int mark = mark_open(APP, PID);
    if (scene->own_mounts)
        start_thread(&thread, follow_orders, NULL);
    atomic_store(&scene->begun, 1);
    for (; !atomic_load(&scene->done) && !idlog_full(&log); nap_us(300)) {
        for (int i = 0; i < BURST && !idlog_full(&log); i++) {
            note_time(true);
            atomic_fetch_add(&scene->asked, 1);
            const int64_t id = scene->way == BY_TRY ? sfid_try_next(g) : sfid_next(g);
            if (id >= 0)
                idlog_put(&log, id);
            if (id >= 0)
                judge_id(id, mark);
            else
                judge_error(g, id);
            atomic_fetch_add(&scene->calls, 1);
        }
        judge_window(g, mark);
    }
    if (scene->way == BY_TRY && next_within(g, TAP_WAIT_MS) < 0)
        return 1;
    sfid_close(g);
    if (scene->own_mounts)
        pthread_join(thread, NULL);
    return idlog_full(&log) ? 2 : 0;
}

/* ---- scenes ------------------------------------------------------------- */

struct at_least {
    _Atomic int64_t *value;
    int64_t want;
};

static bool reached(void *arg) {
    const struct at_least *a = arg;
    return atomic_load(a->value) >= a->want;
}

/* Waits until so many more than now. */
static bool more(_Atomic int64_t *value, int64_t n, unsigned limit_ms) {
    return tap_wait_until(reached, &(struct at_least){value, atomic_load(value) + n}, limit_ms);
}

static pid_t begin(const struct scene *wanted, const char *what) {
    *scene = *wanted;
    const pid_t child = child_start(drawer, NULL);
    ok(flag_wait(&scene->begun, 1, TAP_WAIT_MS) && more(&scene->drawn, 100, TAP_WAIT_MS),
       "%s: it draws", what);
    return child;
}

static void finish(pid_t child, const char *what) {
    atomic_store(&scene->done, 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "%s: it ends well", what);
    is_i64(scene->beyond, 0, "%s: no ID is beyond the mark", what);
    is_i64(scene->window_beyond, 0, "%s: no window is", what);
    if (!is_i64(scene->wrong, 0, "%s: no call fails otherwise", what))
        diag("one got %" PRIi64, scene->code);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

/* The mark of the pid, and the clock past it: by then the window is over, whatever it was. Returns
 * 0 if it does not come. */
static uint64_t over_after(void) {
    const uint64_t mark = mark_tick(APP, PID, &layout);
    return mark > 0 && tick_passes(&layout, mark + 300, TAP_WAIT_MS) ? mark : 0;
}

static uint64_t sit_out(const char *what) {
    const uint64_t mark = over_after();
    ok(mark > 0, "%s: the window runs out", what);
    return mark;
}

static void test_recovers(const char *what) {
    const int64_t refused = scene->out_of_window, start = mono_ns();
    ok(more(&scene->drawn, 100, TAP_WAIT_MS), "%s: it goes on by itself", what);
    diag("figure: %s: 100 IDs after %.1f ms; %" PRIi64 " calls were refused before, %" PRIi64
         " then",
         what, (double)(mono_ns() - start) / 1e6, refused, scene->out_of_window - refused);
    if (scene->max_wait_ms == LONG_WAIT_MS && scene->way == BY_NEXT)
        is_i64(scene->out_of_window, 0, "%s: calls that may wait do so", what);
}

/* A call that has begun sleeps: there was no ID for it. One that has returned has the drawer read
 * the mark, awake. */
static bool call_sleeps(void *arg) {
    const pid_t child = *(pid_t *)arg;
    const int64_t calls = scene->calls;
    return scene->asked == calls + 1 && task_state(child, child) == 'S' && scene->calls == calls;
}

/* Nothing is issued while the window is over; who may wait waits, who may not is told. */
static void test_holds_back(pid_t child, uint64_t mark, const char *what) {
    int64_t drawn;
    if (scene->max_wait_ms == LONG_WAIT_MS) {
        const bool waits = tap_wait_until(call_sleeps, &child, TAP_WAIT_MS);
        const int64_t calls = scene->calls;
        drawn = scene->drawn;
        nap_us(100000);
        ok(waits && scene->calls == calls, "%s: the call waits", what);
    } else {
        /* before, an ID may be in the drawer's hand */
        const bool told = more(&scene->out_of_window, 1, TAP_WAIT_MS);
        drawn = scene->drawn;
        ok(told && more(&scene->out_of_window, 3 * BURST, TAP_WAIT_MS),
           "%s: calls are told that the window is over", what);
        is_i64(scene->window_ms, 0, "%s: and so is who asks for it", what);
    }
    is_i64(scene->drawn, drawn, "%s: no ID is issued", what);
    ok(id_tick(&layout, scene->last) < mark, "%s: the last one was of the window", what);
}

/* ---- the whole process -------------------------------------------------- */

static bool is_stopped(void *arg) {
    const pid_t process = *(pid_t *)arg;
    return task_state(process, process) == 'T';
}

static void test_stopped(uint32_t max_wait_ms, const char *what) {
    pid_t child = begin(&(struct scene){.max_wait_ms = max_wait_ms}, what);
    kill(child, SIGSTOP);
    ok(tap_wait_until(is_stopped, &child, TAP_WAIT_MS), "%s: SIGSTOP", what);
    sit_out(what);
    const sfid_options opt = scene_options();
    is_i64(pid_of_open(&opt), SFID_ENOPID, "%s: its pid is its own, asleep or not", what);
    kill(child, SIGCONT);
    test_recovers(what);
    finish(child, what);
}

/* ---- the keeper alone --------------------------------------------------- */

/*
 * Stops the keeper until the window is over. Again if no ID came meanwhile: this process or the
 * drawer may have been late. False if it cannot be traced. *drew: whether the drawer went on
 * without it.
 */
static bool stop_until_over(pid_t keeper, uint64_t *mark, bool *drew) {
    for (int i = 0; i < 5 && !*drew; i++) {
        if (i > 0 && (ptrace(PTRACE_DETACH, keeper, NULL, NULL) != 0 ||
                      !more(&scene->drawn, 100, TAP_WAIT_MS)))
            break;
        if (!trace_seize(keeper))
            return false;
        const int64_t drawn = scene->drawn;
        *mark = over_after();
        *drew = scene->drawn > drawn;
    }
    return true;
}

/* The thread has its name once it is run. */
static bool has_keeper(void *child) {
    return thread_named(*(pid_t *)child, "sfid-keeper", NULL) != 0;
}

static void test_keeper_stopped(enum way way, uint32_t max_wait_ms, const char *what) {
    pid_t child = begin(&(struct scene){.way = way, .max_wait_ms = max_wait_ms}, what);
    int keepers = 0;
    tap_wait_until(has_keeper, &child, TAP_WAIT_MS);
    const pid_t keeper = thread_named(child, "sfid-keeper", &keepers);
    is_i64(keepers, 1, "%s: there is a keeper", what);
    uint64_t mark = 0;
    bool drew = false;
    if (stop_until_over(keeper, &mark, &drew)) {
        ok(mark > 0, "%s: the window runs out", what);
        ok(drew, "%s: its absence is not noticed at once", what);
        test_holds_back(child, mark, what);
        ok(ptrace(PTRACE_DETACH, keeper, NULL, NULL) == 0, "%s: the keeper comes back", what);
        test_recovers(what);
    } else {
        skip(6, "cannot trace a thread here");
    }
    finish(child, what);
}

/* ---- renewals fail ------------------------------------------------------ */

static void limit_files(pid_t child, rlim_t bytes) {
    struct rlimit limit;
    must(prlimit(child, RLIMIT_FSIZE, NULL, &limit) >= 0, "prlimit: %s", strerror(errno));
    limit.rlim_cur = bytes;
    must(prlimit(child, RLIMIT_FSIZE, &limit, NULL) >= 0, "prlimit: %s", strerror(errno));
}

static bool no_failures(void *arg) {
    (void)arg;
    return atomic_load(&scene->failures) == 0;
}

static void test_renewals_fail(const char *what) {
    const pid_t child = begin(&(struct scene){.max_wait_ms = SHORT_WAIT_MS}, what);
    limit_files(child, 0);
    ok(more(&scene->failures, 1, TAP_WAIT_MS), "%s: renewals fail, and are counted", what);
    const uint64_t mark = sit_out(what);
    atomic_store(&scene->text_wanted, 1);
    test_holds_back(child, mark, what);
    const bool told = flag_wait(&scene->text_there, 1, TAP_WAIT_MS);
    ok(told && strstr(scene->text, "pid-1") != NULL, "%s: the error names the file: %s", what,
       told ? scene->text : "");
    limit_files(child, RLIM_INFINITY);
    test_recovers(what);
    ok(tap_wait_until(no_failures, NULL, TAP_WAIT_MS), "%s: the failures are over", what);
    finish(child, what);
}

/* ---- the state directory ------------------------------------------------ */

enum spoil { HIDDEN = 1, READ_ONLY, FULL };

static bool fill(const char *path) {
    static const char page[4096];
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, page, sizeof page) > 0)
        ;
    const bool full = fd >= 0 && errno == ENOSPC;
    close(fd);
    return full;
}

static bool spoil_state(int how) {
    char filler[200];
    snprintf(filler, sizeof filler, "%s/filler", scene->mounted);
    if (how == FULL)
        return fill(filler);
    if (how == HIDDEN)
        return mount("tmpfs", dirs.state, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=64k") ==
               0;
    return mount(dirs.state, dirs.state, NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, dirs.state, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

static bool mend_state(int how) {
    char filler[200];
    snprintf(filler, sizeof filler, "%s/filler", scene->mounted);
    return how == FULL ? unlink(filler) == 0 : umount2(dirs.state, MNT_DETACH) == 0;
}

/* Wants the very pid, in the meantime. It may get it or not; its IDs are nobody else's. */
static int rival(void *arg) {
    (void)arg;
    const sfid_options opt = scene_options();
    struct idlog log;
    sfid *g = NULL;
    log_start(&log, 100, 1, PID, "rival-%d", (int)getpid());
    int64_t id = sfid_open(&g, &opt);
    while (id >= 0 && !idlog_full(&log))
        if ((id = next_within(g, TAP_WAIT_MS)) >= 0)
            idlog_put(&log, id);
    sfid_close(g);
    return 0;
}

static void test_spoilt(enum spoil spoil, const char *what) {
    char state[sizeof dirs.state];
    struct scene wanted = {.max_wait_ms = SHORT_WAIT_MS, .own_mounts = true};
    memcpy(state, dirs.state, sizeof state);
    if (spoil == FULL) {
        snprintf(wanted.mounted, sizeof wanted.mounted, "%.60s/small", dirs.shm);
        snprintf(dirs.state, sizeof dirs.state, "%.80s/state", wanted.mounted);
    }
    const pid_t child = begin(&wanted, what);
    const uint64_t mark = spoil == FULL ? tick_now(&layout) + 500 : mark_tick(APP, PID, &layout);
    atomic_store(&scene->spoil, (int)spoil);
    ok(flag_wait(&scene->orders, 1, TAP_WAIT_MS), "%s: that is how it is", what);
    ok(tick_passes(&layout, mark + 400, TAP_WAIT_MS), "%s: the window would run out", what);
    if (spoil == HIDDEN)
        is_i64(child_run(rival, NULL, TAP_WAIT_MS), 0, "%s: another process tries to get the pid",
               what);
    atomic_store(&scene->mend, (int)spoil);
    ok(flag_wait(&scene->orders, 2, TAP_WAIT_MS), "%s: no longer", what);
    test_recovers(what);
    finish(child, what);
    memcpy(dirs.state, state, sizeof state);
}

int main(void) {
    dirs_make();
    layout = layout_of(LAYOUT);
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    scene = shared_memory(sizeof *scene);
    for (uint64_t round = 0; round < sized(1, 10, 1); round++) {
        test_stopped(SHORT_WAIT_MS, "stopped, short wait");
        test_stopped(LONG_WAIT_MS, "stopped, long wait");
        test_keeper_stopped(BY_NEXT, SHORT_WAIT_MS, "keeper stopped, short wait");
        test_keeper_stopped(BY_NEXT, LONG_WAIT_MS, "keeper stopped, long wait");
        test_keeper_stopped(BY_TRY, SHORT_WAIT_MS, "keeper stopped, no wait");
        test_renewals_fail("renewals fail");
        if (can_mount()) {
            test_spoilt(HIDDEN, "state directory hidden");
            test_spoilt(READ_ONLY, "state directory read-only");
            test_spoilt(FULL, "state directory full");
        } else {
            skip(3, "cannot mount a file system here");
        }
    }
    return done_testing();
}
