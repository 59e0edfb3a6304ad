/* SPDX-License-Identifier: MIT */
/*
 * Processes that share one lease of a server: one pid in the app's registry, whatever their number;
 * the last one out releases it with the exact position, and a forked child counts. A keeper is
 * killed, or stopped for three windows and continued: no call of the others fails. An idle lease is
 * kept. Settings that differ are refused. Two processes that use a pid up have two.
 *
 * Sizes: 8 processes, 24 lives one after another, 3 keepers killed and 2 stopped (long: 30, 10;
 * sanitizer: 2, 1).
 */
#include "support/lives.h"
#include "support/sharers.h"

#define LAYOUT "39:3:14/10ms"

enum { CROWD = 8, LIVES = 24 };

static uint64_t rng;

/* ---- one pid ----------------------------------------------------------------------- */

static bool has_two_keys(void *r) { return redis_do(r, "DBSIZE", NULL) == 2; }

static void one_pid(struct redis *r) {
    const sfid_options opt = sharing_for_long(r, "one");
    char line[RECORD];
    int64_t pid = -1;
    struct member *m = sharers_open(&opt, CROWD);
    ok(sharers_draw(m, CROWD), "%d processes generate", CROWD);
    is_u64(pids_known(r, "one", &pid), 1, "the server knows one pid");
    ok(sharers_have(m, CROWD, pid), "which all of them have");
    ok(strstr(record_of(r, "one", pid, line), ":share.0:"), "under the name of the page: %s", line);
    ok(tap_wait_until(has_two_keys, r, TAP_WAIT_MS),
       "beside the app's hash there is one registration");
    ok(sharers_keeper(m, CROWD, NULL) != NULL, "one of them keeps");
    ok(sharers_renew(m, CROWD, 1), "and renews");
    sharers_are_well(m, CROWD, "one pid");
    for (int i = 1; i < CROWD; i++)
        member_end(&m[i]);
    ok(!is_released(record_of(r, "one", pid, line)), "while one is left, the pid is held");
    sharers_end(m, CROWD);
    ok(is_released(record_of(r, "one", pid, line)), "the last one out releases it: %s", line);
    judge(LAYOUT, "per-file", UINT64_MAX, "one pid");
}

/* ---- lives one after another -------------------------------------------------------- */

static const sfid_layout *const slow = &SFID_LAYOUT_DEFAULT; /* ticks of a second */

static void leaves_no_gap(struct redis *r) {
    sfid_options opt = sharing_for_long(r, "exact");
    opt.layout = slow;
    opt.pid_max = (int64_t)slow->max_pid;
    is_u64(lives_without_gap(&opt, LIVES), 0, "and with one pid");
}

/* ---- keepers -------------------------------------------------------------------------- */

enum { FEW = 4 };

static void keepers_killed(struct redis *r) {
    const sfid_options opt = sharing(r, "killed");
    struct member *m = sharers_open(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    unsigned missing = 0;
    for (uint64_t i = 0; i < sized(3, 30, 2) && missing == 0; i++) {
        /* what a killed one had reported is gone once it is started again */
        struct member *k = sharers_keeper(m, FEW, NULL);
        missing += k == NULL;
        if (k == NULL)
            break;
        nap_us((long)(draw_random(&rng) % (SHARERS_HEARTBEAT * 1000)));
        member_kill(k);
        member_open_or_die(k);
    }
    missing += sharers_keeper(m, FEW, NULL) == NULL;
    is_u64(missing, 0, "keepers killed: there is a next one each time");
    ok(sharers_draw(m, FEW), "keepers killed: all generate");
    sharers_are_well(m, FEW, "keepers killed");
    ok(sharers_have(m, FEW, pid), "keepers killed: the pid is the same");
    sharers_end(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "keepers killed");
}

static void keepers_stopped(struct redis *r) {
    const sfid_options opt = sharing(r, "stopped");
    struct member *m = sharers_open(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    unsigned missing = 0;
    for (uint64_t i = 0; i < sized(2, 10, 1) && missing == 0; i++) {
        struct member *k = sharers_keeper(m, FEW, NULL);
        missing += k == NULL;
        if (k == NULL)
            break;
        nap_us((long)(draw_random(&rng) % (SHARERS_HEARTBEAT * 1000)));
        member_stop(k);
        missing += sharers_keeper(m, FEW, k) == NULL;
        nap_us(3000L * SHARERS_TTL); /* what it remembers is older than any window */
        member_go_on(k);
        missing += !member_draws(k, 10, TAP_WAIT_MS);
    }
    is_u64(missing, 0, "keepers stopped: another one keeps, and the stopped one generates again");
    sharers_are_well(m, FEW, "keepers stopped");
    ok(sharers_have(m, FEW, pid), "keepers stopped: the pid is the same");
    sharers_end(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "keepers stopped");
}

/* Nobody wants an ID. The lease would end, and another host would get the pid. The processes have
 * callbacks, so threads. */
static void idle(struct redis *r) {
    sfid_options opt = sharing(r, "idle");
    struct member *m = members_new(FEW, &opt);
    for (int i = 0; i < FEW; i++) {
        atomic_store(&m[i].may_draw, 0);
        member_open_or_die(&m[i]);
    }
    ok(sharers_renew(m, FEW, 1), "idle: somebody keeps all the same");
    struct member *k = sharers_keeper(m, FEW, NULL);
    must(k != NULL, "idle: nobody keeps");
    member_kill(k);
    ok(sharers_renew(m, FEW, 3), "idle: and when that one is killed, another one");
    k = sharers_keeper(m, FEW, NULL);
    must(k != NULL, "idle: nobody keeps any more");
    member_stop(k);
    ok(sharers_renew(m, FEW, 3), "idle: and when that one is stopped, another one");
    member_go_on(k);
    for (int i = 0; i < FEW; i++)
        atomic_store(&m[i].may_draw, 1);
    ok(sharers_draw(m, FEW) && sharers_renew(m, FEW, 1) &&
           sharers_events(m, FEW, SFID_EVENT_LOST) == 0,
       "idle: the lease was not lost");
    sharers_end(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "idle");
}

/* ---- a child, and a crowd ------------------------------------------------------------------ */

static sfid *inherited;

static int draw_as_child(void *arg) {
    if (!flag_wait(arg, 1, TAP_WAIT_MS))
        return 1;
    const bool good = sfid_next(inherited) > 0;
    sfid_close(inherited);
    return good ? 0 : 2;
}

static void forked(struct redis *r) {
    const sfid_options opt = sharing_for_long(r, "forked");
    char line[RECORD];
    _Atomic int *go_on = shared_memory(sizeof *go_on);
    inherited = open_or_die(&opt);
    const int64_t pid = sfid_pid(inherited);
    let_threads_start();
    const pid_t child = child_start(draw_as_child, (void *)go_on);
    sfid_close(inherited);
    ok(!is_released(record_of(r, "forked", pid, line)),
       "a child has the lease when its parent closes");
    atomic_store(go_on, 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "the child generates, and closes");
    ok(is_released(record_of(r, "forked", pid, line)), "which releases it");
}

static bool has_two_pids(void *arg) {
    int64_t first;
    return pids_known(arg, "crowd", &first) >= 2;
}

/* A page has one pid's rate. One of two processes that use it up takes a second lease, for a page
 * of its own. */
static void crowded(struct redis *r) {
    static const char text[] = "45:3:8/10ms";
    const sfid_layout narrow = layout_of(text);
    sfid_options opt = sharing_for_long(r, "crowd");
    char line[RECORD];
    opt.layout = &narrow;
    struct member *m = sharers_open(&opt, 2);
    m[0].burst = m[1].burst = 1000;
    ok(tap_wait_until(has_two_pids, r, TAP_WAIT_MS),
       "two processes use a pid up, and then have two");
    ok(sharers_draw(m, 2), "and go on");
    sharers_are_well(m, 2, "two pids");
    sharers_end(m, 2);
    for (int64_t pid = 1; pid <= (int64_t)narrow.max_pid; pid++)
        if (strcmp(record_of(r, "crowd", pid, line), "nil") != 0)
            ok(is_released(line), "pid %" PRIi64 " is released", pid);
    judge(text, "per-file", UINT64_MAX, "crowd");
}

/* ---- settings -------------------------------------------------------------------------------- */

static void refused(const sfid_options *opt, const char *word, const char *what) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, opt);
    ok(rc == SFID_EBUSY && strstr(sfid_last_error(g), word), "%s: %s", what, sfid_last_error(g));
    sfid_close(g);
}

static void settings_differ(struct redis *r) {
    const sfid_options opt = sharing_for_long(r, "settings");
    struct member *m = sharers_open(&opt, 1);
    sfid_options other = opt;
    other.ttl_ms = FLEET_TTL_MS + 2000;
    refused(&other, "other settings", "another window");
    other = opt;
    other.pid_max--;
    if (atomic_load(&m->pid) == opt.pid_max)
        other.pid_max = opt.pid_max, other.pid_min++;
    refused(&other, "other settings", "another range of pids");
    other.pid_min = other.pid_max = atomic_load(&m->pid) == 1 ? 2 : 1;
    refused(&other, "not within", "a range without the pid");
    other = opt;
    other.share = 0;
    sfid *g = open_or_die(&other);
    ok(sfid_pid(g) != atomic_load(&m->pid), "a process that does not share has another pid");
    sfid_close(g);
    sharers_end(m, 1);
}

/* Nobody else finds the page any more. Those who have it go on there, also with another lease. */
static void without_directory(struct redis *r) {
    sfid_options opt = sharing(r, "gone");
    opt.max_wait_ms = 100;
    struct member *m = sharers_open(&opt, FEW);
    char run[4500];
    snprintf(run, sizeof run, "%s/gone", opt.run_dir ? opt.run_dir : dirs.run);
    remove_tree(run);
    redis_pause(r);
    ok(member_fails(&m[0], TAP_WAIT_MS),
       "the run directory is gone and the server away: the window ends");
    redis_resume(r);
    redis_do(r, "FLUSHALL", NULL);
    int64_t pid = -1;
    for (int i = 0; i < FEW; i++) {
        ok(member_draws(&m[i], 5, TAP_WAIT_MS),
           "the server is back and empty: process %d goes on with a new lease", i);
        if (i == 0)
            pid = atomic_load(&m[i].pid);
        else
            is_i64(atomic_load(&m[i].pid), pid, "and the pid of the others");
    }
    sharers_end(m, FEW);
}

static void test(struct redis *r) {
    one_pid(r);
    leaves_no_gap(r);
    keepers_killed(r);
    keepers_stopped(r);
    idle(r);
    forked(r);
    settings_differ(r);
    /* each app by itself: two of them may have equal IDs */
    judge(LAYOUT, "per-file", UINT64_MAX, "settings");
    without_directory(r);
    judge(LAYOUT, "per-file", UINT64_MAX, "gone");
    crowded(r);
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    on_servers(0, 0, test);
    return done_testing();
}
