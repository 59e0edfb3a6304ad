/* SPDX-License-Identifier: MIT */
#include "support/clients.h"

/* ---- inside -------------------------------------------------------------- */

static void client_event(void *user, const sfid_event *e) {
    struct client *m = user;
    if (e->kind == SFID_EVENT_RENEW_FAILED) {
        snprintf(m->failed_text, sizeof m->failed_text, "%s", e->text);
        atomic_store(&m->failed_code, e->code);
    }
    if (e->pid >= 0)
        atomic_store(&m->pid, e->pid);
    atomic_fetch_add(&m->events[(unsigned)e->kind % EVENT_KINDS], 1);
}

sfid_options client_options(struct client *m, const sfid_layout *l) {
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
    opt.on_event = client_event;
    opt.user = m;
    return opt;
}

/* Generates until told to end, a few at a time, so that many clients can do so on one machine. */
static void client_draw(struct client *m, sfid *g, struct idlog *log) {
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

static int client_main(void *arg) {
    struct client *m = arg;
    struct idlog log;
    sfid *g = NULL;
    const sfid_layout l = layout_of(m->layout ? m->layout : LAYOUT);
    const sfid_options opt = client_options(m, &l);
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
    client_draw(m, g, &log);
    began = mono_ns();
    sfid_close(g);
    atomic_store(&m->close_ms, (mono_ns() - began) / NS_PER_MS);
    atomic_store(&m->closed, 1);
    return 0;
}

/* ---- outside ------------------------------------------------------------- */

struct client *clients_make(size_t n) {
    return shared_memory(n * sizeof(struct client));
}

void client_set(struct client *m, const char *socket, const char *app, const char *log) {
    *m = (struct client){.ttl_ms = WINDOW_MS,
                         .heartbeat_ms = HEARTBEAT_MS,
                         .budget_ms = BUDGET_MS,
                         .open_timeout_ms = 3 * WAIT_MOST_MS,
                         .max_skew_ms = 300000};
    snprintf(m->store, sizeof m->store, "unix://%s?timeout=%d", socket, EXCHANGE_MS);
    snprintf(m->app, sizeof m->app, "%s", app);
    snprintf(m->log, sizeof m->log, "%s", log);
}

void client_start(struct client *m) {
    atomic_store(&m->opened, 0);
    atomic_store(&m->end, 0);
    atomic_store(&m->closed, 0);
    atomic_store(&m->gap_ms, 0);
    atomic_store(&m->errors, 0);
    m->starts++;
    m->process = child_start(client_main, m);
}

bool client_has_opened(void *arg) { return atomic_load(&((struct client *)arg)->opened) != 0; }

bool client_opened(struct client *m, unsigned limit_ms) {
    const bool done = tap_wait_until(client_has_opened, m, patience(limit_ms));
    if (done && atomic_load(&m->opened) == 1)
        return true;
    diag("%s: %s", m->log, done ? m->error : "sfid_open() has not come back");
    return false;
}

void client_start_or_bail(struct client *m) {
    client_start(m);
    if (!client_opened(m, m->open_timeout_ms))
        bail("no holder");
}

static bool event_seen(void *arg) {
    const struct client_wait *w = arg;
    return atomic_load(&w->m->events[w->kind]) >= w->want;
}

bool client_event_after(struct client *m, sfid_event_kind kind, int before, int more, unsigned limit_ms) {
    return tap_wait_until(event_seen, &(struct client_wait){m, kind, before + more}, patience(limit_ms));
}

struct failure_wait {
    struct client *m;
    int failed, code; /* failed: earlier failed renewals */
    const char *words, *server;
};

static bool failure_seen(void *arg) {
    const struct failure_wait *w = arg;
    return atomic_load(&w->m->events[SFID_EVENT_RENEW_FAILED]) > w->failed && atomic_load(&w->m->failed_code) == w->code &&
           strstr(w->m->failed_text, w->words) && strstr(w->m->failed_text, w->server);
}

bool client_told(struct client *m, int failed, int code, const char *words, const char *server) {
    if (tap_wait_until(failure_seen, &(struct failure_wait){m, failed, code, words, server}, patience(WINDOW_MS)))
        return true;
    diag("%d: %s", atomic_load(&m->failed_code), m->failed_text);
    return false;
}

int client_events(const struct client *m, sfid_event_kind kind) { return atomic_load(&m->events[kind]); }

static bool ids_seen(void *arg) {
    const struct client_wait *w = arg;
    return atomic_load(&w->m->ids) >= w->want;
}

bool client_draws(struct client *m, int64_t more, unsigned limit_ms) {
    return tap_wait_until(ids_seen, &(struct client_wait){.m = m, .want = atomic_load(&m->ids) + more}, patience(limit_ms));
}

void client_forget_gaps(struct client *m) {
    atomic_store(&m->gap_ms, 0);
    atomic_store(&m->errors, 0);
    atomic_store(&m->last_error, 0);
}

int client_end(struct client *m) {
    if (m->process == 0)
        return 0;
    atomic_store(&m->end, 1);
    const int status = child_wait(m->process, patience(20000));
    m->process = 0;
    if (status != 0)
        diag("%s: ended with %d", m->log, status);
    return status;
}

void client_kill(struct client *m) {
    child_kill(m->process);
    m->process = 0;
}

void client_stop(const struct client *m) { kill(m->process, SIGSTOP); }

void client_go_on(const struct client *m) { kill(m->process, SIGCONT); }
