/* SPDX-License-Identifier: MIT */
/** roots_round.h - who takes part in a round of roots.c: the first one, and those who open after it
 * or beside it. */
#ifndef SFID_TESTS_ROOTS_ROUND_H
#define SFID_TESTS_ROOTS_ROUND_H

#include "support/own_clock.h"
#include "support/roots.h"

#include "support/redis.h"

#define LAYOUT "33:10:20/1s"
#define APP "roots"

enum {
    PID = 5,
    BURST = 20,
    NEXT_IDS = 4000,
    VISITOR_IDS = 100,
    LOG_ROOM = 1 << 20,

    CANNOT = 77,
    REFUSED_MS = 2500
};

static sfid_layout layout;
static struct redis server; /* pid 0: none here */

/* ---- the first one ------------------------------------------------------ */

enum phase { BEGINS, DRAWS, HAPPENED_OUTSIDE, HAPPENED, MAY_CLOSE };

/* What it tells, and is told. */
struct first {
    atomic_int phase;
    _Atomic uint64_t limit; /* of its window when it happened */
    _Atomic uint64_t tick;  /* of its last ID */
    _Atomic int64_t in_tick, ids, an_error, reports;
    /* by SFID_ELEASE, each time; monotonic; 0: its last call gave an ID */
    _Atomic int64_t refused_since;
    _Atomic int64_t clock_ns; /* the time of day in this round, against the real one */
    char text[300];           /* of the last event that reports a loss */
};

/* the last: in the short form, too */
enum needs { NEEDS_MOUNTS = 1, NEEDS_ROOT = 2, AGED = 4, NOT_PROMISED = 8, WITH_REDIS = 16 };

struct round {
    struct place place;
    const struct cause *cause;
    const struct way *way;
    struct first *first;
    char logs[40], app[40];
    uint64_t life;
    unsigned number;
};

/* What happens, and who does it: each may be NULL. */
struct cause {
    const char *name;
    bool (*enter)(struct place *p);   /* the first one, before it opens */
    void (*outside)(struct place *p); /* the test, while the first one generates */
    bool (*inside)(struct place *p);  /* the first one itself */
    void (*after)(struct place *p);   /* the test, when it has ended */
    bool (*next)(struct place *p);    /* the next one, before it opens */
    unsigned needs;
};

struct way {
    const char *store;
    bool kills;
};

static void on_event(void *user, const sfid_event *e) {
    struct first *f = user;
    if (e->kind != SFID_EVENT_LOST && e->kind != SFID_EVENT_RENEW_FAILED &&
        e->kind != SFID_EVENT_DISCONNECTED)
        return;
    snprintf(f->text, sizeof f->text, "%s", e->text);
    if (atomic_load(&f->phase) >= HAPPENED_OUTSIDE)
        atomic_fetch_add(&f->reports, 1);
}

static sfid_options round_options(const struct round *r) {
    static char store[200];
    sfid_options opt = options_of(r->app, -1, &layout);
    opt.run_dir = r->place.run;
    opt.state_dir = r->place.state;
    opt.max_ahead_ms = 500;
    opt.pid_min = opt.pid_max = PID;
    opt.store = store;
    snprintf(store, sizeof store, "local?lead_ms=1000");
    if (strcmp(r->way->store, "fixed") == 0) {
        opt.pid = PID;
        opt.pid_min = opt.pid_max = 0;
        opt.store = NULL;
        opt.max_ahead_ms = 0;
    } else if (strcmp(r->way->store, "redis") == 0) {
        snprintf(store, sizeof store, "redis://127.0.0.1:%d?timeout=500&connect_timeout=500",
                 server.port);
        opt.ttl_ms = 3000;
        opt.heartbeat_ms = 700;
        opt.skew_budget_ms = 100;
        opt.on_unknown = SFID_TRUST;
    }
    return opt;
}

static void start_log(const struct round *r, struct idlog *log, uint64_t life) {
    log_start(log, LOG_ROOM, life, PID, "%s/%" PRIu64, r->logs, life);
}

static void draw_burst(sfid *g, struct first *f, struct idlog *log) {
    for (int i = 0; i < BURST; i++) {
        const int64_t id = sfid_next(g);
        if (id < 0) {
            if (atomic_load(&f->phase) < HAPPENED_OUTSIDE)
                return;
            if (id == SFID_ELEASE && atomic_load(&f->refused_since) == 0)
                atomic_store(&f->refused_since, mono_ns());
            if (id != SFID_ELEASE && id != SFID_EAGAIN)
                atomic_store(&f->an_error, id);
            return;
        }
        idlog_put(log, id);
        const uint64_t tick = id_tick(&layout, id);
        atomic_fetch_add(&f->ids, 1);
        if (tick != atomic_load(&f->tick))
            atomic_store(&f->in_tick, 0);
        atomic_fetch_add(&f->in_tick, 1);
        atomic_store(&f->tick, tick);
        atomic_store(&f->refused_since, 0);
    }
}

static bool happens_inside(struct round *r, sfid *g) {
    sfid_status_info st;
    if (r->cause->inside && !r->cause->inside(&r->place))
        return false;
    if (sfid_status(g, &st) < 0)
        return false;
    atomic_store(&r->first->limit, st.limit_tick);
    atomic_store(&r->first->phase, HAPPENED);
    return true;
}

static int be_first(void *arg) {
    struct round *r = arg;
    struct first *f = r->first;
    struct idlog log;
    own_clock = &f->clock_ns;
    if (r->cause->enter && !r->cause->enter(&r->place))
        return CANNOT;
    start_log(r, &log, 1);
    sfid_options opt = round_options(r);
    opt.on_event = on_event;
    opt.user = f;
    opt.max_wait_ms = 1000;
    sfid *g = open_or_die(&opt);
    for (int phase; (phase = atomic_load(&f->phase)) != MAY_CLOSE; nap_us(10000)) {
        draw_burst(g, f, &log);
        if (phase == BEGINS && atomic_load(&f->ids) > 10 * BURST)
            atomic_store(&f->phase, DRAWS);
        if (phase == HAPPENED_OUTSIDE && !happens_inside(r, g))
            return CANNOT;
    }
    sfid_close(g);
    return 0;
}

/* The mark of a fixed pid lies half a minute ahead, always. The clock is put forward, and it has
 * passed. */
static void pass_time(const struct round *r) {
    if (strcmp(r->way->store, "fixed") == 0)
        atomic_fetch_add(&r->first->clock_ns, (int64_t)33000 * NS_PER_MS);
}

/* ---- the others --------------------------------------------------------- */

struct other {
    struct round *r;
    uint64_t life;
    size_t ids;
    unsigned patience_ms;
    _Atomic int rc;
    _Atomic int64_t first_id, got;
    char text[300];
};

/* Opens, patiently, and generates many at once: if they are numbers of the first one's, some of
 * these come again. */
static int be_other(void *arg) {
    static int64_t ids[NEXT_IDS];
    struct other *o = arg;
    struct idlog log;
    own_clock = &o->r->first->clock_ns;
    if (o->r->cause->next && !o->r->cause->next(&o->r->place))
        return CANNOT;
    start_log(o->r, &log, o->life);
    sfid_options opt = round_options(o->r);
    opt.open_timeout_ms = o->patience_ms < 5000 ? o->patience_ms : 5000;
    sfid *g = NULL;
    for (const int64_t end = mono_ns() + (int64_t)o->patience_ms * NS_PER_MS;;) {
        const int rc = sfid_open(&g, &opt);
        atomic_store(&o->rc, rc);
        snprintf(o->text, sizeof o->text, "%s", sfid_last_error(g));
        if (rc == 0 || mono_ns() > end)
            break;
        sfid_close(g);
        nap_us(10000);
    }
    if (atomic_load(&o->rc) == 0) {
        ids[0] = next_within(g, 1000);
        if (ids[0] == SFID_EAGAIN)
            pass_time(o->r);
        if (ids[0] < 0)
            ids[0] = next_within(g, o->patience_ms);
        atomic_store(&o->first_id, ids[0]);
        int64_t n = ids[0] < 0 ? 0 : 1;
        if (n == 1) {
            const int64_t more = sfid_next_n(g, ids + 1, o->ids - 1);
            n += more > 0 ? more : 0;
        }
        log_ids(&log, ids, n);
        atomic_store(&o->got, n);
    }
    sfid_close(g);
    return 0;
}

#endif
