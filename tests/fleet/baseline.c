/* SPDX-License-Identifier: MIT */
/*
 * A fleet that starts together: as many processes as there are pids, two threads each, all draw. Each gets a pid of its own,
 * no ID comes twice, and the server is asked once per process and heartbeat. When all have closed nothing of them is left:
 * no registration, and each pid can be claimed at once.
 *
 * Sizes: 16 processes, 6 s (long: 64, 30 s; sanitizer: 6, 5 s).
 */
#include "support/fleet.h"

#define LAYOUT "40:7:16/1ms"

enum { MOST = 64 + 1, THREADS = 2 };

/* ---- together ------------------------------------------------------------ */

static struct member *start_together(const sfid_options *opt, size_t n) {
    struct member *all = members_new(n, opt);
    for (size_t i = 0; i < n; i++) {
        all[i].threads = THREADS;
        all[i].waits = true;
        member_start(&all[i]);
    }
    for (size_t i = 0; i < n; i++)
        must(flag_wait(&all[i].ready, 1, patience(10000)), "a member does not start");
    for (size_t i = 0; i < n; i++)
        atomic_store(&all[i].may_open, 1);
    return all;
}

static void check_open(struct member *all, size_t n) {
    unsigned failed = 0, shared = 0;
    bool taken[MOST] = {false};
    int64_t longest = 0, opens[MOST];
    for (size_t i = 0; i < n; i++) {
        failed += !flag_wait(&all[i].opened, 1, patience(10000)) || all[i].rc != 0;
        if (all[i].rc != 0)
            diag("open: %s", all[i].text);
        const int64_t pid = atomic_load(&all[i].pid);
        shared += pid < 0 || pid >= MOST || taken[pid];
        if (pid >= 0 && pid < MOST)
            taken[pid] = true;
        opens[i] = all[i].open_ns;
        longest = all[i].open_ns > longest ? all[i].open_ns : longest;
    }
    is_u64(failed, 0, "%zu processes that start together all get a pid", n);
    is_u64(shared, 0, "as many pids as processes");
    diag("figure: open: median %.1f ms, longest %.1f ms of %zu", (double)median(opens, n) / 1e6, (double)longest / 1e6, n);
}

/*
 * Each renews a heartbeat after the last renewal, up to a tenth earlier: in a time T that is T / 0.9 H times, and one more for
 * where T begins. No fewer than in steps of a heartbeat, an exchange and what a busy machine keeps a thread waiting.
 */
static void check_load(struct redis *r, const sfid_options *opt, size_t n, int64_t for_ns) {
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    const int64_t begin = mono_ns();
    nap_us((long)(for_ns / 1000));
    const double at_least = (double)(mono_ns() - begin) / 1e6 / opt->heartbeat_ms;
    const uint64_t calls = evals(r);
    const double at_most = (double)(mono_ns() - begin) / 1e6 / opt->heartbeat_ms;
    const double most = (double)n * (at_most / 0.9 + 1), least = (double)n * (at_least / 1.5 - 1);
    diag("figure: %" PRIu64 " scripts for %zu processes in %.1f heartbeats: %.3f per process and heartbeat", calls, n, at_least,
         (double)calls / (double)n / at_least);
    ok((double)calls <= most, "after the claims at most %.0f scripts: one per process and heartbeat", most);
    ok((double)calls >= least, "and each process renews");
}

/* What members take for their windows the server has granted: the limit on its record, which only rises, is no lower. */
static void check_windows(struct redis *r, const struct member *all, size_t n) {
    char record[RECORD];
    unsigned beyond = 0, strange = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t limit = atomic_load(&all[i].limit);
        record_of(r, "together", atomic_load(&all[i].pid), record);
        strange += is_released(record) || limit == 0;
        beyond += strtoull(record, NULL, 10) < limit;
    }
    is_u64(strange, 0, "each pid has a record of a holder");
    is_u64(beyond, 0, "no window is longer than the server has granted");
}

static void end_all(struct member *all, size_t n) {
    unsigned bad = 0;
    int64_t ids = 0, errors = 0, longest = 0;
    uint64_t renewals = 0;
    for (size_t i = 0; i < n; i++)
        atomic_store(&all[i].may_end, 1);
    for (size_t i = 0; i < n; i++) {
        bad += member_end(&all[i]) != 0;
        ids += atomic_load(&all[i].ids);
        errors += atomic_load(&all[i].errors);
        renewals += all[i].status.renewals;
        longest = all[i].close_ns > longest ? all[i].close_ns : longest;
    }
    diag("figure: %" PRIi64 " IDs, %" PRIu64 " renewals; the longest close %.1f ms", ids, renewals, (double)longest / 1e6);
    is_u64(bad, 0, "all end well");
    is_i64(errors, 0, "no call fails");
    ok(longest < patience(2000) * (int64_t)NS_PER_MS, "each close is over within two seconds");
}

/* ---- afterwards ------------------------------------------------------------ */

/* Registrations by SCAN, whatever they are named: all keys but the hash. */
static uint64_t count_registrations(struct redis *r) {
    char cursor[32] = "0";
    uint64_t n = 0;
    do {
        struct reply *reply = redis_ask(r, "SCAN", cursor, "COUNT", "1000", NULL);
        snprintf(cursor, sizeof cursor, "%s", reply->list[0].text);
        for (size_t i = 0; i < reply->list[1].count; i++)
            n += strncmp(reply->list[1].list[i].text, "sfid:together:", strlen("sfid:together:")) == 0;
        reply_free(reply);
    } while (strcmp(cursor, "0") != 0);
    return n;
}

static void check_nothing_left(struct redis *r, const sfid_options *opt, size_t n) {
    char record[RECORD];
    unsigned held = 0, refused = 0;
    int64_t longest = 0;
    for (size_t pid = 1; pid <= n; pid++)
        held += !is_released(record_of(r, "together", (int64_t)pid, record));
    is_u64(held, 0, "when all have closed each record is one of a release");
    nap_us(opt->skew_budget_ms * 1000L + 100000);
    is_u64(count_registrations(r), 0, "and skew_budget_ms later there is no registration");
    struct member *again = members_new(1, opt);
    for (size_t pid = 1; pid <= n; pid++) {
        again->opt.pid_min = again->opt.pid_max = (int64_t)pid;
        refused += member_open_one(again) != 0 || !member_draws(again, 1, patience(5000));
        longest = again->open_ns > longest ? again->open_ns : longest;
        refused += member_end(again) != 0;
    }
    is_u64(refused, 0, "each pid can be claimed");
    ok(longest < 3000 * (int64_t)NS_PER_MS, "before a window would be over: the longest took %.1f ms", (double)longest / 1e6);
}

static void test_together(struct redis *r) {
    const size_t n = sized(16, 64, 6);
    sfid_options opt = fleet_options(r, "together", &layout);
    opt.pid_max = (int64_t)n;
    struct member *all = start_together(&opt, n);
    check_open(all, n);
    is_u64(count_registrations(r), n, "each pid is registered");
    check_load(r, &opt, n, (int64_t)sized(6, 30, 5) * 1000 * NS_PER_MS);
    check_windows(r, all, n);
    end_all(all, n);
    check_nothing_left(r, &opt, n);
    judge(LAYOUT, "pid", UINT64_MAX, "together");
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_together); }
