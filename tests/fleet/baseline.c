/* SPDX-License-Identifier: MIT */
/*
 * A fleet that starts together: as many processes as there are pids, two threads each, all draw.
 * Each gets a pid of its own, no ID comes twice, and the server is asked once per process and
 * heartbeat. When all have closed nothing of them is left: no registration, and each pid can be
 * claimed at once.
 *
 * Sizes: 16 processes, 6 s (long: 64, 30 s; sanitizer: 6, 5 s).
 */
#include "support/fleet.h"

#define LAYOUT "40:7:16/1ms"

enum { MOST = 64 + 1, THREADS = 2, CLOSE_MS = 2000, AT_ONCE_MS = 3000 };

/* ---- together ------------------------------------------------------------ */

static struct member *start_together(const sfid_options *opt, size_t n) {
    struct member *all = members_new(n, opt);
    for (size_t i = 0; i < n; i++) {
        all[i].threads = THREADS;
        all[i].waits = true;
        member_start(&all[i]);
    }
    for (size_t i = 0; i < n; i++)
        must(flag_wait(&all[i].ready, 1, TAP_WAIT_MS), "a member does not start");
    for (size_t i = 0; i < n; i++)
        atomic_store(&all[i].may_open, 1);
    return all;
}

static void check_open(struct member *all, size_t n) {
    unsigned failed = 0, shared = 0;
    bool taken[MOST] = {false};
    int64_t opens[MOST];
    for (size_t i = 0; i < n; i++) {
        failed += !flag_wait(&all[i].opened, 1, TAP_WAIT_MS) || all[i].rc != 0;
        if (all[i].rc != 0)
            diag("open: %s", all[i].text);
        const int64_t pid = atomic_load(&all[i].pid);
        shared += pid < 0 || pid >= MOST || taken[pid];
        if (pid >= 0 && pid < MOST)
            taken[pid] = true;
        opens[i] = all[i].open.ms;
    }
    is_u64(failed, 0, "%zu processes that start together all get a pid", n);
    is_u64(shared, 0, "as many pids as processes");
    const int64_t middle = median(opens, n);
    diag("figure: open: median %" PRId64 " ms, longest %" PRId64 " ms of %zu", middle, opens[n - 1],
         n);
}

struct renewing {
    struct member *all;
    size_t n;
    int least[MOST];
};

static bool all_have_renewed(void *arg) {
    const struct renewing *w = arg;
    size_t i = 0;
    while (i < w->n && events_of(&w->all[i], SFID_EVENT_RENEWED) >= w->least[i])
        i++;
    return i == w->n;
}

/*
 * Each renews a heartbeat after the last renewal, up to a tenth earlier: in a time T that is T /
 * 0.9 H times, and one more for where T begins, which is before the count does. Nobody needs twice
 * as long.
 */
static void check_load(struct redis *r, struct member *all, size_t n, int heartbeats) {
    const uint32_t heartbeat_ms = all->opt.heartbeat_ms;
    struct renewing w = {.all = all, .n = n};
    const int64_t begin = tap_now_ms();
    redis_do(r, "CONFIG", "RESETSTAT", NULL);
    for (size_t i = 0; i < n; i++)
        w.least[i] = events_of(&all[i], SFID_EVENT_RENEWED) + heartbeats;
    ok(tap_wait_until(all_have_renewed, &w, (unsigned)heartbeats * heartbeat_ms + TAP_WAIT_MS),
       "each process renews");
    const struct took took = took_since(begin);
    const uint64_t calls = evals(r);
    const double passed = (double)(tap_now_ms() - begin) / heartbeat_ms,
                 most = (double)n * (passed / 0.9 + 1);
    diag("figure: %" PRIu64
         " scripts for %zu processes in %.1f heartbeats: %.3f per process and heartbeat",
         calls, n, passed, (double)calls / (double)n / passed);
    ok((double)calls <= most,
       "after the claims at most %.0f scripts: one per process and heartbeat", most);
    in_time(took, 2 * (int64_t)heartbeats * heartbeat_ms, "and no less than every two heartbeats");
}

/* What members take for their windows the server has granted: the limit on its record, which only
 * rises, is no lower. */
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
    int64_t ids = 0, errors = 0;
    struct took longest = {0, 0};
    uint64_t renewals = 0;
    for (size_t i = 0; i < n; i++)
        atomic_store(&all[i].may_end, 1);
    for (size_t i = 0; i < n; i++) {
        bad += member_end(&all[i]) != 0;
        ids += atomic_load(&all[i].ids);
        errors += atomic_load(&all[i].errors);
        renewals += all[i].status.renewals;
        longest = took_longer(longest, all[i].close);
    }
    diag("figure: %" PRIi64 " IDs, %" PRIu64 " renewals; the longest close %" PRId64 " ms", ids,
         renewals, longest.ms);
    is_u64(bad, 0, "all end well");
    is_i64(errors, 0, "no call fails");
    in_time(longest, CLOSE_MS, "each close is over within two seconds");
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
            n += strncmp(reply->list[1].list[i].text, "sfid:together:", strlen("sfid:together:")) ==
                 0;
        reply_free(reply);
    } while (strcmp(cursor, "0") != 0);
    return n;
}

static void check_nothing_left(struct redis *r, const sfid_options *opt, size_t n) {
    char record[RECORD];
    unsigned held = 0, refused = 0;
    struct took longest = {0, 0};
    for (size_t pid = 1; pid <= n; pid++)
        held += !is_released(record_of(r, "together", (int64_t)pid, record));
    is_u64(held, 0, "when all have closed each record is one of a release");
    nap_us(opt->skew_budget_ms * 1000L + 100000);
    is_u64(count_registrations(r), 0, "and skew_budget_ms later there is no registration");
    struct member *again = members_new(1, opt);
    for (size_t pid = 1; pid <= n; pid++) {
        again->opt.pid_min = again->opt.pid_max = (int64_t)pid;
        refused += member_open_one(again) != 0 || !member_draws(again, 1, TAP_WAIT_MS);
        longest = took_longer(longest, again->open);
        refused += member_end(again) != 0;
    }
    is_u64(refused, 0, "each pid can be claimed");
    in_time(longest, AT_ONCE_MS, "at once, long before a window would be over");
}

static void test_together(struct redis *r) {
    const size_t n = sized(16, 64, 6);
    sfid_options opt = fleet_options(r, "together", &layout);
    opt.pid_max = (int64_t)n;
    struct member *all = start_together(&opt, n);
    check_open(all, n);
    is_u64(count_registrations(r), n, "each pid is registered");
    check_load(r, all, n, (int)sized(6, 30, 5));
    check_windows(r, all, n);
    end_all(all, n);
    check_nothing_left(r, &opt, n);
    judge(LAYOUT, "pid", UINT64_MAX, "together");
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_together); }
