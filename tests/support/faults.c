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

int pace = 1;

int64_t wait_most_ms(void) { return pace * (WINDOW_MS + BUDGET_MS) + UNIT_MS + JITTER_MS; }

sfid_options fault_options(const char *app, const char *store) {
    static char state[80];
    sfid_options opt = options_of(app, -1, &layout);
    /* what a disk takes is no part of these tests */
    snprintf(state, sizeof state, "%.60s/state", dirs.shm);
    opt.state_dir = state;
    opt.store = store;
    opt.ttl_ms = LONG_WINDOW_MS;
    opt.short_ms = 0;
    opt.heartbeat_ms = HEARTBEAT_MS;
    opt.skew_budget_ms = BUDGET_MS;
    opt.open_timeout_ms = TAP_WAIT_MS;
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
    need(pid != 0, "%s: 0 to 0 is no range, but all pids", app);
    va_start(args, store);
    vsnprintf(m->store, sizeof m->store, store, args);
    va_end(args);
    snprintf(m->app, sizeof m->app, "%s", app);
    snprintf(m->name, sizeof m->name, "%s", app);
    settle(m, pid < 0 ? 0 : pid, pid < 0 ? 0 : pid);
    return m;
}

struct member *members_at(const char *socket, const char *app, size_t number, size_t n,
                          int64_t pids, const char *const *names) {
    sfid_options opt = fault_options(NULL, NULL);
    opt.ttl_ms = (uint32_t)(pace * WINDOW_MS);
    opt.heartbeat_ms = (uint32_t)(pace * HEARTBEAT_MS);
    opt.skew_budget_ms = (uint32_t)(pace * BUDGET_MS);
    struct member *all = members_new(n, &opt);
    for (size_t i = 0; i < n; i++) {
        struct member *m = &all[i];
        snprintf(m->store, sizeof m->store, "unix://%s?timeout=%d", socket, pace * EXCHANGE_MS);
        /* nothing of an earlier play is found */
        snprintf(m->app, sizeof m->app, "%s-%zu-%d", app, number, pace);
        snprintf(m->name, sizeof m->name, "%s-%zu-%zu", names ? names[i] : app, number, i);
        /* 0 to 0 would be all pids */
        settle(m, pids * (int64_t)number + 1, pids * (int64_t)(number + 1));
    }
    return all;
}

static bool broken; /* a check of the scene has failed */

/* What a member heard, for who reads that a check failed. */
static void tell_events(const struct member *m) {
    const int n = atomic_load(&m->events);
    for (int i = n > EVENTS_KEPT ? n - EVENTS_KEPT : 0; i < n; i++) {
        const struct seen *e = &m->seen[i % EVENTS_KEPT];
        diag("%s: at %" PRId64 " ms: %s, pid %" PRId64 ", code %d, value %" PRId64 ", %" PRId64
             " ms of the window left: %s",
             m->name, e->at_ns / NS_PER_MS, sfid_event_name(e->kind), e->pid, e->code, e->value,
             e->left_ms, e->text);
    }
}

int members_end(struct member *all, size_t n) {
    int bad = 0;
    for (size_t i = 0; broken && i < n; i++)
        tell_events(&all[i]);
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

void cut_clients(struct redis *r) {
    redis_do(r, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL);
}

/* How much is left of the window that a member, which may be stopped, told of last. */
static int64_t window_left_ms(const struct member *m) {
    return (int64_t)(atomic_load(&m->limit) * layout.unit_ms) + layout.epoch_ms -
           wall_ns() / NS_PER_MS;
}

/* ---- scenes that a late machine spoils --------------------------------------- */

/* SPARE_MS: what windows have to spare, beside all that a scene does while they last. MOMENT_MS:
 * what a renewal takes. */
enum { NOTES = 1000, PLAYS = 4, SPARE_MS = 300, MOMENT_MS = 200, BROKEN_WAIT_MS = 500 };

static struct noted {
    enum { CONDITION, NUMBER, LIMIT, LEAST } kind;
    bool good;
    int64_t got, want;
    struct took took;
    char name[200];
} notes[NOTES];
static size_t noted;
static bool off;

static void put(struct noted what, const char *name, va_list args) {
    need(noted < NOTES, "more than %d notes", NOTES);
    vsnprintf(what.name, sizeof what.name, name, args);
    broken |= !what.good;
    notes[noted++] = what;
}

void note(bool cond, const char *name, ...) {
    va_list args;
    va_start(args, name);
    put((struct noted){.kind = CONDITION, .good = cond}, name, args);
    va_end(args);
}

void note_i64(int64_t got, int64_t want, const char *name, ...) {
    va_list args;
    va_start(args, name);
    put((struct noted){.kind = NUMBER, .good = got == want, .got = got, .want = want}, name, args);
    va_end(args);
}

void note_in_time(struct took took, int64_t limit_ms, const char *name, ...) {
    va_list args;
    va_start(args, name);
    const bool good = took.ms - took.stood_ms <= limit_ms;
    put((struct noted){.kind = LIMIT, .good = good, .want = limit_ms, .took = took}, name, args);
    va_end(args);
}

void note_lasted(struct took took, int64_t least_ms, const char *name, ...) {
    va_list args;
    va_start(args, name);
    put((struct noted){.kind = LEAST, .good = took.ms >= least_ms, .want = least_ms, .took = took},
        name, args);
    va_end(args);
}

/* Calls the scene off: something in it came too late. */
__attribute__((format(printf, 1, 2))) static void scene_off(const char *why, ...) {
    char text[200];
    va_list args;
    va_start(args, why);
    vsnprintf(text, sizeof text, why, args);
    va_end(args);
    diag("the machine came too late: %s", text);
    off = true;
}

unsigned scene_wait_ms(void) { return off || broken ? BROKEN_WAIT_MS : TAP_WAIT_MS; }

void member_go_on_in_time(const struct member *m) {
    const int64_t left = window_left_ms(m);
    if (left < pace * (BUDGET_MS + MOMENT_MS))
        scene_off("%s was stopped until %" PRId64 " ms before its window ends", m->name, left);
    member_go_on(m);
}

static void count(const struct noted *n) {
    if (n->kind == CONDITION)
        ok(n->good, "%s", n->name);
    else if (n->kind == NUMBER)
        is_i64(n->got, n->want, "%s", n->name);
    else if (n->kind == LIMIT)
        in_time(n->took, n->want, "%s", n->name);
    else
        lasted(n->took, n->want, "%s", n->name);
}

void play(void (*scene)(void), const char *what) {
    for (int plays = 1;; plays++, pace *= 2) {
        const int64_t began = tap_now_ms();
        noted = 0;
        off = broken = false;
        scene();
        const struct took took = took_since(began);
        judge(LAYOUT, "per-file", UINT64_MAX, what);
        if (plays == PLAYS || !(off || (broken && took.stood_ms > pace * SPARE_MS)))
            break;
        for (size_t i = 0; i < noted; i++)
            if (!notes[i].good)
                diag("not judged: %s", notes[i].name);
        diag("the machine stood still for %" PRId64 " ms of %" PRId64
             ": once more, with longer windows",
             took.stood_ms, took.ms);
    }
    for (size_t i = 0; i < noted; i++)
        count(&notes[i]);
    ok(!off, "%s: as it was meant", what);
    pace = 1;
}
