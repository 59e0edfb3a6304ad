/* SPDX-License-Identifier: MIT */
#include "support/faults.h"

uint64_t faults_begin(void) {
    const uint64_t random = fleet_begin(LAYOUT);
    servers.n = servers.n < SERVERS ? servers.n : SERVERS;
    return random;
}

int faults_end(const char *what) {
    if (servers.n > 0)
        judge(LAYOUT, "per-file", UINT64_MAX, what);
    return done_testing();
}

static uint32_t window_of(const char *store) {
    return store && !strstr(store, "?timeout=") && !strstr(store, "&timeout=") ? PATIENT_WINDOW_MS : WINDOW_MS;
}

sfid_options fault_options(const char *app, const char *store) {
    sfid_options opt = options_of(app, -1, &layout);
    opt.store = store;
    opt.ttl_ms = window_of(store);
    opt.heartbeat_ms = HEARTBEAT_MS;
    opt.skew_budget_ms = BUDGET_MS;
    opt.open_timeout_ms = 3 * WAIT_MOST_MS;
    opt.on_unknown = SFID_WAIT_OUT;
    return opt;
}

/* Has the member's options point to its own texts. */
static void settle(struct member *m, int64_t pid_min, int64_t pid_max) {
    m->opt.app = m->app;
    m->opt.store = m->store;
    m->opt.pid_min = pid_min;
    m->opt.pid_max = pid_max;
}

struct member *member_at(const char *app, int64_t pid, const char *store, ...) {
    const sfid_options opt = fault_options(NULL, NULL);
    struct member *m = members_new(1, &opt);
    va_list args;
    va_start(args, store);
    vsnprintf(m->store, sizeof m->store, store, args);
    va_end(args);
    snprintf(m->app, sizeof m->app, "%s", app);
    snprintf(m->name, sizeof m->name, "%s", app);
    m->opt.ttl_ms = window_of(m->store);
    settle(m, pid < 0 ? 0 : pid, pid < 0 ? 0 : pid);
    return m;
}

struct member *members_at(const char *socket, const char *app, size_t number, size_t n, int64_t pids, const char *const *names) {
    const sfid_options opt = fault_options(NULL, NULL);
    struct member *all = members_new(n, &opt);
    for (size_t i = 0; i < n; i++) {
        struct member *m = &all[i];
        snprintf(m->store, sizeof m->store, "unix://%s?timeout=%d", socket, EXCHANGE_MS);
        snprintf(m->app, sizeof m->app, "%s-%zu", app, number);
        snprintf(m->name, sizeof m->name, "%s-%zu-%zu", names ? names[i] : app, number, i);
        settle(m, pids * (int64_t)number, pids * (int64_t)(number + 1) - 1);
    }
    return all;
}

int members_end(struct member *all, size_t n) {
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        atomic_store(&all[i].may_end, 1);
    for (size_t i = 0; i < n; i++)
        bad += member_end(&all[i]) != 0;
    return bad;
}

void lead_to(const char *link, const char *socket) {
    char next[160];
    snprintf(next, sizeof next, "%s.next", link);
    unlink(next);
    need(symlink(socket, next) >= 0 && rename(next, link) >= 0, "%s: %s", link, strerror(errno));
}

void cut_clients(struct redis *r) { redis_do(r, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL); }
