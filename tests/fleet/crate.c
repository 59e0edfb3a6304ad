/* SPDX-License-Identifier: MIT */
/*
 * Beside processes of the Rust crate sfid, which keep no record: they take a pid whose registration is missing (SET NX EX 600),
 * show it again each 180 s (SET EX 600), and begin at sequence 0 of their clock's tick. Four meetings, in the default layout and
 * in the crate's later one, all of ours with registration=mixed:
 *
 *   ours closes, and the crate begins in the same tick      it takes another pid; our next process gets that one
 *   FLUSHALL, and the crate takes the pid                   ours stops at its next renewal, goes on with another pid
 *   the same with the registration alone gone               the same
 *   the crate has a pid first                               it is passed over
 *
 * Between the crate's claim and our renewal both may use the pid: that is the crate's doing, and no check here. With the default
 * registration=on an event says that registration=mixed is missing.
 */
#include "support/fleet.h"

enum { TTL = 200000, HEARTBEAT = 2000, PIDS = 8 };

static const char *layout_text;
static const char crate_value[] = "crate-host\1\2"; /* ends in two bytes */

static sfid_options crate_options(const struct redis *r, const char *app, const char *registration) {
    static char stores[8][240];
    static unsigned used;
    char *store = stores[used++ % COUNT_OF(stores)];
    sfid_options opt = fleet_lease(r, app, TTL, HEARTBEAT);
    snprintf(store, sizeof stores[0], "unix://%s?timeout=20s%s", r->socket, registration);
    opt.store = store;
    opt.pid_max = PIDS;
    return opt;
}

/* ---- the crate ------------------------------------------------------------------ */

static bool crate_takes(struct redis *r, const char *app, int64_t pid) {
    char key[100];
    const size_t size = registration_of(app, pid, key);
    const char *const args[] = {"SET", key, crate_value, "EX", "600", "NX"};
    const size_t sizes[] = {3, size, sizeof crate_value - 1, 2, 3, 2};
    return strcmp(redis_text_n(r, COUNT_OF(args), args, sizes), "OK") == 0;
}

/* The first pid from `first` on that has no registration, as it looks for one; -1: none. */
static int64_t crate_begins(struct redis *r, const char *app, int64_t first) {
    for (int64_t pid = first; pid <= PIDS; pid++)
        if (crate_takes(r, app, pid))
            return pid;
    return -1;
}

/* ---- the meetings ---------------------------------------------------------------- */

static void test_close(struct redis *r, int rounds) {
    const sfid_options opt = crate_options(r, "close", "&registration=mixed");
    int same = 0, other = 0, back = 0, met = 0, i = 0;
    for (; i < rounds || (met == 0 && i < 10 * rounds); i++) {
        struct member *m = member_drawing(&opt);
        const int64_t pid = atomic_load(&m->pid);
        m->opt.pid_min = m->opt.pid_max = pid;
        other += member_end(m) != 0;
        const uint64_t last = id_tick(&layout, atomic_load(&m->last_id));
        const int64_t taken = crate_begins(r, "close", pid);
        const bool in_tick = tick_now(&layout) <= last;
        met += in_tick;
        same += taken == pid && in_tick;
        if (taken >= 0)
            registration_text(r, "DEL", "close", taken);
        back += member_open_one(m) == 0 && member_draws(m, 1, TAP_WAIT_MS) && atomic_load(&m->pid) == pid;
        other += member_end(m) != 0;
    }
    ok(met > 0, "closed: the crate begins in the same tick (%d of %d times)", met, i);
    is_i64(same, 0, "closed, then the crate in the same tick: never with that pid");
    is_i64(back, i, "closed: our next process gets it");
    is_i64(other, 0, "closed: all end well");
    judge(layout_text, "per-file", UINT64_MAX, "closed");
}

/*
 * Ours notices at its next renewal. After a flush only a pid that was released since is to be had: that of another of ours. Of
 * that one's next two renewals the second was surely sent after the loss.
 */
static void stops_sharing(struct redis *r, const char *app, void (*lose)(struct redis *r, const char *app, int64_t pid),
                          const char *what) {
    const sfid_options opt = crate_options(r, app, "&registration=mixed");
    struct member *m = member_drawing(&opt), *friend = members_new(1, &opt);
    on_host(&friend->opt, 1);
    member_open_or_die(friend);
    const int64_t pid = atomic_load(&m->pid);
    ok(member_had(m, SFID_EVENT_RENEWED, 1, TAP_WAIT_MS), "%s: a holder renews", what);
    const int from = atomic_load(&m->events);
    bool taken = false;
    for (int tries = 0; tries < 20 && !taken; tries++) { /* the holder may have shown it again */
        lose(r, app, pid);
        taken = crate_takes(r, app, pid);
    }
    const int renewed = events_of(friend, SFID_EVENT_RENEWED);
    ok(taken, "%s: the crate takes its pid", what);
    ok(member_had(friend, SFID_EVENT_RENEWED, renewed + 2, TAP_WAIT_MS), "%s: another one renews", what);
    is_i64(member_end(friend), 0, "%s: and closes", what);
    const struct seen *lost = member_event(m, SFID_EVENT_LOST, from, TAP_WAIT_MS);
    ok(lost && lost->code == SFID_ELEASE && strstr(lost->text, "keeps no record"), "%s: the holder stops at its next renewal",
       what);
    ok(member_had(m, SFID_EVENT_LEASED_AGAIN, 1, TAP_WAIT_MS) && member_draws(m, 10, TAP_WAIT_MS), "%s: and goes on", what);
    ok(atomic_load(&m->pid) != pid, "%s: with another pid", what);
    is_i64(events_of(m, SFID_EVENT_FOREIGN), 0, "%s: no event asks for registration=mixed", what);
    char key[100];
    const size_t sizes[] = {3, registration_of(app, pid, key)};
    is_str(redis_text_n(r, 2, (const char *const[]){"GET", key}, sizes), crate_value, "%s: the crate's registration stays", what);
    is_i64(atomic_load(&m->errors), 0, "%s: no call failed", what);
    is_i64(member_end(m), 0, "%s: it ends well", what);
    judge(layout_text, "per-file", UINT64_MAX, what);
}

static void flush(struct redis *r, const char *app, int64_t pid) {
    (void)app;
    (void)pid;
    redis_do(r, "FLUSHALL", NULL);
}

static void evict(struct redis *r, const char *app, int64_t pid) { registration_text(r, "DEL", app, pid); }

static void test_first(struct redis *r) {
    const sfid_options opt = crate_options(r, "first", "&registration=mixed");
    for (int64_t pid = 1; pid < PIDS; pid++)
        must(crate_takes(r, "first", pid), "the crate gets no pid");
    struct member *m = member_drawing(&opt);
    is_i64(atomic_load(&m->pid), PIDS, "the crate has all pids but one: ours gets that");
    is_i64(member_end(m), 0, "and ends well");
}

/* ---- without registration=mixed ------------------------------------------------- */

struct looking {
    struct redis *r;
    uint64_t before;
};

static bool has_looked(void *arg) {
    const struct looking *l = arg;
    return evals(l->r) > l->before;
}

static void test_default(struct redis *r) {
    sfid_options opt = crate_options(r, "plain", "");
    struct member *m = members_new(1, &opt);
    for (int64_t pid = 1; pid <= PIDS; pid++)
        must(crate_takes(r, "plain", pid), "the crate gets no pid");
    struct looking looking = {r, evals(r)};
    member_start(m);
    must(tap_wait_until(has_looked, &looking, TAP_WAIT_MS), "nobody asks for a pid");
    registration_text(r, "DEL", "plain", 3);
    ok(flag_wait(&m->opened, 1, TAP_WAIT_MS) && m->rc == 0, "registration=on: a pid is had that the crate gave up: %s", m->text);
    const struct seen *e = member_event(m, SFID_EVENT_FOREIGN, 0, TAP_WAIT_MS);
    ok(e && strstr(e->text, "registration=mixed"), "registration=on: an event asks for registration=mixed");
    ok(e && e->value >= 1 && e->value <= PIDS, "registration=on: and names a pid of the crate");
    if (e)
        diag("%s", e->text);
    ok(member_had(m, SFID_EVENT_FOREIGN, 1, TAP_WAIT_MS) && events_of(m, SFID_EVENT_FOREIGN) == 1,
       "registration=on: it is reported once");
    is_i64(member_end(m), 0, "registration=on: ends well");
}

static void test_layout(struct redis *r, const char *text) {
    layout_text = text;
    layout = layout_of(text);
    diag("%s", text);
    test_close(r, (int)sized(5, 10, 3));
    stops_sharing(r, "flushed", flush, "flushed");
    stops_sharing(r, "evicted", evict, "evicted");
    test_first(r);
    test_default(r);
    judge(text, "per-file", UINT64_MAX, "beside the crate");
    redis_do(r, "FLUSHALL", NULL);
}

static void test_crate(struct redis *r) {
    test_layout(r, "36:11:17/1s");
    test_layout(r, "35:10:19/1s");
}

int main(void) { return fleet_main("36:11:17/1s", 0, 0, test_crate); }
