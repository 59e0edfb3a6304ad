/* SPDX-License-Identifier: MIT */
/*
 * The keeper's thread of a lease that processes share is held at each of its system calls, for three windows, while another
 * process keeps: before and after it sends a renewal, before and after it reads the answer. Then it goes on. No call of any
 * process fails, no ID comes twice, and the pid stays the same.
 *
 * Sizes: every 6th of 30 stops (long: each; sanitizer: every 15th). The window is 1 s (sanitizer: 3).
 */
#include "support/sharers.h"

#include <sys/ptrace.h>

#define LAYOUT "39:3:14/10ms"

enum { PACE = SANITIZED ? 3 : 1, TTL = 1100 * PACE, HEARTBEAT = 300 * PACE, PROCESSES = 3, STOPS = 30 };

static struct member *m;

/* False if nobody else keeps meanwhile, or it does not go on. */
static bool held_at(unsigned n, struct member *k) {
    int count = 0;
    const pid_t thread = thread_named(k->child, "sfid-keeper", &count);
    trace_hold(thread, n);
    const bool kept = sharers_keeper(m, PROCESSES, k) != NULL;
    nap_us(3000L * TTL); /* what it was told is older than any window */
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    return kept && member_draws(k, 10, TAP_WAIT_MS) && sharers_renew(m, PROCESSES, 1);
}

static void test(struct redis *r) {
    sfid_options opt = fleet_lease(r, "held", TTL, HEARTBEAT);
    opt.share = 1;
    unsigned trials = 0, bad = 0;
    int64_t failed = 0, moved = 0;
    struct took longest = {0, 0};
    for (unsigned n = 1; n <= STOPS; n += (unsigned)sized(6, 1, 15), trials++) {
        m = members_new(PROCESSES, &opt);
        for (int i = 0; i < PROCESSES; i++)
            member_open_or_die(&m[i]);
        must(sharers_renew(m, PROCESSES, 1), "nobody renews");
        struct member *k = sharers_keeper(m, PROCESSES, NULL);
        must(k != NULL, "nobody keeps");
        const int64_t pid = atomic_load(&m[0].pid);
        bad += !held_at(n, k);
        longest = took_longer(longest, sharers_gap(m, PROCESSES));
        for (int i = 0; i < PROCESSES; i++) {
            failed += atomic_load(&m[i].errors) + events_of(&m[i], SFID_EVENT_LOST);
            moved += atomic_load(&m[i].pid) != pid;
            bad += member_end(&m[i]) != 0;
        }
    }
    is_u64(bad, 0, "held at a system call (%u trials): another process keeps, and both go on", trials);
    is_i64(failed, 0, "no call fails, and nobody loses the lease");
    in_time(longest, TTL, "nobody is without an ID for a window");
    is_i64(moved, 0, "the pid stays the same");
    judge(LAYOUT, "per-file", UINT64_MAX, "held");
}

int main(void) {
    fleet_begin(LAYOUT);
    if (!can_trace()) {
        skip(5, "cannot trace a thread here");
        return done_testing();
    }
    on_servers(0, 0, test);
    return done_testing();
}
