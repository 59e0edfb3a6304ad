/* SPDX-License-Identifier: MIT */
/*
 * What generators of wide IDs refuse and keep to: options; how many processes share a worker;
 * another epoch; a mark further ahead than it ever lies; a clock that goes back, with and without
 * leave to borrow; a sequence that is used up; the end of awsflake's time; calls for IDs of the
 * other width.
 *
 * The clock is moved by a preloaded shim.
 */
#include "support/disk.h"
#include "support/wide.h"

static sfid_wide_layout flake, awsflake, uuid7, flake_go;

static void move_clock(int64_t ms) { atomic_store(&disk.control->clock_offset_ns, ms * NS_PER_MS); }

/* ---- options ------------------------------------------------------------ */

static const struct wrong {
    const char *what, *app, *store;
    sfid_wide_layout *wide;
    int64_t pid, pid_max;
    sfid_exhaustion exhaustion;
    const char *in_text[2];
} wrongs[] = {
    {"flake with an app", "a", NULL, &flake, 1, 0, SFID_WAIT, {"flake takes no app", "NULL"}},
    {"flake with a server",
     NULL,
     "redis://127.0.0.1/0",
     &flake,
     1,
     0,
     SFID_WAIT,
     {"flake supports only", "\"local\""}},
    {"flake with a range of pids",
     NULL,
     NULL,
     &flake,
     1,
     3,
     SFID_WAIT,
     {"pid_max 3", "leases no pids"}},
    {"flake with a range of the store",
     NULL,
     "local?pid_min=0",
     &flake,
     1,
     0,
     SFID_WAIT,
     {"pid_min", "leases no pids"}},
    {"flake that borrows",
     NULL,
     NULL,
     &flake,
     1,
     0,
     SFID_BORROW,
     {"SFID_BORROW", "ahead of the clock"}},
    {"a worker below 0", NULL, NULL, &flake, -2, 0, SFID_WAIT, {"pid -2", "281474976710655"}},
    {"a worker of 49 bits",
     NULL,
     NULL,
     &flake,
     INT64_C(1) << 48,
     0,
     SFID_WAIT,
     {"pid 281474976710656", "281474976710655"}},
    {"flake-go with an app",
     "a",
     NULL,
     &flake_go,
     1,
     0,
     SFID_WAIT,
     {"flake-go takes no app", "NULL"}},
    {"awsflake without a worker",
     NULL,
     NULL,
     &awsflake,
     -1,
     0,
     SFID_WAIT,
     {"awsflake", "SFID_AWS_PID"}},
    {"a region above 31", NULL, NULL, &awsflake, 1 << 21, 0, SFID_WAIT, {"pid 2097152", "2097151"}},
    {"awsflake with a wrong parameter",
     NULL,
     "local?x=1",
     &awsflake,
     1,
     0,
     SFID_WAIT,
     {"x=1", "mark=none"}},
    {"uuid7 without pid and store", "a", NULL, &uuid7, -1, 0, SFID_WAIT, {"store", "pid"}},
    {"uuid7 with a pid too high", "a", NULL, &uuid7, 65536, 0, SFID_WAIT, {"pid 65536", "65535"}},
};

static void refused(const struct wrong *w) {
    sfid_options opt = options_of(w->app, w->pid, NULL);
    opt.store = w->store;
    opt.wide = w->wide;
    opt.pid_max = w->pid_max;
    opt.exhaustion = w->exhaustion;
    sfid *g = NULL;
    sfid_wide id;
    is_i64(sfid_open(&g, &opt), SFID_EINVAL, "%s: refused", w->what);
    const char *text = sfid_last_error(g);
    ok(strstr(text, w->in_text[0]) && strstr(text, w->in_text[1]), "%s: \"%s\"", w->what, text);
    ok(g && sfid_next_wide(g, &id) == SFID_ECLOSED && sfid_pid(g) == SFID_ECLOSED,
       "%s: a handle that is closed", w->what);
    sfid_close(g);
}

static void bad_options(void) {
    sfid_wide_layout broken = {SFID_FLAKE, 0, 5};
    sfid *g = NULL;
    for (size_t i = 0; i < COUNT_OF(wrongs); i++)
        refused(&wrongs[i]);
    sfid_options opt = options_of("a", 1, NULL);
    opt.wide = &uuid7;
    opt.layout = &SFID_LAYOUT_DEFAULT;
    is_i64(sfid_open(&g, &opt), SFID_EINVAL, "both layouts are refused");
    sfid_close(g);
    opt.layout = NULL;
    opt.wide = &broken;
    is_i64(sfid_open(&g, &opt), SFID_EINVAL, "so is one that breaks a rule");
    sfid_close(g);
}

/* ---- the other width ------------------------------------------------------ */

/* SFID_EINVAL from each call for wide IDs, and a sentence that names the calls for the others. */
static void narrow_handle(void) {
    sfid_wide id = {1, 2};
    sfid_status_info st;
    const sfid_options opt = options_of("narrow", 1, NULL);
    sfid *g = open_or_die(&opt);
    is_i64(sfid_next_wide(g, NULL), SFID_EINVAL, "no place for the ID");
    is_i64(sfid_next_n_wide(g, NULL, 1), SFID_EINVAL, "nor for IDs");
    is_i64(sfid_next_n_wide(g, &id, 0), 0, "none asked for");
    is_str(sfid_last_error(g), "", "64 bits: no error so far");
    is_i64(sfid_next_wide(g, &id), SFID_EINVAL, "64 bits: sfid_next_wide()");
    is_i64(sfid_try_next_wide(g, &id), SFID_EINVAL, "64 bits: sfid_try_next_wide()");
    is_i64(sfid_next_n_wide(g, &id, 1), SFID_EINVAL, "64 bits: sfid_next_n_wide()");
    ok(id.high == 1 && id.low == 2, "64 bits: nothing was written");
    ok(strstr(sfid_last_error(g), "64 bits: call sfid_next()") != NULL, "64 bits: \"%s\"",
       sfid_last_error(g));
    ok(sfid_status(g, &st) == 0 && st.last_code == SFID_EINVAL && st.issued == 0,
       "64 bits: no number was used up");
    ok(sfid_next(g) >= 0, "64 bits: sfid_next() goes on");
    sfid_close(g);
    is_i64(sfid_next_wide(g, &id), SFID_ECLOSED, "64 bits: closed");
}

/* Likewise the other way round. */
static void wide_handle(const struct kind *k, const sfid_wide_layout *l) {
    int64_t ids[2] = {7, 7};
    sfid_lane *lane = NULL;
    sfid_status_info st;
    sfid_wide first, id;
    const sfid_options opt = wide_options(k, l);
    sfid *g = open_or_die(&opt);
    is_i64(wide_within(g, &first, TAP_WAIT_MS), 0, "%s: an ID", k->name);
    int wrong = 0;
    for (int i = 0; i < 1000; i++)
        wrong += sfid_next(g) != SFID_EINVAL || sfid_try_next(g) != SFID_EINVAL;
    is_i64(wrong, 0, "%s: sfid_next(), sfid_try_next()", k->name);
    is_i64(sfid_next_n(g, ids, 2), SFID_EINVAL, "%s: sfid_next_n()", k->name);
    ok(ids[0] == 7 && ids[1] == 7, "%s: nothing was written", k->name);
    is_i64(sfid_lane_open(&lane, g), SFID_EINVAL, "%s: no lane", k->name);
    ok(strstr(sfid_last_error(g), "128 bits: call sfid_next_wide()") != NULL, "%s: \"%s\"", k->name,
       sfid_last_error(g));
    ok(sfid_status(g, &st) == 0 && st.last_code == SFID_EINVAL && st.issued == 1,
       "%s: no number was used up", k->name);
    ok(wide_within(g, &id, TAP_WAIT_MS) == 0 && sfid_wide_compare(first, id) < 0, "%s: it goes on",
       k->name);
    ok(sfid_retry_ms(g) >= 0, "%s: sfid_retry_ms() is for both widths", k->name);
    sfid_close(g);
    is_i64(sfid_next_wide(g, &id), SFID_ECLOSED, "%s: closed", k->name);
    is_i64(sfid_next(g), SFID_ECLOSED, "%s: for calls of the other width, too", k->name);
    is_i64(sfid_retry_ms(g), SFID_ECLOSED, "%s: and sfid_retry_ms()", k->name);
}

/* ---- who shares what ------------------------------------------------------ */

/* Opens as many as there can be, all in this process: a handle is as good as a process. */
static void parts(const struct kind *k, const sfid_wide_layout *l, int most) {
    enum { MOST = 20 };
    sfid *all[MOST];
    const sfid_options opt = wide_options(k, l);
    struct drawn *d = drawn_new(MOST * 100);
    uint64_t seen = 0;
    int n = 0, rc = 0;
    while (n < MOST && (rc = sfid_open(&all[n], &opt)) == 0) {
        sfid_status_info st;
        seen |= sfid_status(all[n], &st) == 0 ? UINT64_C(1) << st.pid : 0;
        for (int i = 0; i < 100; i++)
            drawn_add(d, all[n]);
        ok(sfid_pid(all[n]) == k->pid, "%s: part %d has the worker that was given", k->name, n);
        n++;
    }
    is_i64(n, most, "%s: so many processes share a worker", k->name);
    is_i64(rc, SFID_ENOPID, "%s: one more is refused", k->name);
    diag("%s", sfid_last_error(all[n]));
    is_u64(seen, (UINT64_C(1) << most) - 1, "%s: each has a part of its own", k->name);
    is_u64(d->count, (uint64_t)most * 100, "%s: all draw", k->name);
    is_u64(repeated(&d, 1, l), 0, "%s: none equal", k->name);
    for (int i = 0; i <= n && i < MOST; i++)
        sfid_close(all[i]);
}

static void another_epoch(void) {
    sfid_wide_layout other = wide_layout("awsflake@0");
    sfid *g = NULL;
    const sfid_options opt = wide_options(&kinds[1], &other);
    is_i64(sfid_open(&g, &opt), SFID_ELAYOUT, "awsflake: a worker keeps to one epoch");
    const char *text = sfid_last_error(g);
    ok(strstr(text, "another epoch") && strstr(text, "/awsflake-000000040102/layout"),
       "awsflake: \"%s\"", text);
    sfid_close(g);
}

/* ---- the clock ------------------------------------------------------------ */

static int draw_and_die(void *arg) {
    const struct kind *k = arg;
    const sfid_wide_layout l = wide_layout(k->name);
    sfid_options opt = wide_options(k, &l);
    sfid_wide id;
    return sfid_next_wide(open_or_die(&opt), &id) == 0 ? 0 : 1;
}

/* A process was killed while the clock was an hour ahead; afterwards that is right again. */
static void far_mark(const struct kind *k, const sfid_wide_layout *l) {
    sfid *g = NULL;
    sfid_wide id;
    const sfid_options opt = wide_options(k, l);
    move_clock(3600000);
    is_i64(child_run(draw_and_die, (void *)(uintptr_t)k, TAP_WAIT_MS), 0,
           "%s: a process draws an hour ahead", k->name);
    move_clock(0);
    is_i64(sfid_open(&g, &opt), SFID_ECLOCK, "%s: the next, with the clock set right, is refused",
           k->name);
    const char *text = sfid_last_error(g);
    ok(strstr(text, "pid-0 says 20") && strstr(text, "than a right clock writes it") &&
           strstr(text, "--pid 0 --clock-was-wrong`"),
       "%s: \"%s\"", k->name, text);
    sfid_close(g);
    move_clock(3600000 + 5000);
    is_i64(sfid_open(&g, &opt), 0, "%s: with less than its lead to wait for it opens", k->name);
    sfid_close(g);
    move_clock(3600000 + 40000);
    g = open_or_die(&opt);
    is_i64(sfid_next_wide(g, &id), 0, "%s: when the clock has passed the mark it draws", k->name);
    sfid_close(g);
    move_clock(0);
}

enum { BACK_MS = 600000 };

/*
 * max_ahead_ms is 10 s, and does not count. What is left of the tick may be used up; nothing comes
 * after, until the clock is where it was: no machine takes so long.
 */
static void backwards(const struct kind *k, const sfid_wide_layout *l) {
    enum { A_TICK = 4096 };
    sfid_options opt = wide_options(k, l);
    opt.max_wait_ms = 50;
    sfid_wide id, last;
    sfid_wide_parts before, after;
    sfid *g = open_or_die(&opt);
    int rc = wide_within(g, &last, TAP_WAIT_MS), n = 0;
    ok(rc == 0 && sfid_wide_parse(l, last, &before) == 0, "%s: it draws", k->name);
    move_clock(-BACK_MS);
    /* that the library may have seen before */
    const int64_t latest_ms = wall_ns() / NS_PER_MS + BACK_MS;
    while (n <= A_TICK && (rc = sfid_next_wide(g, &id)) == 0 && ++n > 0)
        last = id;
    is_i64(rc, SFID_ECLOCK, "%s: 10 minutes back: refused", k->name);
    diag("%s: %d more of the tick it was in; then: %s", k->name, n, sfid_last_error(g));
    ok(sfid_wide_parse(l, last, &after) == 0 && after.unix_ms >= before.unix_ms &&
           after.unix_ms <= latest_ms,
       "%s: nothing ahead of the latest time seen", k->name);
    is_i64(sfid_try_next_wide(g, &id), SFID_ECLOCK, "%s: also without waiting", k->name);
    move_clock(0);
    is_i64(wide_within(g, &id, TAP_WAIT_MS), 0, "%s: the clock is back: it goes on", k->name);
    ok(sfid_wide_compare(last, id) < 0, "%s: above what was there", k->name);
    sfid_close(g);
}

/* uuid7 goes by its options: it borrows. */
static void borrowed(void) {
    const sfid_options opt = wide_options(&kinds[2], &uuid7);
    sfid_wide first, id;
    sfid *g = open_or_die(&opt);
    int rc = wide_within(g, &first, TAP_WAIT_MS);
    move_clock(-5000);
    for (int i = 0; i < 50000 && rc == 0; i++)
        rc = sfid_next_wide(g, &id);
    is_i64(rc, 0, "uuid7: 5 s back: it goes on");
    ok(sfid_wide_compare(first, id) < 0, "uuid7: and up");
    move_clock(0);
    sfid_close(g);
}

static void used_up(void) {
    sfid_options opt = wide_options(&kinds[0], &flake);
    sfid_wide id;
    opt.exhaustion = SFID_FAIL;
    sfid *g = open_or_die(&opt);
    int rc = wide_within(g, &id, TAP_WAIT_MS), n = 0;
    atomic_store(&disk.control->clock_fixed_ns, wall_ns()); /* one tick, for good */
    for (; rc == 0 && n <= 2 * 4096; n++)
        rc = sfid_try_next_wide(g, &id);
    is_i64(rc, SFID_EAGAIN, "flake: a tick has an end");
    ok(n <= 2 * 4096, "flake: after no more than 4096 of each of two ticks (%d)", n);
    atomic_store(&disk.control->clock_fixed_ns, 0);
    is_i64(wide_within(g, &id, TAP_WAIT_MS), 0, "flake: the next one comes");
    sfid_close(g);
}

static void past_end(void) {
    sfid *g = NULL;
    const sfid_options opt = wide_options(&kinds[1], &awsflake);
    const int64_t end_ms = SFID_AWSFLAKE_EPOCH_MS + (INT64_C(1) << 41);
    move_clock(end_ms - wall_ns() / NS_PER_MS + 1000);
    is_i64(sfid_open(&g, &opt), SFID_EOVERFLOW, "awsflake: past its end");
    diag("%s", sfid_last_error(g));
    sfid_close(g);
    move_clock(0);
}

/* ---- what a host goes by --------------------------------------------------- */

static void host(void) {
    uint64_t mac = 7;
    uint32_t ip = 7;
    sfid *g = NULL;
    sfid_options opt = options_of(NULL, -1, NULL);
    opt.wide = &flake;
    is_i64(sfid_mac_address("no-such-interface", &mac), SFID_EINVAL, "no such interface");
    is_i64(sfid_mac_address("lo", &mac), SFID_EINVAL, "loopback has no MAC address");
    is_i64(sfid_ipv4_address("no-such-interface", &ip), SFID_EINVAL, "no such interface");
    is_i64(sfid_mac_address(NULL, NULL), SFID_EINVAL, "no place for the address");
    is_i64(sfid_ipv4_address(NULL, NULL), SFID_EINVAL, "no place for the address");
    ok(mac == 7 && ip == 7, "nothing was written");
    const int rc = sfid_mac_address(NULL, &mac);
    const int opened = sfid_open(&g, &opt);
    ok(opened == rc && (rc == 0 || rc == SFID_EUNSUPPORTED),
       "flake without a worker takes the host's, or says that there is none");
    is_i64(sfid_pid(g), rc == 0 ? (int64_t)mac : SFID_ECLOSED,
           "the one that sfid_mac_address() tells");
    sfid_close(g);
}

int main(void) {
    uint64_t rng = 0;
    dirs_make();
    disk_begin(&rng);
    go_on_with_shim();
    flake = wide_layout("flake");
    awsflake = wide_layout("awsflake");
    flake_go = wide_layout("flake-go");
    uuid7 = wide_layout("uuid7");
    bad_options();
    narrow_handle();
    wide_handle(&kinds[0], &flake);
    wide_handle(&kinds[2], &uuid7);
    host();
    parts(&kinds[0], &flake, 16);
    parts(&kinds[1], &awsflake, 8);
    parts(&kinds[3], &flake_go, 16);
    another_epoch();
    backwards(&kinds[0], &flake);
    backwards(&kinds[1], &awsflake);
    borrowed();
    used_up();
    far_mark(&kinds[0], &flake);
    far_mark(&kinds[1], &awsflake);
    past_end();
    return done_testing();
}
