/* SPDX-License-Identifier: MIT */
/*
 * A hundred apps in one process, half of them on one server and half on another: one background
 * thread renews them all. A server that does not answer ends no window of the other one's apps:
 * they are renewed on, by a few more threads, which are gone once it answers again; and its own
 * apps go on then.
 */
#include "support/fleet.h"
#include "support/local.h"

#define LAYOUT "39:7:10/10ms"

enum { APPS = 100, HEARTBEAT = 1500, TTL = 9000, TIMEOUT = 300, HELPERS = 4, RENEWALS = 3 };

struct apps {
    sfid *g[APPS];
    uint64_t renewals[APPS]; /* when last looked at */
    int failed;
    struct took longest; /* call */
};

static struct apps apps;

static uint64_t renewals_of(const sfid *g) {
    sfid_status_info st;
    must(sfid_status(g, &st) >= 0, "no status");
    return st.renewals;
}

static void note_renewals(void) {
    for (int i = 0; i < APPS; i++)
        apps.renewals[i] = renewals_of(apps.g[i]);
}

static bool draw(sfid *g) {
    const int64_t begin = tap_now_ms();
    const bool good = sfid_next(g) >= 0;
    if (tap_now_ms() - begin > apps.longest.ms)
        apps.longest = took_longer(apps.longest, took_since(begin));
    return good;
}

/* True if every step-th app from the first one on was renewed a few times since. */
static bool renewed(int first, int step, bool drawing) {
    bool all = true;
    for (int i = first; i < APPS; i += step) {
        apps.failed += drawing && !draw(apps.g[i]);
        all = all && renewals_of(apps.g[i]) >= apps.renewals[i] + RENEWALS;
    }
    nap_us(20000);
    return all;
}

static bool all_renewed(void *unused) {
    (void)unused;
    return renewed(0, 1, true);
}

static bool second_half_renewed(void *drawing) { return renewed(1, 2, drawing != NULL); }

static bool first_half_answers(void *unused) {
    (void)unused;
    for (int i = 0; i < APPS; i += 2)
        if (sfid_try_next(apps.g[i]) < 0)
            return false;
    return true;
}

/* A sanitizer may have a thread of its own. */
static int threads_of_ours(void) {
    int keepers, helpers;
    thread_named(getpid(), "sfid-keeper", &keepers);
    thread_named(getpid(), "sfid-helper", &helpers);
    return keepers + helpers;
}

static bool is_alone(void *unused) {
    (void)unused;
    return threads_of_ours() == 1;
}

/*
 * On a busy host some turn of a hundred apps is always late, and a helper stays for it: so apps are
 * closed until the others are few enough. How many are left?
 */
static int left_alone(void) {
    enum { EACH_MS = TAP_WAIT_MS / 10 };
    int left = APPS;
    while (left > 0 && !tap_wait_until(is_alone, NULL, EACH_MS))
        for (const int more = left / 2; left > more; left--)
            sfid_close(apps.g[left - 1]);
    return left;
}

static void open_all(const struct redis *r, const struct redis *other) {
    static char names[APPS][16];
    sfid_options of[2] = {fleet_options(r, "", &layout), fleet_options(other, "", &layout)};
    fleet_timeout(&of[0], r, TIMEOUT);
    fleet_timeout(&of[1], other, TIMEOUT);
    for (int i = 0; i < APPS; i++) {
        sfid_options opt = of[i % 2];
        snprintf(names[i], sizeof names[i], "app-%d", i);
        opt.app = names[i];
        opt.ttl_ms = TTL;
        opt.heartbeat_ms = HEARTBEAT;
        apps.g[i] = open_or_die(&opt);
    }
}

static bool has_no_thread(void *arg) {
    (void)arg;
    return threads_of_ours() == 0;
}

static void test_apps(struct redis *r) {
    struct redis other;
    memset(&apps, 0, sizeof apps);
    redis_start(&other, r->program, "other", 0, NULL);
    open_all(r, &other);
    note_renewals();
    ok(tap_wait_until(all_renewed, NULL, TAP_WAIT_MS), "%d apps are renewed", APPS);
    ok(threads_of_ours() <= 1 + HELPERS, "by a few threads");
    is_i64(apps.failed, 0, "and no call fails");
    in_time(apps.longest, CALL_MS, "or waits for a renewal");

    redis_pause(r);
    note_renewals();
    ok(tap_wait_until(second_half_renewed, NULL, TAP_WAIT_MS),
       "one server hangs: the other's apps are renewed, without a call");
    note_renewals();
    ok(tap_wait_until(second_half_renewed, r, TAP_WAIT_MS),
       "one server hangs: and while IDs are generated");
    is_i64(apps.failed, 0, "one server hangs: no call of theirs fails");
    in_time(apps.longest, CALL_MS, "one server hangs: or waits for a renewal");
    const int more = threads_of_ours();
    ok(more <= 1 + HELPERS, "one server hangs: by %d threads", more);
    redis_resume(r);
    ok(tap_wait_until(first_half_answers, NULL, TAP_WAIT_MS), "it goes on: its apps do, too");
    const int left = left_alone();
    ok(left > 1, "it goes on: one thread serves all again, %d", left);
    for (int i = 0; i < left; i++)
        sfid_close(apps.g[i]);
    /* A thread that has been joined stays in /proc for a moment. */
    ok(tap_wait_until(has_no_thread, NULL, TAP_WAIT_MS), "closed, they leave no thread");
    redis_kill(&other);
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_apps); }
