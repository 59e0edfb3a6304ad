/* SPDX-License-Identifier: MIT */
/*
 * What `sfid serve` and `sfid exec` make of their flags, for the cells that tests/options names
 * this test for. Each command runs until it has a pid. Then its mark shows how far ahead it is. A
 * server refuses what differs from the settings that an app has there.
 *
 * One size.
 */
#include "support/cells.h"
#include "support/fleet.h"

enum {
    DEFAULT_LEAD_MS = 30000,
    DEFAULT_AHEAD_MS = 10000,
    BUDGET_MS = 700,
    TTL_MS = 27000,
    SHORT_MS = 9000
};
enum { PIDS = 6 };

static struct redis server;

/* A command with all the flags of these options that it has, and what is seen of it. Times are Unix
 * milliseconds. */
struct run {
    const struct cell_store *store;
    const char *kind;
    char app[40], text[400], listen[200];
    /* ahead_ms: how far its mark should be ahead of the clock */
    int64_t began_ms, seen_ms, mark_ms, ahead_ms;
    pid_t child;
    bool leased;
};

#define OF "%s, %s"
#define NAMES(r) (r)->store->name, (r)->kind

static int command(void *arg) {
    struct run *r = arg;
    const bool serves = strcmp(r->kind, "serve") == 0;
    const char *const argv[] = {sfid_program(),
                                r->kind,
                                serves ? "--listen" : "--grace-ms",
                                serves ? r->listen : "500",
                                r->store->text ? "--store" : "--pid",
                                r->store->text ? r->text : "3",
                                "--app",
                                r->app,
                                "--layout",
                                cell_layout,
                                "--ttl-ms",
                                "27000",
                                "--short-ms",
                                "9000",
                                "--skew-budget-ms",
                                "700",
                                serves ? NULL : "--",
                                "sleep",
                                "1000",
                                NULL};
    execv(sfid_program(), (char **)(uintptr_t)argv);
    return DIED;
}

/* True once a server has granted it a pid, or its mark lies ahead of the clock; or once it has
 * ended. */
static bool is_seen(void *arg) {
    struct run *r = arg;
    char record[RECORD];
    if (waitpid(r->child, NULL, WNOHANG) == r->child) {
        r->child = 0;
        return true;
    }
    if (!r->store->served) {
        r->mark_ms = (int64_t)mark_tick(r->app, CELL_PID, &layout) + layout.epoch_ms;
        return r->mark_ms > wall_ns() / NS_PER_MS;
    }
    for (int pid = 1; pid <= PIDS; pid++)
        r->leased = r->leased || strchr(record_of(&server, r->app, pid, record), ' ');
    return r->leased;
}

static void run(struct run *r) {
    snprintf(r->text, sizeof r->text, r->store->text ? r->store->text : "", server.socket);
    snprintf(r->listen, sizeof r->listen, "unix:%s/%s", dirs.shm, r->app);
    r->began_ms = wall_ns() / NS_PER_MS;
    r->child = child_start(command, r);
    tap_wait_until(is_seen, r, TAP_WAIT_MS);
    r->seen_ms = wall_ns() / NS_PER_MS;
    if (r->child)
        child_kill(r->child);
}

/* The app is known, and no process has a pid of it: a server would wait, and a mark that is lost is
 * waited out. */
static void make_known(struct run *r) {
    sfid_options opt = options_of(r->app, r->store->text ? -1 : CELL_PID, &layout);
    snprintf(r->text, sizeof r->text, r->store->text ? r->store->text : "", server.socket);
    opt.store = r->store->text ? r->text : NULL;
    opt.ttl_ms = TTL_MS;
    opt.short_ms = SHORT_MS;
    opt.skew_budget_ms = BUDGET_MS;
    opt.heartbeat_ms = TTL_MS / 3;
    opt.open_timeout_ms = TAP_WAIT_MS;
    opt.on_unknown = SFID_TRUST;
    sfid_close(open_or_die(&opt));
}

/* Between the two looks at the clock. */
static void judge_mark(const struct run *r, const char *what) {
    const int64_t at = r->mark_ms - r->ahead_ms;
    if (!ok(at >= r->began_ms && at <= r->seen_ms, "%s: " OF, what, NAMES(r)))
        diag("%" PRId64 " ms after its start, %" PRId64 " ms before it was seen", at - r->began_ms,
             r->seen_ms - at);
}

static void judge_lease(const struct run *r) {
    static const char *const options[] = {"ttl_ms", "skew_budget_ms", "short_ms"};
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (cell_given(options[i], NAMES(r)))
            ok(r->leased, "%s: a server where the app has this value grants a pid: " OF, options[i],
               NAMES(r));
}

/* Cells of a command that was left out. */
static void skip_command(const struct cell_store *store, const char *kind) {
    static const char *const options[] = {"ttl_ms", "short_ms", "skew_budget_ms", "lead_ms"};
    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (cell_given(options[i], store->name, kind))
            skip(1, "built without libuv");
}

static void try_command(const struct cell_store *store, const char *kind) {
    struct run r = {.store = store, .kind = kind};
    r.ahead_ms = (store->text ? CELL_LEAD_MS : DEFAULT_LEAD_MS) + DEFAULT_AHEAD_MS + 1;
    snprintf(r.app, sizeof r.app, "%s-%s", store->name, kind);
    if (!store->served && cell_given("skew_budget_ms", NAMES(&r))) {
        struct run unmarked = r;
        unmarked.ahead_ms += BUDGET_MS;
        snprintf(unmarked.app, sizeof unmarked.app, "new-%s-%s", store->name, kind);
        run(&unmarked);
        judge_mark(&unmarked, "skew_budget_ms: a pid without a mark waits for so much");
    }
    make_known(&r);
    run(&r);
    if (store->served)
        judge_lease(&r);
    else if (cell_given("lead_ms", NAMES(&r)))
        judge_mark(&r, "lead_ms: the mark is so far ahead of the clock");
}

int main(void) {
    fleet_begin(cell_layout);
    setenv("SFID_RUN_DIR", dirs.run, 1);
    setenv("SFID_STATE_DIR", dirs.state, 1);
    cells_begin("tests/fleet/flags");
    setenv("SFID_TEST_NUMBER", "3", 1);
    redis_start(&server, servers.installed[0], "fleet", 0, "--user", "low", "on", ">pw", "~sfid:*",
                "+@all", "--user", "high", "on", ">pw", "~sfid:*", "+@all", NULL);
    const bool serves = sfid_has("serve");
    for (size_t i = 0; i < CELL_STORES; i++) {
        (serves ? try_command : skip_command)(&cell_stores[i], "serve");
        if (cell_stores[i].text)
            try_command(&cell_stores[i], "exec");
    }
    redis_kill(&server);
    cells_end();
    return done_testing();
}
