/* SPDX-License-Identifier: MIT */
/*
 * A herd: processes of one app that all start at the same moment. All get pids of their own. Then
 * the server stops for a while, so that all miss their renewal, and goes on: all renew. Whatever
 * happens, a process sends no more than a few scripts a second, so a server that is back is not
 * kept down by those that waited for it.
 *
 * Sizes: 100 processes (long: 300; sanitizer: 30).
 */
#include "support/fleet.h"

#define LAYOUT "39:11:13/10ms"

enum { MOST = 300, TTL = 600000, HEARTBEAT = 1500, EACH = 3 };
enum { HERD_WAIT_MS = 4 * TAP_WAIT_MS }; /* for so many, on one processor */

/* One of the herd. */
struct beast {
    _Atomic int64_t pid;
    atomic_int ready, opened;
    char text[300];
    /* misses: renewals that failed since the last one that succeeded */
    _Atomic uint64_t misses, failures, losses;
};

static struct herd {
    sfid_options opt;
    atomic_int may_open, may_end;
    struct beast all[MOST];
} * herd;

static int live(void *arg) {
    struct beast *b = arg;
    struct idlog log;
    sfid *g = NULL;
    sfid_status_info st;
    int64_t ids[4];
    atomic_store(&b->ready, 1);
    while (!atomic_load(&herd->may_open))
        nap_us(10000);
    const int rc = sfid_open(&g, &herd->opt);
    atomic_store(&b->pid, rc == 0 ? sfid_pid(g) : rc);
    snprintf(b->text, sizeof b->text, "%s", sfid_last_error(g));
    atomic_store(&b->opened, 1);
    if (rc != 0)
        return 1;
    log_start(&log, 1 << 12, 1, (uint64_t)sfid_pid(g), "beast-%ld", (long)(b - herd->all));
    while (!atomic_load(&herd->may_end)) {
        const int64_t n = sfid_next_n(g, ids, COUNT_OF(ids));
        log_ids(&log, ids, n > 0 && idlog_room(&log, COUNT_OF(ids)) == COUNT_OF(ids) ? n : 0);
        atomic_fetch_add(&b->failures, n < 0);
        if (sfid_status(g, &st) == 0) {
            atomic_store(&b->misses, st.renew_failures);
            atomic_store(&b->losses, st.losses);
        }
        nap_us(100000);
    }
    sfid_close(g);
    return 0;
}

/* Of the first n. */
struct all_wait {
    size_t n;
    bool (*is_so)(struct beast *b);
};

static bool is_ready(struct beast *b) { return atomic_load(&b->ready); }
static bool has_opened(struct beast *b) { return atomic_load(&b->opened); }
static bool misses(struct beast *b) { return atomic_load(&b->misses) > 0; }
static bool renews(struct beast *b) { return atomic_load(&b->misses) == 0; }

static bool all_are(void *arg) {
    const struct all_wait *w = arg;
    size_t i = 0;
    while (i < w->n && w->is_so(&herd->all[i]))
        i++;
    return i == w->n;
}

static void wait_for(size_t n, bool (*is_so)(struct beast *b), const char *what) {
    ok(tap_wait_until(all_are, &(struct all_wait){n, is_so}, HERD_WAIT_MS), "%s", what);
}

/* No more than EACH scripts of a process and second, and two at once. The time begins before the
 * count, and ends after it. */
static void check_load(struct redis *r, size_t n, uint64_t before, int64_t begin,
                       const char *what) {
    const uint64_t scripts = evals(r) - before;
    const double seconds = (double)(mono_ns() - begin) / 1e9;
    diag("figure: %s: %zu processes sent %" PRIu64 " scripts in %.2f s", what, n, scripts, seconds);
    ok((double)scripts <= (double)n * (EACH * seconds + 2),
       "%s: no process sends more than %d scripts a second", what, EACH);
}

static void check_pids(size_t n) {
    static bool taken[1 << 11];
    unsigned failed = 0, shared = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t pid = atomic_load(&herd->all[i].pid);
        if (pid < 0 && failed++ < 5)
            diag("open: %s", herd->all[i].text);
        shared += pid >= 0 && taken[pid];
        if (pid >= 0)
            taken[pid] = true;
    }
    memset(taken, 0, sizeof taken);
    is_u64(failed, 0, "%zu processes that start together are all served", n);
    is_u64(shared, 0, "with a pid each");
}

/* They open at one moment. */
static void start(struct redis *r, pid_t *children, size_t n) {
    for (size_t i = 0; i < n; i++)
        children[i] = child_start(live, &herd->all[i]);
    wait_for(n, is_ready, "the processes are there");
    const int64_t begin = mono_ns();
    const uint64_t before = evals(r);
    atomic_store(&herd->may_open, 1);
    wait_for(n, has_opened, "all have opened");
    check_load(r, n, before, begin, "the start");
    check_pids(n);
}

static void outage(struct redis *r, size_t n) {
    const int64_t begin = mono_ns();
    const uint64_t before = evals(r);
    redis_pause(r);
    wait_for(n, misses, "the server is stopped: all miss a renewal");
    redis_resume(r);
    wait_for(n, renews, "it goes on: all renew");
    check_load(r, n, before, begin, "the outage");
}

static void test_herd(struct redis *r) {
    static pid_t children[MOST];
    const size_t n = sized(100, MOST, 30);
    uint64_t failures = 0, losses = 0;
    unsigned bad = 0;
    memset(herd, 0, sizeof *herd);
    herd->opt = fleet_options(r, "herd", &layout);
    char store[200];
    snprintf(store, sizeof store, "unix://%s?timeout=700ms&connect_timeout=700ms", r->socket);
    herd->opt.store = store;
    herd->opt.ttl_ms = TTL;
    herd->opt.heartbeat_ms = HEARTBEAT;
    herd->opt.open_timeout_ms = HERD_WAIT_MS;
    start(r, children, n);
    outage(r, n);
    atomic_store(&herd->may_end, 1);
    for (size_t i = 0; i < n; i++) {
        bad += child_wait(children[i], HERD_WAIT_MS) != 0;
        failures += atomic_load(&herd->all[i].failures);
        losses += atomic_load(&herd->all[i].losses);
    }
    is_u64(bad, 0, "all end well");
    is_u64(failures, 0, "no call has failed");
    is_u64(losses, 0, "no pid was lost");
    judge(LAYOUT, "per-file", UINT64_MAX, "herd");
}

int main(void) {
    fleet_begin(LAYOUT);
    herd = shared_memory(sizeof *herd);
    on_servers(0, 0, test_herd);
    return done_testing();
}
