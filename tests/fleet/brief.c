/* SPDX-License-Identifier: MIT */
/*
 * Short windows. A server forgets everything under a holder: two newcomers get short pids short_ms + skew_budget_ms later, and
 * ordinary ones in their place once those are free; no call fails, IDs stay in order, none comes twice. And a program that is
 * started each second and killed each time, its run directory lost, never holds more pids than end within short_ms.
 */
#include "support/fleet.h"

#define LAYOUT "39:6:14/10ms"

enum { TTL = 12000, BRIEF = 4000, BUDGET = 1000, HEARTBEAT = 3000, SHARE = 8, NEWCOMERS = 2, STARTS = 12, LATE_STARTS = 24 };

/* The shortest window, less its heartbeat and two exchanges. */
enum { BEARS_MS = 1000 };

static sfid_options brief_options(const struct redis *r, const char *app, int64_t pid_max) {
    static char store[200];
    sfid_options opt = fleet_options(r, app, &layout);
    snprintf(store, sizeof store, "unix://%s?timeout=800ms", r->socket);
    opt.store = store;
    opt.pid_max = pid_max;
    opt.ttl_ms = TTL;
    opt.short_ms = BRIEF;
    opt.heartbeat_ms = HEARTBEAT;
    opt.skew_budget_ms = BUDGET;
    return opt;
}

static bool is_short(int64_t pid) { return pid % SHARE == SHARE - 1; }

/* ---- a server that forgets ------------------------------------------------------ */

static bool is_moved(void *arg) { return !is_short(atomic_load(&((struct member *)arg)->pid)); }

/* A member has drawn all the time, and each ID of its log is above the one before: the checker sees that. */
static void ends_well(struct member *m, const char *who) {
    member_is_well(m, who);
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: lost nothing", who);
    is_i64(member_end(m), 0, "%s: ends well", who);
}

static void test_newcomers(struct redis *r) {
    const sfid_options opt = brief_options(r, "brief", 15);
    struct member *holder = members_new(1, &opt), *m = members_new(NEWCOMERS, &opt);
    member_open_or_die(holder);
    ok(!is_short(atomic_load(&holder->pid)), "the holder has an ordinary pid");
    ok(member_had(holder, SFID_EVENT_RENEWED, 1, TAP_WAIT_MS), "and has renewed it");
    const int64_t before_flush = tap_now_ms();
    redis_do(r, "FLUSHALL", NULL);
    for (unsigned i = 0; i < NEWCOMERS; i++) {
        on_host(&m[i].opt, i + 1);
        m[i].opt.on_unknown = SFID_WAIT_OUT;
        member_start(&m[i]);
    }
    for (unsigned i = 0; i < NEWCOMERS; i++) {
        ok(member_opens(&m[i], TAP_WAIT_MS), "newcomer %u opens", i + 1);
        const struct took since = took_since(before_flush);
        diag("figure: newcomer %u: pid %" PRIi64 " after %" PRIi64 " ms", i + 1, atomic_load(&m[i].pid), m[i].open.ms);
        ok(is_short(atomic_load(&m[i].pid)), "newcomer %u: a short pid", i + 1);
        lasted(since, BRIEF + BUDGET, "newcomer %u: after short_ms and the budget", i + 1);
        in_time(m[i].open, (BRIEF + BUDGET + TTL) / 2, "newcomer %u: long before a lease's time has passed", i + 1);
    }
    for (unsigned i = 0; i < NEWCOMERS; i++) {
        ok(tap_wait_until(is_moved, &m[i], TAP_WAIT_MS), "newcomer %u: is moved to an ordinary pid", i + 1);
        ok(member_had(&m[i], SFID_EVENT_LEASED_AGAIN, 1, TAP_WAIT_MS), "newcomer %u: which an event reports", i + 1);
        ok(member_draws(&m[i], 100, TAP_WAIT_MS), "newcomer %u: and draws on", i + 1);
    }
    ends_well(holder, "the holder");
    for (unsigned i = 0; i < NEWCOMERS; i++)
        ends_well(&m[i], i ? "newcomer 2" : "newcomer 1");
    judge(LAYOUT, "per-file", UINT64_MAX, "newcomers");
}

/* ---- a pid that is to stay ------------------------------------------------------- */

/* As sfid exec opens: the pid is what another program has been told. */
static void test_kept(struct redis *r) {
    sfid_options opt = brief_options(r, "kept", 7);
    opt.pid_min = 6;
    struct member *ordinary = members_new(1, &opt), *m = members_new(1, &opt);
    m->opt.keep_pid = 1;
    member_open_or_die(ordinary);
    member_open_or_die(m);
    is_i64(atomic_load(&m->pid), 7, "keep_pid: the short pid is what is left");
    is_i64(member_end(ordinary), 0, "keep_pid: the ordinary one comes free");
    ok(member_had(m, SFID_EVENT_RENEWED, 2, TAP_WAIT_MS), "keep_pid: two renewals");
    is_i64(atomic_load(&m->pid), 7, "keep_pid: it is still the short one");
    m->opt.keep_pid = 0;
    is_i64(member_end(m), 0, "keep_pid: ends well");
    member_open_or_die(ordinary);
    is_i64(atomic_load(&ordinary->pid), 6, "keep_pid: the ordinary one is taken first");
    is_i64(member_end(ordinary), 0, "keep_pid: ends well, too");
    judge(LAYOUT, "per-file", UINT64_MAX, "kept");
}

/* ---- a crash loop ---------------------------------------------------------------- */

struct look {
    const sfid_options *opt;
    sfid_app_info info;
};

static bool looks(void *arg) {
    struct look *l = arg;
    char why[SFID_WHY_LEN];
    const int rc = sfid_app_look(l->opt, &l->info, NULL, NULL, why, sizeof why);
    if (rc != 0)
        diag("look: %s", why);
    return rc == 0;
}

static uint64_t in_use(const sfid_options *opt) {
    struct look l = {.opt = opt};
    must(tap_wait_until(looks, &l, TAP_WAIT_MS), "nobody can look at the app");
    return l.info.held;
}

/* One that is killed so late that its window was renewed keeps its pid for longer: it is one more, and does not count as a start. */
static void test_crash_loop(struct redis *r) {
    sfid_options opt = brief_options(r, "loop", 63);
    uint64_t most = 0, held, late = 0;
    on_host(&opt, 9);
    struct member *m = members_new(1, &opt);
    for (int timely = 0; timely < STARTS && late < LATE_STARTS;) {
        const int64_t begin = tap_now_ms();
        must(member_open_one(m) == 0 && member_draws(m, 10, TAP_WAIT_MS), "start %d: %s", timely, m->text);
        member_kill(m);
        const bool was_late = tap_now_ms() - begin >= BRIEF / 4; /* a short window is renewed after a third */
        late += was_late;
        timely += !was_late;
        remove_tree(opt.run_dir);
        held = in_use(&opt);
        most = held > most ? held : most;
        while (tap_now_ms() < begin + 1000)
            nap_us(1000);
    }
    diag("figure: %d starts and %" PRIu64 " late ones, %" PRIu64 " pids in use at most", STARTS, late, most);
    ok(late < LATE_STARTS, "a crash loop: starts are killed before they renew");
    ok(most <= BRIEF / 1000 + 2 + late, "a crash loop: no more pids in use than end within short_ms");
    ok(most >= 2, "a crash loop: each start gets another pid");
    judge(LAYOUT, "per-file", UINT64_MAX, "crash loop");
}

static void test_brief(struct redis *r) {
    test_newcomers(r);
    test_kept(r);
    test_crash_loop(r);
}

int main(void) {
    fleet_begin(LAYOUT);
    on_running_servers(0, 0, BEARS_MS, test_brief);
    return done_testing();
}
