/* SPDX-License-Identifier: MIT */
/** listener.h - who listens in events.c: what it has heard, what was wrong with that, and how a
 * test waits for an event. */
#ifndef SFID_TESTS_LISTENER_H
#define SFID_TESTS_LISTENER_H

#include "support/proc.h"

enum { MOST = 400, TEXT_MOST = 600 };

static sfid_layout layout;

/* ---- who listens -------------------------------------------------------- */

struct seen {
    sfid_event_kind kind;
    int code;
    int64_t pid, value;
    char text[TEXT_MOST];
};

struct listener {
    struct seen seen[MOST];
    atomic_int n;              /* events so far; those past MOST are only counted */
    _Atomic(sfid *) g;         /* to be used inside, once it is known */
    atomic_int inside, closed; /* a callback runs; sfid_close has returned */
    _Atomic pid_t thread;
    /* at once; after the close; from another thread, or the caller's */
    atomic_int many, late, foreign;
    const char *app;
    atomic_int bad_texts, bad_apps, bad_calls, calls, by_kind[SFID_EVENT_KINDS];
    long linger_us;        /* in the callback */
    bool awaits_close;     /* so does a callback, before it returns */
    _Atomic(sfid *) noisy; /* of which handle */
    atomic_int saw_close;
};

static bool is_sentence(const char *text) {
    const size_t len = text ? strlen(text) : 0;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return len >= 10 && len < TEXT_MOST;
}

static void use_inside(struct listener *l, sfid *g) {
    sfid_status_info st;
    sfid_parts parts;
    const int64_t id = sfid_next(g);
    const bool refused =
        id == SFID_EAGAIN || id == SFID_ELEASE || id == SFID_ECLOCK || id == SFID_ECLOSED;
    const int status = sfid_status(g, &st), parsed = id < 0 ? 0 : sfid_parse(&layout, id, &parts);
    sfid_close(g); /* does nothing here */
    if (id < 0 ? !refused
               : parsed != 0 || status != 0 ||
                     (sfid_pid(g) == SFID_ECLOSED && atomic_load(&l->g) != NULL))
        atomic_fetch_add(&l->bad_calls, 1);
    atomic_fetch_add(&l->calls, id >= 0);
}

static bool closes(void *arg) {
    struct listener *l = arg;
    sfid *g = atomic_load(&l->noisy);
    return g && sfid_next(g) == SFID_ECLOSED;
}

static void await_close(struct listener *l) {
    if (tap_wait_until(closes, l, TAP_WAIT_MS))
        atomic_store(&l->saw_close, 1);
}

static void check_thread(struct listener *l) {
    pid_t none = 0;
    const pid_t self = gettid();
    if ((!atomic_compare_exchange_strong(&l->thread, &none, self) && none != self) ||
        self == getpid())
        atomic_fetch_add(&l->foreign, 1);
}

static void listen_to(void *user, const sfid_event *e) {
    struct listener *l = user;
    if (atomic_load(&l->closed))
        atomic_fetch_add(&l->late, 1);
    if (atomic_fetch_add(&l->inside, 1) != 0)
        atomic_fetch_add(&l->many, 1);
    check_thread(l);
    if (!is_sentence(e->text))
        atomic_fetch_add(&l->bad_texts, 1);
    if (e->app == NULL || l->app == NULL ? e->app != l->app : strcmp(e->app, l->app) != 0)
        atomic_fetch_add(&l->bad_apps, 1);
    const int n = atomic_load(&l->n);
    if (n < MOST) {
        l->seen[n] =
            (struct seen){.kind = e->kind, .code = e->code, .pid = e->pid, .value = e->value};
        snprintf(l->seen[n].text, TEXT_MOST, "%s", e->text ? e->text : "(none)");
    }
    if ((unsigned)e->kind < SFID_EVENT_KINDS)
        atomic_fetch_add(&l->by_kind[e->kind], 1);
    if (atomic_load(&l->g))
        use_inside(l, atomic_load(&l->g));
    if (l->awaits_close && atomic_load(&l->saw_close) == 0)
        await_close(l);
    if (l->linger_us)
        nap_us(l->linger_us);
    if (atomic_load(&l->closed))
        atomic_fetch_add(&l->late, 1);
    atomic_fetch_sub(&l->inside, 1);
    atomic_store(&l->n, n + 1);
}

static struct listener *listener_new(sfid_options *opt) {
    struct listener *l = calloc(1, sizeof *l);
    must(l, "out of memory");
    l->app = opt->app;
    opt->on_event = listen_to;
    opt->user = l;
    return l;
}

/* ---- waiting for one ---------------------------------------------------- */

struct wanted {
    const struct listener *l;
    sfid_event_kind kind;
    int from;
    sfid *g; /* drawn from meanwhile; or NULL */
    const struct seen *found;
};

static bool has_come(void *arg) {
    struct wanted *w = arg;
    if (w->g)
        (void)!sfid_next(w->g);
    const int n = atomic_load(&w->l->n);
    for (int i = w->from; i < n && i < MOST; i++)
        if (w->l->seen[i].kind == w->kind) {
            w->found = &w->l->seen[i];
            return true;
        }
    return false;
}

/* The first event of a kind from number `from` on; its text is shown. */
static const struct seen *event_of(const struct listener *l, sfid_event_kind kind, int from,
                                   sfid *g, const char *name) {
    static const struct seen none = {.text = ""};
    struct wanted w = {l, kind, from, g, NULL};
    if (ok(tap_wait_until(has_come, &w, TAP_WAIT_MS), "%s is told", name))
        diag("%s: pid %" PRIi64 ", value %" PRIi64 ", code %d: %s", name, w.found->pid,
             w.found->value, w.found->code, w.found->text);
    return w.found ? w.found : &none;
}

static void close_and_check(sfid *g, struct listener *l, const char *what) {
    atomic_store(&l->g, NULL);
    sfid_close(g);
    atomic_store(&l->closed, 1);
    is_i64(l->bad_texts, 0, "%s: each text is a sentence that can be printed", what);
    is_i64(l->bad_apps, 0, "%s: each has the app", what);
    is_i64(l->foreign, 0, "%s: all come from one thread, the library's", what);
    is_i64(l->many, 0, "%s: one at a time", what);
    is_i64(l->bad_calls, 0, "%s: calls inside work, and close does nothing", what);
    is_i64(l->late, 0, "%s: none after the close", what);
}

#endif
