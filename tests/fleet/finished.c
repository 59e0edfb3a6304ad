/* SPDX-License-Identifier: MIT */
/*
 * An operator who ends leases at random, sfid_pid_finish(), while their holders draw: they go on,
 * first to the end of what they have, then with other pids; nobody's call fails, and no ID repeats.
 * Pids that are ended and whose holder was killed come free at the end of its window and no sooner.
 *
 * Sizes: 4 processes, 5 s (long: 12 processes, 60 s, each server).
 */
#include "support/fleet.h"

#define LAYOUT "39:4:13/10ms"

/* Windows that are ended are over soon, or there would be no pids. */
enum { TTL = 4000, BEARS_MS = 1500 };

/* Ends whatever it finds at one pid. The server may be late for an answer. */
static void finish_some(const sfid_options *opt, uint64_t pid, int counts[3]) {
    char why[SFID_WHY_LEN];
    int rc = SFID_EREDIS;
    for (int tries = 0; rc == SFID_EREDIS && tries < 5; tries++)
        rc = sfid_pid_finish(opt, pid, NULL, NULL, why, sizeof why);
    if (rc != 0 && rc != SFID_ELEASE && rc != SFID_EAGAIN)
        diag("pid %" PRIu64 ": %d: %s", pid, rc, why);
    counts[rc == 0 ? 0 : rc == SFID_ELEASE || rc == SFID_EAGAIN ? 1 : 2]++;
}

static void test_drawing(struct redis *r) {
    const bool longer = getenv("SFID_TEST_LONG") != NULL;
    const size_t n = longer ? 12 : 4;
    const sfid_options opt = fleet_lease(r, "finished", TTL, 300);
    struct member *all = members_new(n, &opt);
    int counts[3] = {0}, errors = 0, lost = 0;
    uint64_t rng = 7;
    for (size_t i = 0; i < n; i++)
        member_open_or_die(&all[i]);
    struct patience p = {0};
    const int64_t until = mono_ns() + (longer ? 60 : 5) * INT64_C(1000000000);
    while (mono_ns() < until || (counts[0] == 0 && patient(&p, TAP_WAIT_MS))) {
        finish_some(&opt, 1 + draw_random(&rng) % layout.max_pid, counts);
        nap_us(longer ? 500000 : 150000);
    }
    /* Each has to have a pid that is renewed again; none is taken away any more. */
    for (size_t i = 0; i < n; i++)
        ok(member_draws(&all[i], 10, TAP_WAIT_MS), "process %zu draws in the end", i);
    for (size_t i = 0; i < n; i++) {
        is_i64(member_end(&all[i]), 0, "process %zu ends well", i);
        errors += atomic_load(&all[i].errors) > 0;
        lost += events_of(&all[i], SFID_EVENT_LOST);
    }
    diag("figure: %d leases ended, %d pids had none, %d losses", counts[0], counts[1], lost);
    is_i64(errors, 0, "no call fails");
    is_i64(counts[2], 0, "nor does one of the operator's");
    ok(lost > 0, "leases were lost by it");
    /* Pids go from one to another and back: only what each process drew has an order. */
    judge(LAYOUT, "per-file", UINT64_MAX, "finished");
}

static void test_killed(struct redis *r) {
    sfid_options opt = fleet_lease(r, "killed", TTL, 1000);
    sfid_pid_info info;
    char why[SFID_WHY_LEN];
    opt.pid_min = opt.pid_max = 5;
    on_host(&opt, 1);
    struct member *m = member_drawing(&opt);
    is_i64(sfid_pid_finish(&opt, 5, NULL, &info, why, sizeof why), 0, "a lease is ended");
    is_i64(info.kind, SFID_LEASE_ENDING, "its state");
    const int64_t until = info.until_unix_ms;
    is_i64(info.free_unix_ms, until, "the pid is free at its end");
    member_kill(m);
    on_host(&opt, 2);
    struct member *next = members_new(1, &opt);
    is_i64(member_open_one(next), 0,
           "its holder is killed, and another host's process gets the pid");
    ok(member_draws(next, 10, TAP_WAIT_MS), "and draws");
    ok(next->first_id != 0 &&
           layout.epoch_ms + id_tick(&layout, next->first_id) * 10 >= (uint64_t)until,
       "from the end of that window on");
    is_i64(member_end(next), 0, "it ends well");
    judge(LAYOUT, "pid", UINT64_MAX, "killed");
}

int main(void) {
    fleet_begin(LAYOUT);
    on_servers(0, 0, test_drawing);
    on_running_servers(1, 0, BEARS_MS, test_killed);
    return done_testing();
}
