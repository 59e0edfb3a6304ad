/* SPDX-License-Identifier: MIT */
/*
 * An app moves while its processes run, as doc/relocate.md says: from one server to another, to a
 * pool, back to one server, to another range of pids. Processes are replaced one by one; half of
 * the new ones open before the old one closes. No open fails or waits, no ID comes twice, and each
 * process's IDs rise. A server forgets on the way, a process is killed, and processes with the old
 * URL start too late: they are refused. Processes that share a pid get a run directory of their own
 * with the new URL.
 *
 * One size: 6 processes, which are replaced 7 times. It waits for windows of killed processes, 4 s
 * each.
 */
#include "support/fleet.h"

#include <sfid/admin.h>

#define LAYOUT "39:7:10/10ms"
#define LOW "0-63"
#define HIGH "64-127"

enum {
    SERVERS = 2,
    MEMBERS = 6,
    TTL = 4000,
    HEARTBEAT = 800,
    SHORT = 1600,
    BUDGET = 300,
    TIMEOUT = 300,
    OPEN_MS = 1500
};
enum { A, B };

static struct redis server[SERVERS];

/* What all scenes have done. */
static unsigned opens, failed;
static int64_t ids;

static char why[SFID_WHY_LEN];

/* ---- stores -------------------------------------------------------------------- */

/* A server's URL; range: of pids=, or NULL. Valid until the eighth call after. */
static const char *at(unsigned k, const char *range) {
    static char urls[8][300];
    static unsigned used;
    char *url = urls[used++ % COUNT_OF(urls)];
    snprintf(url, sizeof urls[0], "unix://user-%u:pw@%s?timeout=%dms&connect_timeout=%dms%s%s", k,
             server[k].socket, TIMEOUT, TIMEOUT, range ? "&pids=" : "", range ? range : "");
    return url;
}

static const char *pool(void) {
    static char list[700];
    snprintf(list, sizeof list, "pool:" LOW "=%s " HIGH "=%s", at(A, NULL), at(B, NULL));
    return list;
}

static sfid_options options_at(const char *app, const char *store) {
    sfid_options opt = fleet_lease(&server[A], app, TTL, HEARTBEAT);
    opt.store = store;
    opt.pid_min = opt.pid_max = 0;
    opt.short_ms = SHORT;
    opt.skew_budget_ms = BUDGET;
    opt.on_unknown = SFID_WAIT_OUT;
    return opt;
}

/* ---- the operator's commands ----------------------------------------------------- */

/* A server that is late is asked again. */
static int asked(const sfid_options *opt, int flags) {
    int rc;
    do
        rc = sfid_app_init(opt, flags, NULL, why, sizeof why);
    while (rc == SFID_EREDIS);
    return rc;
}

static void begins(const char *app, const char *store, const char *what) {
    const sfid_options opt = options_at(app, store);
    is_i64(asked(&opt, 0), 0, "%s: sfid init", what);
}

static bool has_range(void *opt) {
    return sfid_app_init(opt, SFID_INIT_RANGE, NULL, why, sizeof why) == 0;
}

/* As `until sfid init --range …; do sleep 1; done`. */
static void takes_range(const char *app, const char *store, const char *what) {
    sfid_options opt = options_at(app, store);
    if (!ok(tap_wait_until(has_range, &opt, TAP_WAIT_MS), "%s: sfid init --range", what))
        diag("%s", why);
}

/* Some hold pids that would go: refused, or done if by chance all have others. */
static void range_waits(const char *app, const char *store, const struct member *all,
                        int64_t least) {
    const sfid_options opt = options_at(app, store);
    bool held = false;
    for (unsigned i = 0; i < MEMBERS; i++)
        held = held || atomic_load(&all[i].pid) >= least;
    is_i64(asked(&opt, SFID_INIT_RANGE), held ? SFID_EBUSY : 0,
           "a range waits for those who have other pids: %s", held ? why : "nobody has");
}

/* ---- processes --------------------------------------------------------------------- */

static void one_opens(struct member *m, struct took *longest) {
    opens++;
    member_start(m);
    if (!member_opens(m, TAP_WAIT_MS) || !member_draws(m, 1, TAP_WAIT_MS))
        failed++;
    *longest = took_longer(*longest, m->open);
}

static int64_t one_ends(struct member *m) {
    if (m->child != 0 && member_end(m) != 0)
        failed++;
    if (atomic_load(&m->errors) > 0)
        diag("%s: a call fails with %" PRIi64, m->name, atomic_load(&m->error));
    failed += atomic_load(&m->errors) > 0;
    ids += atomic_load(&m->ids);
    return atomic_load(&m->last_id);
}

static bool shared; /* opt.share, in this scene */
static unsigned generation;

/* With another run directory on the same host. */
static void apart(sfid_options *opt, unsigned number) {
    sfid_options other = *opt;
    on_host(&other, number);
    opt->run_dir = other.run_dir;
    opt->share = 1;
}

static struct member *fleet_of(const char *app, const char *store) {
    const sfid_options opt = options_at(app, store);
    struct member *all = members_new(MEMBERS, &opt);
    for (unsigned i = 0; i < MEMBERS; i++) {
        on_host(&all[i].opt, i % 3);
        if (shared)
            apart(&all[i].opt, i % 3 + (generation++ / MEMBERS % 2 ? 3 : 0));
        snprintf(all[i].name, sizeof all[i].name, "member %u at %s", i, store);
    }
    return all;
}

/* Replaces each process, if there are some, by one with another store. */
static struct member *roll(struct member *old, const char *app, const char *store,
                           const char *what) {
    struct member *all = fleet_of(app, store);
    const unsigned before = failed;
    struct took longest = {0, 0};
    unsigned late = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        int64_t last = 0;
        if (i % 2 || old == NULL)
            one_opens(&all[i], &longest);
        if (old)
            last = one_ends(&old[i]);
        if (i % 2 == 0 && old) {
            one_opens(&all[i], &longest);
            late += id_tick(&layout, atomic_load(&all[i].first_id)) < id_tick(&layout, last);
        }
    }
    is_u64(failed - before, 0, "%s: no open and no call fails", what);
    is_u64(late, 0, "%s: who follows a process begins in no earlier tick", what);
    in_time(longest, OPEN_MS, "%s: no open waits", what);
    return all;
}

static void all_in(const struct member *all, int64_t min, int64_t max, const char *what) {
    unsigned in = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        in += atomic_load(&all[i].pid) >= min && atomic_load(&all[i].pid) <= max;
    is_u64(in, MEMBERS, "%s: all have pids from %" PRIi64 " to %" PRIi64, what, min, max);
}

static void fleet_ends(struct member *all) {
    for (unsigned i = 0; i < MEMBERS; i++)
        one_ends(&all[i]);
    judge(LAYOUT, "per-file", UINT64_MAX, "all IDs so far");
}

/* Somebody starts with a URL of before. */
static void is_too_late(const char *app, const char *store, const char *range) {
    sfid *g = NULL;
    const sfid_options opt = options_at(app, store);
    is_i64(sfid_open(&g, &opt), SFID_ELAYOUT, "a process with an old URL is refused");
    const char *text = sfid_last_error(g);
    ok(strstr(text, range) && strstr(text, "sfid init --range"), "with a cure: %s", text);
    sfid_close(g);
}

static void killed(struct member *m) {
    member_kill(m);
    diag("killed with pid %" PRIi64, atomic_load(&m->pid));
}

/* ---- scenes --------------------------------------------------------------------- */

static void test_pool(void) {
    static const char app[] = "by-pool";
    fleet_forget();
    begins(app, at(A, NULL), "a plain URL");
    struct member *all = roll(NULL, app, at(A, NULL), "a plain URL");
    range_waits(app, at(A, LOW), all, 64);
    killed(&all[0]);
    all = roll(all, app, at(A, LOW), "to half of the pids");
    all_in(all, 0, 63, "to half of the pids");
    takes_range(app, at(A, LOW), "half of the pids");
    is_too_late(app, at(A, NULL), "pids " LOW);
    begins(app, at(B, HIGH), "the second server");
    all = roll(all, app, pool(), "from a plain URL to a pool");
    redis_do(&server[A], "FLUSHALL", NULL);
    all = roll(all, app, at(B, HIGH), "from a pool to a plain URL");
    all_in(all, 64, 127, "from a pool to a plain URL");
    takes_range(app, at(A, "0-0"), "the server that was left");
    is_too_late(app, at(A, NULL), "pids 0-0");
    takes_range(app, at(B, "1-127"), "nearly all pids");
    all = roll(all, app, at(B, "1-127"), "to nearly all pids");
    fleet_ends(all);
}

static void test_server(void) {
    static const char app[] = "direct";
    fleet_forget();
    begins(app, at(A, LOW), "half of the pids from the beginning");
    struct member *all = roll(NULL, app, at(A, LOW), "half of the pids");
    begins(app, at(B, HIGH), "another server with the other half");
    all = roll(all, app, at(B, HIGH), "from server to server");
    all_in(all, 64, 127, "from server to server");
    is_too_late(app, at(B, NULL), "pids " HIGH);
    fleet_ends(all);
}

static void test_range(void) {
    static const char app[] = "range";
    fleet_forget();
    begins(app, at(A, LOW), "a range");
    struct member *all = roll(NULL, app, at(A, LOW), "a range");
    takes_range(app, at(A, NULL), "all pids");
    killed(&all[2]);
    all = roll(all, app, at(A, HIGH), "from range to range");
    all_in(all, 64, 127, "from range to range");
    takes_range(app, at(A, HIGH), "the other range");
    is_too_late(app, at(A, LOW), "pids " HIGH);
    fleet_ends(all);
}

static void test_shared(void) {
    static const char app[] = "shared";
    fleet_forget();
    shared = true;
    begins(app, at(A, LOW), "shared pids");
    struct member *all = roll(NULL, app, at(A, LOW), "shared pids");
    begins(app, at(B, HIGH), "another server");
    all = roll(all, app, at(B, HIGH), "shared, from server to server");
    all_in(all, 64, 127, "shared, from server to server");
    fleet_ends(all);
}

int main(void) {
    fleet_begin(LAYOUT);
    for (unsigned k = 0; k < SERVERS; k++) {
        char name[16], user[16];
        snprintf(name, sizeof name, "server-%u", k);
        snprintf(user, sizeof user, "user-%u", k);
        redis_start(&server[k], servers.installed[0], name, 0, "--user", user, "on", ">pw",
                    "~sfid:*", "+@all", NULL);
    }
    test_pool();
    test_server();
    test_range();
    test_shared();
    diag("figure: %u opens, %" PRIi64 " IDs, %u failures", opens, ids, failed);
    for (unsigned k = 0; k < SERVERS; k++)
        redis_kill(&server[k]);
    return done_testing();
}
