/* SPDX-License-Identifier: MIT */
/*
 * The disk of the state directory hangs: a sync of the mark does not return. No call waits for it:
 * IDs flow from what is left of the window, at the same cost, then a call that may not wait returns
 * SFID_ELEASE. When the disk goes on, so do IDs, by themselves. Without "local?share=1" and with
 * it.
 *
 * One size. The program has a fsync() and a fdatasync() of its own, which the library calls instead
 * of the system's.
 */
#include "support/local.h"

#include <sys/syscall.h>

#define LAYOUT "41:10:12/1ms"

enum { CALLS = 5000, TRIES = 5 };

static sfid_layout layout;

static atomic_int hangs, hanging; /* syncs hang; this many do */

static void hang(void) {
    atomic_fetch_add(&hanging, 1);
    while (atomic_load(&hangs))
        nap_us(500);
    atomic_fetch_sub(&hanging, 1);
}

int fsync(int fd) {
    hang();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    hang();
    return (int)syscall(SYS_fdatasync, fd);
}

static void log_one(struct idlog *log, int64_t id) {
    if (id >= 0)
        log_ids(log, &id, 1);
}

/* Draws until the keeper is in a sync that hangs. Idle processes write nothing. */
static bool keeper_hangs(sfid *g, struct idlog *log) {
    struct patience p = {0};
    while (atomic_load(&hanging) == 0 && patient(&p, TAP_WAIT_MS)) {
        log_one(log, sfid_next(g));
        nap_us(200);
    }
    return atomic_load(&hanging) > 0;
}

static int by_time(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the window is over, or was when the last call ended: then that call may fail. */
static bool is_over(const sfid *g) {
    sfid_status_info st;
    return sfid_status(g, &st) == 0 && tick_now(&layout) >= st.limit_tick;
}

/* False if the window ended before all were called: the machine was late. */
static bool calls_go_on(sfid *g, struct idlog *log, const char *what) {
    static int64_t took[CALLS];
    unsigned failed = 0;
    int n = 0;
    for (; n < CALLS; n++) {
        const int64_t begin = mono_ns(), id = sfid_next(g);
        took[n] = mono_ns() - begin;
        if (id < 0 && is_over(g))
            break;
        failed += id < 0;
        log_one(log, id);
    }
    qsort(took, (size_t)n, sizeof took[0], by_time);
    ok(atomic_load(&hanging) > 0, "%s: the sync hangs over %d calls", what, n);
    is_u64(failed, 0, "%s: none of them fails", what);
    if (n > 0)
        diag("figure: %s: of %d calls half took %" PRIi64 " ns, 99.9 %% up to %" PRIi64 " ns", what,
             n, took[n / 2], took[n - 1 - n / 1000]);
    return n == CALLS;
}

static bool window_ends(sfid *g, struct idlog *log) {
    struct patience p = {0};
    int64_t id;
    while ((id = sfid_next(g)) != SFID_ELEASE && patient(&p, TAP_WAIT_MS)) {
        log_one(log, id);
        nap_us(200);
    }
    return id == SFID_ELEASE;
}

/* Again if the machine was late: the disk goes on, so do IDs, and it hangs anew. */
static bool calls_beside_hang(sfid *g, struct idlog *log, const char *what) {
    for (int i = 0; i < TRIES; i++) {
        atomic_store(&hangs, 0);
        ok(next_within(g, TAP_WAIT_MS) >= 0, "%s: an ID", what);
        atomic_store(&hangs, 1);
        ok(keeper_hangs(g, log), "%s: the keeper is in a sync that hangs", what);
        if (calls_go_on(g, log, what))
            return true;
    }
    return false;
}

static void test_hanging(const char *store, const char *what) {
    struct idlog log;
    sfid_options opt = local_options(what, store, &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = 1;
    sfid *g = open_or_die(&opt);
    log_start(&log, 1 << 17, 1, IDLOG_ANY_PID, "%s", what);
    ok(calls_beside_hang(g, &log, what), "%s: all of that before the window ends", what);
    ok(window_ends(g, &log), "%s: when the window is over calls return SFID_ELEASE", what);
    ok(atomic_load(&hanging) > 0, "%s: the sync hangs all the while", what);
    atomic_store(&hangs, 0);
    ok(next_within(g, TAP_WAIT_MS) >= 0, "%s: the disk goes on, and so do IDs", what);
    sfid_close(g);
    idlog_close(&log);
    judge(LAYOUT, "per-file", UINT64_MAX, what);
}

int main(void) {
    dirs_make();
    layout = layout_of(LAYOUT);
    test_hanging("local?lead_ms=2000", "alone");
    test_hanging("local?lead_ms=2000&share=1", "shared");
    return done_testing();
}
