/* SPDX-License-Identifier: MIT */
/*
 * A process of a slot is killed with SIGKILL and started again at once, over and over: with the server up, with the server
 * stopped, with the server dead. Always the same pid, increasing IDs, none twice. With no server to be had it goes on inside
 * the window, restarts included, then its calls fail with SFID_ELEASE; with the server back it goes on within a heartbeat and
 * two deadlines. A server that comes back empty inside the window costs nothing; one that comes back later has to wait until
 * every window it may have forgotten has ended.
 *
 * Sizes: 20 kills with the server up (long: 200; sanitizer: 10), 5 in each outage (long: 10).
 */
#include "support/fleet.h"

#define LAYOUT "39:3:14/10ms"

enum {
    PACE = SANITIZED ? 2 : 1,
    TTL = 4500 * PACE, /* so that a few lives fit well into what is left of it */
    HEARTBEAT = 450 * PACE,
    DEADLINE = 300,
    LONG_TTL = 20000, /* where no window is to end */
    AT_ONCE_MS = 150,
    ASK_MS = 300,   /* how long an open that could go on without an answer waits for one: src/lease/holder.c */
    PAUSE_MS = 500, /* the longest one when a window ends */
    OVER_MS = 500,  /* what follows the end of a window, or of the time of an open */
    IN_VAIN_MS = 500,
    RETRY_MS = 3000, /* a server that knows nobody asks for a pause */
    BEARS_MS = 300
};

static uint64_t rng;

/* A member that never closes: it is killed. */
static struct member *new_holder(struct redis *r, const char *app, uint32_t ttl_ms) {
    sfid_options opt = fleet_lease(r, app, ttl_ms, HEARTBEAT);
    fleet_timeout(&opt, r, DEADLINE);
    opt.max_wait_ms = 20;
    struct member *m = members_new(1, &opt);
    m->leaves = true;
    must(member_open_one(m) == 0 && member_draws(m, 1, TAP_WAIT_MS), "open: %s", m->text);
    return m;
}

/* What lives told, gathered over restarts. */
struct tally {
    unsigned lives, failed, moved, fallen;
    struct took fastest, worst; /* from the call of open to the first ID */
    int64_t errors;
};

/* Kills it some time after its first ID, starts it again and waits for an ID. False when there is none. */
static bool kill_and_restart(struct member *m, struct tally *t, uint64_t most_ms) {
    nap_us((long)(draw_random(&rng) % (most_ms * 1000)));
    const int64_t pid = atomic_load(&m->pid);
    member_kill(m);
    const int64_t last = atomic_load(&m->last_id);
    t->errors += atomic_load(&m->errors);
    const bool opened = member_open_one(m) == 0 && member_draws(m, atomic_load(&m->ids) == 0, TAP_WAIT_MS);
    t->failed += !opened;
    t->moved += atomic_load(&m->pid) != pid;
    t->fallen += atomic_load(&m->first_id) <= last;
    if (opened && (t->lives == 0 || m->first.ms < t->fastest.ms))
        t->fastest = m->first;
    if (opened)
        t->worst = took_longer(t->worst, m->first);
    t->lives++;
    if (!opened)
        diag("life %u: %s", t->lives, m->text);
    return opened;
}

static void check_tally(struct tally *t, int64_t asks_ms, const char *what) {
    is_u64(t->failed, 0, "%s: %u lives after a kill all open and draw", what, t->lives);
    is_u64(t->moved, 0, "%s: with the same pid", what);
    is_u64(t->fallen, 0, "%s: above the IDs before", what);
    diag("figure: %s: call of open to first ID: %" PRId64 " to %" PRId64 " ms, of %u", what, t->fastest.ms, t->worst.ms, t->lives);
    in_time(t->fastest, asks_ms + AT_ONCE_MS, "%s: the fastest at once%s", what, asks_ms ? ", when it has asked in vain" : "");
}

/* ---- the server up ---------------------------------------------------------- */

static void test_up(struct redis *r) {
    struct member *m = new_holder(r, "up", LONG_TTL);
    struct tally t = {.lives = 0};
    for (uint64_t i = 0; i < sized(20, 200, 10); i++)
        kill_and_restart(m, &t, 60);
    check_tally(&t, 0, "server up");
    is_i64(t.errors, 0, "server up: no call fails");
    ok(member_event(m, SFID_EVENT_RENEWED, 0, TAP_WAIT_MS), "server up: what was gone on with is renewed");
    member_kill(m);
    judge(LAYOUT, "pid", UINT64_MAX, "server up");
}

/* ---- the server stopped ------------------------------------------------------- */

/* From a renewal on the server is away; the window is used to its end, by several lives. */
static void outlast(struct member *m, void (*away)(struct redis *r), int64_t asks_ms, struct redis *r, const char *what) {
    struct tally t = {.lives = 0};
    const int renewed = atomic_load(&m->events);
    ok(member_event(m, SFID_EVENT_RENEWED, renewed, TAP_WAIT_MS), "%s: renewed", what);
    away(r);
    const int64_t begin = tap_now_ms();
    const uint64_t limit = atomic_load(&m->limit);
    const int64_t end_ms = layout.epoch_ms + (int64_t)limit * layout.unit_ms;
    for (uint64_t i = 0; i < sized(5, 10, 3) && wall_ns() / NS_PER_MS < end_ms - TTL / 2; i++)
        kill_and_restart(m, &t, 30);
    ok(t.lives > 0, "%s: it was killed inside its window", what);
    check_tally(&t, asks_ms, what);
    is_i64(t.errors, 0, "%s: no call fails inside the window", what);
    ok(member_draws(m, 10, TAP_WAIT_MS), "%s: it goes on drawing", what);
    ok(member_fails(m, TAP_WAIT_MS), "%s: until the window is over", what);
    is_i64(atomic_load(&m->error), SFID_ELEASE, "%s: then calls fail with SFID_ELEASE", what);
    const int64_t failed_ns = atomic_load(&m->failed_at_ns), failed_wall_ms = (wall_ns() - mono_ns() + failed_ns) / NS_PER_MS;
    const struct took held = took_between(begin, failed_ns / NS_PER_MS);
    diag("figure: %s: a call failed %" PRId64 " ms after the server was gone; the window is %d ms", what, held.ms, TTL);
    ok(failed_wall_ms + 1 >= layout.epoch_ms + (int64_t)limit * layout.unit_ms, "%s: no sooner than its window is over", what);
    in_time(held, TTL + OVER_MS, "%s: and then at once", what);
}

/* From the server's return to the next ID. */
static struct took comes_back(struct member *m, void (*back)(struct redis *r), struct redis *r, const char *what) {
    const int64_t begin = tap_now_ms();
    back(r);
    ok(member_draws(m, 1, TAP_WAIT_MS), "%s: with the server back it goes on", what);
    return took_since(begin);
}

static void test_stopped(struct redis *r) {
    struct member *m = new_holder(r, "stopped", TTL);
    outlast(m, redis_pause, ASK_MS, r, "server stopped");
    const int64_t pid = atomic_load(&m->pid);
    const struct took took = comes_back(m, redis_resume, r, "server stopped");
    diag("figure: server stopped: an ID %" PRId64 " ms after it went on", took.ms);
    in_time(took, HEARTBEAT + 2 * DEADLINE + PAUSE_MS, "server stopped: within a heartbeat, two deadlines and a pause");
    is_i64(atomic_load(&m->pid), pid, "server stopped: with the same pid");
    member_kill(m);
    judge(LAYOUT, "pid", UINT64_MAX, "server stopped");
}

/* ---- dead for longer than a window ---------------------------------------------- */

/* Killed, and started again when its window is over. */
static void sleep_past_window(struct member *m) {
    member_kill(m);
    tick_passes(&layout, tick_now(&layout) + TTL / 10, TAP_WAIT_MS);
}

static void test_late_restart(struct redis *r) {
    struct member *m = new_holder(r, "restart", TTL);
    sfid_options opt = m->opt;
    const int64_t pid = atomic_load(&m->pid), last = atomic_load(&m->last_id);
    redis_pause(r);
    sleep_past_window(m);
    m->opt.open_timeout_ms = IN_VAIN_MS;
    is_i64(member_open_in_vain(m), SFID_EREDIS, "late restart: the window over and no server: SFID_EREDIS");
    in_time(m->open, IN_VAIN_MS + OVER_MS, "late restart: after open_timeout_ms");
    diag("figure: late restart: given up after %" PRId64 " ms of %d: %s", m->open.ms, IN_VAIN_MS, m->text);
    member_end(m);
    redis_resume(r);
    m->opt = opt;
    ok(member_open_one(m) == 0 && member_draws(m, 1, TAP_WAIT_MS), "late restart: with the server back it opens");
    is_i64(atomic_load(&m->pid), pid, "late restart: with the pid that nobody has taken since");
    ok(m->first_id > last, "late restart: above the IDs before");
    sleep_past_window(m);
    on_host(&opt, 1);
    opt.pid_min = opt.pid_max = pid;
    struct member *other = members_new(1, &opt);
    is_i64(member_open_one(other), 0, "late restart: another process gets the pid when its window is over");
    ok(member_open_one(m) == 0 && member_draws(m, 1, TAP_WAIT_MS), "late restart: then the slot opens, too");
    ok(atomic_load(&m->pid) != pid, "late restart: with another pid");
    is_i64(member_end(other), 0, "late restart: the other one ends well");
    member_kill(m);
    judge(LAYOUT, "per-file", UINT64_MAX, "late restart");
}

/* ---- the server dead ----------------------------------------------------------- */

static void back_empty(struct redis *r) { redis_restart(r, true); }

static void test_back_in_time(struct redis *r) {
    struct member *m = new_holder(r, "back", 4 * TTL);
    struct tally t = {.lives = 0};
    for (int i = 0; i < (int)sized(2, 6, 2); i++) {
        ok(member_event(m, SFID_EVENT_RENEWED, atomic_load(&m->events), TAP_WAIT_MS), "back in time: renewed");
        redis_kill(r);
        kill_and_restart(m, &t, 30);
        back_empty(r);
        const int from = atomic_load(&m->events);
        ok(member_event(m, SFID_EVENT_RENEWED, from, TAP_WAIT_MS), "back in time: renewed by the server that forgot everything");
    }
    check_tally(&t, 0, "back in time");
    is_i64(t.errors + atomic_load(&m->errors), 0, "back in time: no call fails");
    member_kill(m);
    judge(LAYOUT, "pid", UINT64_MAX, "back in time");
}

static void test_back_late(struct redis *r) {
    struct member *m = new_holder(r, "late", TTL);
    const int64_t budget = TTL + m->opt.skew_budget_ms;
    outlast(m, redis_kill, 0, r, "server dead");
    const struct took took = comes_back(m, back_empty, r, "server dead");
    diag("figure: server dead: an ID %" PRId64 " ms after an empty one was there; W + S is %" PRIi64 " ms", took.ms, budget);
    lasted(took, budget - 2 * HEARTBEAT, "server dead: an empty one hands out nothing before every old window has ended");
    in_time(took, budget + RETRY_MS + HEARTBEAT + 2 * DEADLINE, "server dead: and then does");
    member_kill(m);
    judge(LAYOUT, "per-file", UINT64_MAX, "server dead");
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    on_servers(0, 0, test_up);
    on_running_servers(1, 0, BEARS_MS, test_stopped);
    on_running_servers(0, 0, BEARS_MS, test_late_restart);
    on_running_servers(0, 0, BEARS_MS, test_back_in_time);
    on_running_servers(1, 0, BEARS_MS, test_back_late);
    return done_testing();
}
