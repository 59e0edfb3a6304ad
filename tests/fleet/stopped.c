/* SPDX-License-Identifier: MIT */
/*
 * A holder is stopped: by SIGSTOP for three windows; by the cgroup freezer until its window is
 * over; with its host, when all clocks but the monotonic one have moved on by three windows.
 * Another process gets its very pid. When it goes on it draws nothing of that one's window: with
 * another pid to be had and a call that may wait, it has one within open_timeout_ms; with none, the
 * call fails with SFID_ELEASE.
 *
 * Sizes: once each way (long: 5 times). The freezer takes root.
 */
#include "support/fleet.h"
#include "support/own_clock.h"

#define LAYOUT "39:3:14/10ms"

/* AGAIN_MS: the default of open_timeout_ms. */
enum { TTL = 2000, HEARTBEAT = 400, PID = 3, AGAIN_MS = 5000, BEARS_MS = 500 };

enum how { STOPPED, FROZEN, SUSPENDED };

/* ---- the freezer ------------------------------------------------------------ */

/* A cgroup of version 2, wherever it is mounted. */
static char cgroup[100];

static bool cgroup_write(const char *file, const char *text) {
    char path[140];
    snprintf(path, sizeof path, "%s/%s", cgroup, file);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

static bool freezer_make(void) {
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (size_t i = 0; i < COUNT_OF(mounts); i++) {
        snprintf(cgroup, sizeof cgroup, "%s/sfid-test-%d", mounts[i], (int)getpid());
        rmdir(cgroup); /* of a run with this PID that was killed */
        if (mkdir(cgroup, 0700) == 0 && cgroup_write("cgroup.freeze", "0"))
            return true;
        rmdir(cgroup);
    }
    return false;
}

static bool is_frozen(void *arg) {
    (void)arg;
    char path[140], line[40];
    bool found = false;
    snprintf(path, sizeof path, "%s/cgroup.events", cgroup);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        found |= strcmp(line, "frozen 1\n") == 0;
    if (f)
        fclose(f);
    return found;
}

static void freeze(struct member *m) {
    char text[20];
    snprintf(text, sizeof text, "%d", (int)m->child);
    atomic_fetch_add(&m->stops, 1);
    if (!cgroup_write("cgroup.procs", text) || !cgroup_write("cgroup.freeze", "1") ||
        !tap_wait_until(is_frozen, NULL, TAP_WAIT_MS))
        die("%s: a process is not frozen", cgroup);
}

static bool is_gone(void *path) { return rmdir(path) == 0; }

/* ---- a holder and another ------------------------------------------------------ */

static _Atomic int64_t *clocks; /* of all members */

static void take_clock(struct member *m) {
    (void)m;
    own_clock = clocks;
}

static sfid_options short_lease(const struct redis *r, const char *app, unsigned host) {
    sfid_options opt = fleet_lease(r, app, TTL, HEARTBEAT);
    opt.pid_min = opt.pid_max = PID;
    on_host(&opt, host);
    return opt;
}

struct pair {
    struct member *holder, *other;
    enum how how;
    char app[32];
    int64_t stopped_at; /* ms */
};

static void hold_up(struct redis *r, struct pair *p) {
    p->stopped_at = tap_now_ms();
    if (p->how == FROZEN)
        freeze(p->holder);
    else
        member_stop(p->holder);
    if (p->how != SUSPENDED)
        return;
    const int64_t ahead = atomic_load(clocks) + 3 * TTL * (int64_t)NS_PER_MS;
    atomic_store(clocks, ahead);
    redis_clock_offset(r, ahead / NS_PER_MS);
}

static void let_go_on(const struct pair *p) {
    if (p->how != FROZEN)
        member_go_on(p->holder);
    else if (!cgroup_write("cgroup.freeze", "0"))
        die("%s: %s", cgroup, strerror(errno));
}

/* The holder has its pid, is stopped in the middle of drawing, and the other one gets the pid and
 * draws. */
static void stop_and_take(struct redis *r, struct pair *p, bool range_of_two, unsigned max_wait_ms,
                          const char *what) {
    sfid_options opt = short_lease(r, p->app, 0);
    opt.pid_max += range_of_two;
    opt.max_wait_ms = max_wait_ms;
    p->holder = members_new(1, &opt);
    p->holder->prepare = take_clock;
    is_i64(member_open_one(p->holder), 0, "%s: a pid is held", what);
    ok(member_draws(p->holder, 100, TAP_WAIT_MS), "%s: and drawn from", what);
    hold_up(r, p);
    const int64_t pid = atomic_load(&p->holder->pid);
    opt = short_lease(r, p->app, 1);
    opt.pid_min = opt.pid_max = pid;
    p->other = members_new(1, &opt);
    p->other->prepare = take_clock;
    is_i64(member_open_one(p->other), 0, "%s: its window over, another process gets that pid",
           what);
    ok(member_draws(p->other, 100, TAP_WAIT_MS), "%s: and draws from it", what);
    is_i64(atomic_load(&p->other->pid), pid, "%s: from that one", what);
    while (p->how == STOPPED && tap_now_ms() < p->stopped_at + 3 * TTL)
        nap_us(1000);
}

static void end_pair(struct pair *p, const char *what) {
    is_i64(member_end(p->holder), 0, "%s: the holder ends well", what);
    member_is_well(p->other, what);
    is_i64(member_end(p->other), 0, "%s: so does the other one", what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static void test_finds_another(struct redis *r, unsigned round, enum how how, const char *what) {
    struct pair p = {.how = how};
    snprintf(p.app, sizeof p.app, "finds-%u%d", round, (int)how);
    stop_and_take(r, &p, true, TAP_WAIT_MS, what);
    const int64_t pid = atomic_load(&p.holder->pid), errors = atomic_load(&p.holder->errors),
                  begin = tap_now_ms();
    const int from = atomic_load(&p.holder->events);
    let_go_on(&p);
    /* The first may be the one that a call had in hand. */
    ok(member_draws(p.holder, 2, TAP_WAIT_MS), "%s: IDs again", what);
    const struct took again = took_since(begin);
    in_time(again, AGAIN_MS, "%s: within the time of an open", what);
    diag("figure: %s: an ID %" PRId64 " ms after it goes on", what, again.ms);
    is_i64(atomic_load(&p.holder->errors), errors, "%s: the call waits, and none fails", what);
    ok(atomic_load(&p.holder->pid) != pid, "%s: they carry the other pid of its range", what);
    ok(member_event(p.holder, SFID_EVENT_LOST, from, TAP_WAIT_MS) &&
           member_event(p.holder, SFID_EVENT_LEASED_AGAIN, from, TAP_WAIT_MS),
       "%s: LOST and LEASED_AGAIN are told", what);
    ok(member_draws(p.other, 100, TAP_WAIT_MS), "%s: the other one goes on", what);
    end_pair(&p, what);
}

static void test_finds_none(struct redis *r, unsigned round) {
    struct pair p = {.how = STOPPED};
    snprintf(p.app, sizeof p.app, "none-%u", round);
    stop_and_take(r, &p, false, 50, "finds none");
    const int64_t ids = atomic_load(&p.holder->ids), begin = tap_now_ms();
    member_go_on(p.holder);
    ok(member_fails(p.holder, TAP_WAIT_MS), "finds none: calls fail");
    diag("figure: finds none: a call failed %" PRId64 " ms after SIGCONT", tap_now_ms() - begin);
    is_i64(atomic_load(&p.holder->error), SFID_ELEASE, "finds none: with SFID_ELEASE");
    ok(atomic_load(&p.holder->ids) <= ids + 1,
       "finds none: nothing was drawn but what a call had in hand");
    ok(member_fails(p.holder, TAP_WAIT_MS), "finds none: and go on failing");
    is_i64(member_end(p.other), 0, "finds none: the other one closes");
    ok(member_draws(p.holder, 1, TAP_WAIT_MS), "finds none: then the pid is had again");
    end_pair(&p, "finds none");
}

static void test_stopped(struct redis *r) {
    atomic_store(clocks, 0);
    const bool freezer = freezer_make();
    if (!freezer)
        skip(1, "no freezer for cgroups here");
    for (unsigned i = 0; i < sized(1, 5, 1); i++) {
        test_finds_another(r, i, STOPPED, "stopped, finds another");
        test_finds_none(r, i);
        test_finds_another(r, i, SUSPENDED, "suspended, finds another");
        if (freezer)
            test_finds_another(r, i, FROZEN, "frozen, finds another");
    }
    if (freezer)
        ok(tap_wait_until(is_gone, cgroup, TAP_WAIT_MS), "the cgroup is empty at the end");
}

int main(void) {
    fleet_begin(LAYOUT);
    clocks = shared_memory(sizeof *clocks);
    on_running_servers(1, REDIS_CLOCK, BEARS_MS, test_stopped);
    return done_testing();
}
