/* SPDX-License-Identifier: MIT */
/*
 * Forked children share pid and window: when the parent exits, closes or is killed first, they go
 * on, renew, and the last one out gives the pid back; a child that closes first gives nothing back.
 * A daemon that closes all descriptors after opening, the connection's too, goes on and renews.
 * Children that are forked one after another while their parent waits for a server that is stopped
 * draw, close and end.
 *
 * Sizes: the child goes on for longer than a window (long: five); 60 forks (long: 1000; sanitizer:
 * 20).
 */
#include "support/fleet.h"

#define LAYOUT "39:3:14/10ms"

enum { TTL = 3000, HEARTBEAT = 500, OUTLIVES_MS = 4000, WAIT_MS = 1000, BEARS_MS = 500 };
enum { AWAY_TTL = 60000, AWAY_TIMEOUT = 300 }; /* while a server is away */
enum ending { CLOSES, EXITS, KILLED_OFF, STAYS };

struct family {
    struct member *m; /* parent, child */
    enum ending ending;
    _Atomic pid_t parent;
    char app[40];
};

static sfid_options family_options(struct redis *r, const char *app) {
    return fleet_lease(r, app, TTL, HEARTBEAT);
}

/* ---- inside ------------------------------------------------------------------- */

static pid_t test; /* a child that outlives its parent does not outlive this */

static void draw_till_end(struct member *m, sfid *g) {
    struct idlog log;
    member_log(&log, 1 << 19, 0);
    while (!atomic_load(&m->may_end)) {
        for (int i = 0; i < 4; i++)
            member_note(m, &log, sfid_next(g));
        nap_us(1000);
        if (kill(test, 0) < 0)
            _exit(DIED);
    }
    idlog_close(&log);
}

static int parent_life(void *arg) {
    struct family *f = arg;
    sfid *g = NULL;
    member_open(&f->m[0], &g);
    must(f->m[0].rc == 0, "open: %s", f->m[0].text);
    let_threads_start();
    const pid_t child = fork();
    struct member *m = &f->m[child == 0];
    if (child == 0) {
        recorder_prepare(&recorder, m);
        recorder_begin(&recorder, g);
    }
    draw_till_end(m, g);
    if (child == 0 || f->ending == CLOSES || f->ending == STAYS)
        member_close(m, g);
    while (child != 0 && f->ending == KILLED_OFF)
        pause();
    return child < 0;
}

/* ---- outside ------------------------------------------------------------------ */

/* The child is the test's own once its parent has gone. */
static bool reap_one(void *arg) { return waitpid(-1, arg, WNOHANG) > 0; }

static struct family *family_start(struct redis *r, enum ending ending, const char *what,
                                   pid_t *parent) {
    struct family *f = shared_memory(sizeof *f);
    snprintf(f->app, sizeof f->app, "family-%d", (int)ending);
    const sfid_options opt = family_options(r, f->app);
    f->m = members_new(2, &opt);
    f->ending = ending;
    test = getpid();
    *parent = child_start(parent_life, f);
    ok(member_draws(&f->m[0], 10, TAP_WAIT_MS) && member_draws(&f->m[1], 10, TAP_WAIT_MS),
       "%s: parent and child draw", what);
    is_i64(atomic_load(&f->m[1].pid), atomic_load(&f->m[0].pid), "%s: from one pid", what);
    return f;
}

static bool is_held(struct redis *r, const struct family *f) {
    char record[RECORD];
    return strlen(record_of(r, f->app, atomic_load(&f->m[0].pid), record)) > 12;
}

/* Windows go by while a member draws; nothing is lost. */
static void outlives(struct member *m, const char *who, const char *what) {
    const int64_t errors = atomic_load(&m->errors), begin = tap_now_ms();
    const int64_t end = begin + (int64_t)sized(OUTLIVES_MS, 5 * TTL, OUTLIVES_MS);
    struct took longest = {0, 0};
    bool draws = true;
    for (int64_t from = begin; draws && from < end; from = tap_now_ms()) {
        draws = member_draws(m, 20, TAP_WAIT_MS);
        longest = took_longer(longest, took_since(from));
    }
    ok(draws, "%s: %s goes on for longer than a window", what, who);
    is_i64(atomic_load(&m->errors), errors, "%s: no call of it fails", what);
    in_time(longest, WAIT_MS, "%s: nor waits for a window", what);
}

static void check_next(struct redis *r, const struct family *f, const char *what) {
    char record[RECORD];
    sfid_options opt = family_options(r, f->app);
    opt.pid_min = opt.pid_max = atomic_load(&f->m[0].pid);
    ok(is_released(record_of(r, f->app, opt.pid_min, record)),
       "%s: when the last one has closed the pid is given back", what);
    struct member *next = members_new(1, &opt);
    is_i64(member_open_one(next), 0, "%s: and can be had at once", what);
    ok(member_draws(next, 10, TAP_WAIT_MS), "%s: and drawn from", what);
    in_time(next->open, TTL / 2, "%s: no window was waited out", what);
    is_i64(member_end(next), 0, "%s: the next one ends well", what);
}

static void parent_first(struct redis *r, enum ending ending, const char *what) {
    pid_t parent;
    int status = -1;
    struct family *f = family_start(r, ending, what, &parent);
    if (ending == KILLED_OFF) {
        child_kill(parent);
    } else {
        atomic_store(&f->m[0].may_end, 1);
        is_i64(child_wait(parent, TAP_WAIT_MS), 0, "%s: the parent ends well", what);
    }
    ok(is_held(r, f), "%s: the pid is still held", what);
    outlives(&f->m[1], "the child", what);
    ok(events_of(&f->m[1], SFID_EVENT_RENEWED) > 0, "%s: the child renews", what);
    is_i64(events_of(&f->m[1], SFID_EVENT_LOST), 0, "%s: and loses nothing", what);
    ok(is_held(r, f), "%s: the pid is still held after that", what);
    atomic_store(&f->m[1].may_end, 1);
    ok(tap_wait_until(reap_one, &status, TAP_WAIT_MS) && status == 0, "%s: the child ends well",
       what);
    check_next(r, f, what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static void child_first(struct redis *r) {
    static const char what[] = "the child closes first";
    pid_t parent;
    struct family *f = family_start(r, STAYS, what, &parent);
    atomic_store(&f->m[1].may_end, 1);
    ok(flag_wait(&f->m[1].closed, 1, TAP_WAIT_MS), "%s: it has", what);
    ok(is_held(r, f), "%s: the pid is not given back", what);
    outlives(&f->m[0], "the parent", what);
    is_i64(events_of(&f->m[0], SFID_EVENT_LOST), 0, "%s: the parent loses nothing", what);
    atomic_store(&f->m[0].may_end, 1);
    is_i64(child_wait(parent, TAP_WAIT_MS), 0, "%s: the parent ends well", what);
    int status;
    tap_wait_until(reap_one, &status, TAP_WAIT_MS);
    check_next(r, f, what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static void test_families(struct redis *r) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    parent_first(r, CLOSES, "the parent closes first");
    parent_first(r, EXITS, "the parent exits first");
    parent_first(r, KILLED_OFF, "the parent is killed first");
    child_first(r);
}

/* ---- all descriptors closed ------------------------------------------------------ */

static void test_daemon(struct redis *r) {
    char record[RECORD];
    const sfid_options opt = family_options(r, "daemon");
    struct member *m = members_new(1, &opt);
    m->closes_fds = true;
    is_i64(member_open_one(m), 0, "daemon: opens, and closes all descriptors");
    const int64_t pid = atomic_load(&m->pid);
    const int from = atomic_load(&m->events);
    outlives(m, "it", "daemon");
    ok(member_event(m, SFID_EVENT_RENEWED, from, TAP_WAIT_MS) != NULL,
       "daemon: its lease is renewed");
    is_i64(atomic_load(&m->pid), pid, "daemon: its pid is the same");
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "daemon: nothing is lost");
    is_i64(member_end(m), 0, "daemon: ends well");
    ok(is_released(record_of(r, "daemon", pid, record)), "daemon: and gives its pid back");
    judge(LAYOUT, "per-file", UINT64_MAX, "daemon");
}

/* ---- forks while a renewal is under way ------------------------------------------- */

struct renewing {
    sfid *g;
    uint64_t number;
};

static int draw_and_close(void *arg) {
    const struct renewing *f = arg;
    struct idlog log;
    int64_t ids[8];
    log_start(&log, 8, 1, IDLOG_ANY_PID, "forked-%" PRIu64, f->number);
    const int64_t n = sfid_next_n(f->g, ids, COUNT_OF(ids));
    log_ids(&log, ids, n > 0 ? n : 0);
    if (f->number % 2)
        sfid_close(f->g);
    return n == (int64_t)COUNT_OF(ids) ? 0 : 1;
}

static bool fails_to_renew(void *g) {
    sfid_status_info st;
    return sfid_status(g, &st) == 0 && st.renew_failures > 0;
}

static bool renews(void *g) { return !fails_to_renew(g); }

static void no_event(void *user, const sfid_event *e) { (void)user, (void)e; }

/* With a thread of its own (events), or by the one of the process. */
static void test_renewing(struct redis *r, bool events) {
    const uint64_t forks = sized(60, 1000, 20);
    sfid_options opt = family_options(r, events ? "renewing-own" : "renewing");
    struct renewing f = {.g = NULL};
    sfid_status_info st = {.pid = -1};
    unsigned bad = 0;
    opt.ttl_ms = AWAY_TTL;
    fleet_timeout(&opt, r, AWAY_TIMEOUT);
    opt.on_event = events ? no_event : NULL;
    f.g = open_or_die(&opt);
    redis_pause(r);
    ok(tap_wait_until(fails_to_renew, f.g, TAP_WAIT_MS),
       "%s: the server is stopped, and renewals fail", opt.app);
    for (f.number = 1; f.number <= forks; f.number++) {
        let_threads_start();
        bad += child_run(draw_and_close, &f, TAP_WAIT_MS) != 0;
    }
    is_u64(bad, 0, "%s: %" PRIu64 " children forked meanwhile draw and end", opt.app, forks);
    redis_resume(r);
    ok(tap_wait_until(renews, f.g, TAP_WAIT_MS), "%s: the server goes on, and the parent renews",
       opt.app);
    ok(sfid_status(f.g, &st) == 0 && st.losses == 0, "%s: and has lost nothing", opt.app);
    sfid_close(f.g);
    judge(LAYOUT, "per-file", UINT64_MAX, opt.app);
}

static void test_forks(struct redis *r) {
    test_renewing(r, false);
    test_renewing(r, true);
}

int main(void) {
    fleet_begin(LAYOUT);
    on_running_servers(0, 0, BEARS_MS, test_families);
    on_running_servers(1, 0, BEARS_MS, test_daemon);
    on_servers(0, 0, test_forks);
    return done_testing();
}
