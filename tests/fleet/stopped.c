/* SPDX-License-Identifier: MIT */
/*
 * A holder is stopped for three windows, and another process gets its very pid. When it goes on it draws nothing of that one's
 * window: with another pid to be had and a call that may wait, it has one within open_timeout_ms; with none, the call fails
 * with SFID_ELEASE.
 *
 * Sizes: once each way (long: 5 times).
 */
#include "support/fleet.h"

#define LAYOUT "39:3:14/10ms"

enum { TTL = 1000, HEARTBEAT = 300, PID = 3 };

static sfid_options short_lease(const struct redis *r, const char *app, unsigned host) {
    sfid_options opt = fleet_options(r, app, &layout);
    opt.ttl_ms = TTL;
    opt.heartbeat_ms = HEARTBEAT;
    opt.pid_min = opt.pid_max = PID;
    on_host(&opt, host);
    return opt;
}

struct pair {
    struct member *holder, *other;
    char app[32];
    int64_t stopped_at, held; /* when; the last tick that the holder drew from before */
};

/* The holder has its pid, is stopped in the middle of drawing, and the other one gets the pid and draws. */
static void stop_and_take(struct redis *r, struct pair *p, bool range_of_two, unsigned max_wait_ms, const char *what) {
    sfid_options opt = short_lease(r, p->app, 0);
    opt.pid_max += range_of_two;
    opt.max_wait_ms = max_wait_ms;
    p->holder = members_new(1, &opt);
    is_i64(member_open_one(p->holder), 0, "%s: a pid is held", what);
    ok(member_draws(p->holder, 100, patience(5000)), "%s: and drawn from", what);
    member_stop(p->holder);
    p->stopped_at = mono_ns();
    const int64_t pid = atomic_load(&p->holder->pid);
    opt = short_lease(r, p->app, 1);
    opt.pid_min = opt.pid_max = pid;
    p->other = members_new(1, &opt);
    is_i64(member_open_one(p->other), 0, "%s: its window over, another process gets that pid", what);
    ok(member_draws(p->other, 100, patience(5000)), "%s: and draws from it", what);
    is_i64(atomic_load(&p->other->pid), pid, "%s: from that one", what);
    const int64_t end = p->stopped_at + 3 * TTL * (int64_t)NS_PER_MS;
    while (mono_ns() < end)
        nap_us(1000);
}

static void end_pair(struct pair *p, const char *what) {
    is_i64(member_end(p->holder), 0, "%s: the holder ends well", what);
    is_i64(p->other->errors, 0, "%s: no call of the other one fails", what);
    is_i64(member_end(p->other), 0, "%s: so does the other one", what);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

static void test_finds_another(struct redis *r, unsigned round) {
    struct pair p = {.app = ""};
    snprintf(p.app, sizeof p.app, "finds-%u", round);
    stop_and_take(r, &p, true, patience(5000), "finds another");
    const int64_t pid = atomic_load(&p.holder->pid), errors = atomic_load(&p.holder->errors), begin = mono_ns();
    const int from = atomic_load(&p.holder->events);
    member_go_on(p.holder);
    ok(member_draws(p.holder, 1, p.holder->opt.open_timeout_ms), "finds another: IDs again within open_timeout_ms");
    diag("figure: finds another: an ID %.1f ms after SIGCONT", (double)(mono_ns() - begin) / 1e6);
    is_i64(atomic_load(&p.holder->errors), errors, "finds another: the call waits, and none fails");
    ok(atomic_load(&p.holder->pid) != pid, "finds another: they carry the other pid of its range");
    ok(member_event(p.holder, SFID_EVENT_LOST, from, patience(2000)) &&
           member_event(p.holder, SFID_EVENT_LEASED_AGAIN, from, patience(2000)),
       "finds another: LOST and LEASED_AGAIN are told");
    ok(member_draws(p.other, 100, patience(5000)), "finds another: the other one goes on");
    end_pair(&p, "finds another");
}

static void test_finds_none(struct redis *r, unsigned round) {
    struct pair p = {.app = ""};
    snprintf(p.app, sizeof p.app, "none-%u", round);
    stop_and_take(r, &p, false, 50, "finds none");
    const int64_t ids = atomic_load(&p.holder->ids), begin = mono_ns();
    member_go_on(p.holder);
    ok(member_fails(p.holder, patience(2000)), "finds none: calls fail");
    diag("figure: finds none: a call failed %.1f ms after SIGCONT", (double)(mono_ns() - begin) / 1e6);
    is_i64(atomic_load(&p.holder->error), SFID_ELEASE, "finds none: with SFID_ELEASE");
    ok(atomic_load(&p.holder->ids) <= ids + 1, "finds none: nothing was drawn but what a call had in hand");
    ok(member_fails(p.holder, patience(2000)), "finds none: and go on failing");
    is_i64(member_end(p.other), 0, "finds none: the other one closes");
    ok(member_draws(p.holder, 1, patience(6000)), "finds none: then the pid is had again");
    end_pair(&p, "finds none");
}

static void test_stopped(struct redis *r) {
    for (unsigned i = 0; i < sized(1, 5, 1); i++) {
        test_finds_another(r, i);
        test_finds_none(r, i);
    }
}

int main(void) {
    fleet_begin(LAYOUT);
    on_servers(1, 0, test_stopped);
    return done_testing();
}
