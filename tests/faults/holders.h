/* SPDX-License-Identifier: MIT */
/*
 * holders.h - processes that lease from a server through the public library, and draw; what each of them lives through.
 *
 * A struct member is what a test and one such process share: the settings before it starts, then how long it took to open,
 * its pid, its events, its errors, and the longest time between two IDs. All IDs are logged for tests/checker. A member ends
 * when it is told to, closing its handle; or dies.
 */
#ifndef SFID_TESTS_HOLDERS_H
#define SFID_TESTS_HOLDERS_H

#include "proc/proc.h"
#include "redis.h"

#define LAYOUT "39:8:16/10ms"

enum { EVENT_KINDS = 32, LOG_IDS = 1 << 20, SLACK_MS = SANITIZED ? 4000 : 1500 }; /* SLACK_MS: what a loaded machine adds */

/* Lease settings of these tests: W, H and S of the documents. They are the same for all of an app. */
enum { WINDOW_MS = 3000, HEARTBEAT_MS = 900, BUDGET_MS = 1000, EXCHANGE_MS = 500, UNIT_MS = 10, JITTER_MS = 1000 };

/* How long a claim of an unknown pid may have to wait: until every window granted before has ended, and until it looks again. */
enum { WAIT_MS = WINDOW_MS + BUDGET_MS + UNIT_MS, WAIT_MOST_MS = WAIT_MS + JITTER_MS };

struct member {
    char store[300], app[40], log[64];
    uint32_t ttl_ms, heartbeat_ms, budget_ms, open_timeout_ms, max_skew_ms;
    bool trust;
    int64_t pid_min, pid_max;
    const char *layout; /* NULL: LAYOUT */
    pid_t process;      /* 0: none */
    int starts;

    _Atomic int opened; /* 0: not yet; 1: it is; else the code that it failed with */
    _Atomic int end, closed;
    _Atomic int64_t open_ms, close_ms, pid, ids, gap_ms, errors, last_error, first_lead_ms;
    _Atomic int events[EVENT_KINDS];
    _Atomic int failed_code; /* of the last SFID_EVENT_RENEW_FAILED; then its text is there */
    char failed_text[600], error[600];
};

/* ---- inside -------------------------------------------------------------- */

static inline void member_event(void *user, const sfid_event *e) {
    struct member *m = user;
    if (e->kind == SFID_EVENT_RENEW_FAILED) {
        snprintf(m->failed_text, sizeof m->failed_text, "%s", e->text);
        atomic_store(&m->failed_code, e->code);
    }
    if (e->pid >= 0)
        atomic_store(&m->pid, e->pid);
    atomic_fetch_add(&m->events[(unsigned)e->kind % EVENT_KINDS], 1);
}

static inline sfid_options member_options(struct member *m, const sfid_layout *l) {
    sfid_options opt = options_of(m->app, -1, l);
    opt.store = m->store;
    opt.ttl_ms = m->ttl_ms;
    opt.heartbeat_ms = m->heartbeat_ms;
    opt.skew_budget_ms = m->budget_ms;
    opt.open_timeout_ms = m->open_timeout_ms;
    opt.max_skew_ms = m->max_skew_ms;
    opt.pid_min = m->pid_min;
    opt.pid_max = m->pid_max;
    opt.on_unknown = m->trust ? SFID_TRUST : SFID_WAIT_OUT;
    opt.on_event = member_event;
    opt.user = m;
    return opt;
}

/* Draws until told to end; a few at a time, so that many can do so on one machine. */
static inline void member_draw(struct member *m, sfid *g, struct idlog *log) {
    int64_t last = mono_ns();
    while (!atomic_load(&m->end)) {
        for (int i = 0; i < 4; i++) {
            const int64_t id = sfid_next(g), now = mono_ns();
            if (id < 0) {
                atomic_store(&m->last_error, id);
                atomic_fetch_add(&m->errors, 1);
                break;
            }
            idlog_put(log, id);
            atomic_fetch_add(&m->ids, 1);
            raise_to(&m->gap_ms, (now - last) / NS_PER_MS);
            last = now;
        }
        nap_us(2000);
    }
    raise_to(&m->gap_ms, (mono_ns() - last) / NS_PER_MS);
}

static inline int member_main(void *arg) {
    struct member *m = arg;
    struct idlog log;
    sfid *g = NULL;
    const sfid_layout l = layout_of(m->layout ? m->layout : LAYOUT);
    const sfid_options opt = member_options(m, &l);
    log_start(&log, LOG_IDS, (uint64_t)m->starts, IDLOG_ANY_PID, "%s-%d", m->log, m->starts);
    int64_t began = mono_ns();
    const int rc = sfid_open(&g, &opt);
    atomic_store(&m->open_ms, (mono_ns() - began) / NS_PER_MS);
    if (rc < 0) {
        snprintf(m->error, sizeof m->error, "%s", sfid_last_error(g));
        atomic_store(&m->opened, rc);
        sfid_close(g);
        return 0;
    }
    atomic_store(&m->pid, sfid_pid(g));
    atomic_store(&m->opened, 1);
    member_draw(m, g, &log);
    began = mono_ns();
    sfid_close(g);
    atomic_store(&m->close_ms, (mono_ns() - began) / NS_PER_MS);
    atomic_store(&m->closed, 1);
    return 0;
}

/* ---- outside ------------------------------------------------------------- */

/* Zeroed memory for n of them, shared with their processes. */
static inline struct member *members_make(size_t n) { return shared_memory(n * sizeof(struct member)); }

/* The settings of these tests; the server by its socket. */
static inline void member_set(struct member *m, const char *socket, const char *app, const char *log) {
    *m = (struct member){.ttl_ms = WINDOW_MS,
                         .heartbeat_ms = HEARTBEAT_MS,
                         .budget_ms = BUDGET_MS,
                         .open_timeout_ms = 3 * WAIT_MOST_MS,
                         .max_skew_ms = 300000};
    snprintf(m->store, sizeof m->store, "unix://%s?timeout=%d", socket, EXCHANGE_MS);
    snprintf(m->app, sizeof m->app, "%s", app);
    snprintf(m->log, sizeof m->log, "%s", log);
}

static inline void member_start(struct member *m) {
    atomic_store(&m->opened, 0);
    atomic_store(&m->end, 0);
    atomic_store(&m->closed, 0);
    atomic_store(&m->gap_ms, 0);
    atomic_store(&m->errors, 0);
    m->starts++;
    m->process = child_start(member_main, m);
}

static inline bool member_has_opened(void *arg) { return atomic_load(&((struct member *)arg)->opened) != 0; }

/* Waits until it holds a pid. False, with a remark, when it does not come to that. */
static inline bool member_opened(struct member *m, unsigned limit_ms) {
    const bool done = tap_wait_until(member_has_opened, m, patience(limit_ms));
    if (done && atomic_load(&m->opened) == 1)
        return true;
    diag("%s: %s", m->log, done ? m->error : "sfid_open() has not come back");
    return false;
}

static inline void member_start_or_bail(struct member *m) {
    member_start(m);
    if (!member_opened(m, m->open_timeout_ms))
        bail("no holder");
}

struct member_wait {
    struct member *m;
    sfid_event_kind kind;
    int64_t want;
};

static inline bool event_seen(void *arg) {
    const struct member_wait *w = arg;
    return atomic_load(&w->m->events[w->kind]) >= w->want;
}

/* Waits until it has had that many more events of a kind than there were so far. */
static inline bool member_event_after(struct member *m, sfid_event_kind kind, int before, int more, unsigned limit_ms) {
    return tap_wait_until(event_seen, &(struct member_wait){m, kind, before + more}, patience(limit_ms));
}

struct failure_wait {
    struct member *m;
    int failed, code; /* failed: renewals that had failed before */
    const char *words, *server;
};

static inline bool failure_seen(void *arg) {
    const struct failure_wait *w = arg;
    return atomic_load(&w->m->events[SFID_EVENT_RENEW_FAILED]) > w->failed && atomic_load(&w->m->failed_code) == w->code &&
           strstr(w->m->failed_text, w->words) && strstr(w->m->failed_text, w->server);
}

/* Waits until an event tells of a renewal that failed like this. One that was under way may fail otherwise, before. */
static inline bool member_told(struct member *m, int failed, int code, const char *words, const char *server) {
    if (tap_wait_until(failure_seen, &(struct failure_wait){m, failed, code, words, server}, patience(WINDOW_MS)))
        return true;
    diag("%d: %s", atomic_load(&m->failed_code), m->failed_text);
    return false;
}

static inline int member_events(const struct member *m, sfid_event_kind kind) { return atomic_load(&m->events[kind]); }

static inline bool ids_seen(void *arg) {
    const struct member_wait *w = arg;
    return atomic_load(&w->m->ids) >= w->want;
}

/* Waits until it has drawn so many more IDs. */
static inline bool member_draws(struct member *m, int64_t more, unsigned limit_ms) {
    return tap_wait_until(ids_seen, &(struct member_wait){.m = m, .want = atomic_load(&m->ids) + more}, patience(limit_ms));
}

/* From here on gaps and errors count. */
static inline void member_forget_gaps(struct member *m) {
    atomic_store(&m->gap_ms, 0);
    atomic_store(&m->errors, 0);
    atomic_store(&m->last_error, 0);
}

/* Ends it by its own close; how that went: the exit status. */
static inline int member_end(struct member *m) {
    if (m->process == 0)
        return 0;
    atomic_store(&m->end, 1);
    const int status = child_wait(m->process, patience(20000));
    m->process = 0;
    if (status != 0)
        diag("%s: ended with %d", m->log, status);
    return status;
}

static inline void member_kill(struct member *m) {
    child_kill(m->process);
    m->process = 0;
}

static inline void member_stop(const struct member *m) { kill(m->process, SIGSTOP); }

static inline void member_go_on(const struct member *m) { kill(m->process, SIGCONT); }

/* The programs to test against that are there; the others are skipped. Returns how many. */
static inline size_t servers_installed(const char *found[], size_t room) {
    size_t n = 0;
    for (const char *const *program = redis_programs(); *program; program++) {
        if (!redis_installed(*program))
            skip(1, "no %s", *program);
        else if (n < room)
            found[n++] = *program;
    }
    return n;
}

#endif
