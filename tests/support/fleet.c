/* SPDX-License-Identifier: MIT */
#include "support/fleet.h"

#include "support/retake.h"

/* ---- servers ------------------------------------------------------------ */

struct servers servers;

void servers_find(void) {
    servers.n = redis_installed_ones(servers.installed, COUNT_OF(servers.installed));
}

struct turn {
    const char *program;
    unsigned flags;
    void (*test)(struct redis *r);
};

static void take_turn(void *arg) {
    const struct turn *t = arg;
    struct redis r;
    redis_start(&r, t->program, "fleet", t->flags, NULL);
    diag("%s", t->program);
    t->test(&r);
    redis_kill(&r);
}

/* Apps begin with no slot, no mark, no log. */
void fleet_forget(void) {
    char path[4300];
    remove_tree(dirs.run);
    remove_tree(dirs.state);
    for (unsigned i = 0; i < HOSTS_MOST; i++) {
        snprintf(path, sizeof path, "%s/host-%u", dirs.shm, i);
        remove_tree(path);
        snprintf(path, sizeof path, "%s-%u", dirs.state, i);
        remove_tree(path);
    }
    remove_tree(dirs.logs);
    need(mkdir(dirs.logs, 0700) >= 0, "%s: %s", dirs.logs, strerror(errno));
}

void on_servers(unsigned number, unsigned flags, void (*test)(struct redis *r)) {
    for (size_t i = 0; i < servers.n; i++)
        if (getenv("SFID_TEST_LONG") || i == number % servers.n)
            take_turn(&(struct turn){servers.installed[i], flags, test});
}

void on_running_servers(unsigned number, unsigned flags, int64_t bears_ms,
                        void (*test)(struct redis *r)) {
    for (size_t i = 0; i < servers.n; i++)
        if (getenv("SFID_TEST_LONG") || i == number % servers.n)
            retake(take_turn, &(struct turn){servers.installed[i], flags, test}, bears_ms,
                   fleet_forget);
}

void fleet_timeout(sfid_options *opt, const struct redis *r, unsigned ms) {
    static char stores[64][180];
    static unsigned used;
    char *store = stores[used++ % COUNT_OF(stores)];
    snprintf(store, sizeof stores[0], "unix://%s?timeout=%ums&connect_timeout=%ums", r->socket, ms,
             ms);
    opt->store = store;
}

static sfid_options options_with(const struct redis *r, const char *app, const sfid_layout *l,
                                 uint32_t ttl_ms, uint32_t heartbeat_ms) {
    sfid_options opt = options_of(app, -1, l);
    /* two exchanges, the budget and a tick fit between two heartbeats */
    const unsigned third = (ttl_ms - heartbeat_ms) / 3;
    fleet_timeout(&opt, r, third < FLEET_TIMEOUT_MS ? third : FLEET_TIMEOUT_MS);
    opt.pid_min = 1;
    opt.pid_max = (int64_t)l->max_pid;
    opt.ttl_ms = ttl_ms;
    opt.heartbeat_ms = heartbeat_ms;
    opt.short_ms = 0;
    opt.skew_budget_ms = 50; /* a server that forgets ends no lease even of 1 s (heartbeat 300) */
    opt.open_timeout_ms = TAP_WAIT_MS;
    opt.max_wait_ms = TAP_WAIT_MS;
    opt.on_unknown = SFID_TRUST;
    return opt;
}

sfid_options fleet_options(const struct redis *r, const char *app, const sfid_layout *l) {
    return options_with(r, app, l, FLEET_TTL_MS, FLEET_HEARTBEAT_MS);
}

void on_host(sfid_options *opt, unsigned number) {
    static char paths[HOSTS_MOST][2][4300];
    char(*both)[4300] = paths[number % COUNT_OF(paths)];
    snprintf(both[0], sizeof both[0], "%s/host-%u", dirs.shm, number);
    snprintf(both[1], sizeof both[1], "%s-%u", dirs.state, number);
    opt->run_dir = both[0];
    opt->state_dir = both[1];
}

static bool is_known(void *opt) {
    char why[SFID_WHY_LEN];
    const int rc = sfid_app_init(opt, 0, NULL, why, sizeof why);
    if (rc != 0)
        diag("init: %s", why);
    return rc == 0;
}

void fleet_app_init(const sfid_options *opt) {
    must(tap_wait_until(is_known, (void *)opt, TAP_WAIT_MS), "an app cannot be made known");
}

/* ---- the test's side ------------------------------------------------------ */

struct member *members_new(size_t n, const sfid_options *opt) {
    struct member *all = shared_memory(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i].opt = *opt;
        all[i].threads = 1;
        all[i].burst = 8;
        all[i].nap_us = 2000;
        atomic_store(&all[i].may_draw, 1);
    }
    return all;
}

void member_start(struct member *m) {
    const size_t told = offsetof(struct member, may_end);
    memset((char *)m + told, 0, sizeof *m - told);
    m->child = child_start(m->live ? m->live : member_live, m);
}

int member_open_one(struct member *m) {
    member_start(m);
    must(flag_wait(&m->opened, 1, m->opt.open_timeout_ms + TAP_WAIT_MS), "a member does not open");
    return m->rc;
}

bool member_is_too_late(const struct member *m) {
    return m->rc == SFID_ENOPID || m->rc == SFID_EBUSY || m->rc == SFID_ESTATE;
}

int member_open_in_vain(struct member *m) {
    while (member_open_one(m), member_is_too_late(m) && m->opt.open_timeout_ms < TAP_WAIT_MS) {
        diag("%d: %s", m->rc, m->text);
        member_end(m);
        m->opt.open_timeout_ms *= 2;
    }
    return m->rc;
}

void member_open_or_die(struct member *m) { must(member_open_one(m) == 0, "open: %s", m->text); }

struct member *member_drawing(const sfid_options *opt) {
    struct member *m = members_new(1, opt);
    member_open_or_die(m);
    must(member_draws(m, 1, TAP_WAIT_MS),
         "a member does not draw: %" PRIi64 " calls failed, the last one with %" PRIi64,
         atomic_load(&m->errors), atomic_load(&m->error));
    return m;
}

bool member_opens(struct member *m, unsigned limit_ms) {
    const bool done = flag_wait(&m->opened, 1, limit_ms);
    if (done && m->rc == 0)
        return true;
    diag("%s: %s", m->name, done ? m->text : "sfid_open() has not come back");
    return false;
}

int member_end(struct member *m) {
    atomic_store(&m->may_end, 1);
    if (m->child != 0)
        m->ended = child_wait(m->child, TAP_WAIT_MS);
    m->child = 0;
    if (m->ended != 0)
        diag("%s: ended with %d", m->name, m->ended);
    return m->ended;
}

void member_kill(struct member *m) {
    child_kill(m->child);
    m->child = 0;
}

void member_stop(struct member *m) {
    atomic_fetch_add(&m->stops, 1);
    kill(m->child, SIGSTOP);
}

void member_go_on(const struct member *m) { kill(m->child, SIGCONT); }

/* Waits until the member has generated this many more IDs. */
struct more_wait {
    const struct member *m;
    int64_t ids;
};

static bool more_drawn(void *arg) {
    const struct more_wait *w = arg;
    return atomic_load(&w->m->ids) >= w->ids;
}

bool member_draws(const struct member *m, int64_t ids, unsigned limit_ms) {
    return tap_wait_until(more_drawn, &(struct more_wait){m, atomic_load(&m->ids) + ids}, limit_ms);
}

/* Waits until one more call has failed. */
static bool error_came(void *arg) {
    const struct more_wait *w = arg;
    return atomic_load(&w->m->errors) >= w->ids;
}

bool member_fails(const struct member *m, unsigned limit_ms) {
    return tap_wait_until(error_came, &(struct more_wait){m, atomic_load(&m->errors) + 1},
                          limit_ms);
}

/* Waits for an event, from event number `from` on. found stays NULL if none comes. */
struct event_wait {
    const struct member *m;
    sfid_event_kind kind;
    int from, code; /* code: 0 any */
    const char *words, *server;
    const struct seen *found;
};

static bool event_came(void *arg) {
    struct event_wait *w = arg;
    const int n = atomic_load(&w->m->events);
    for (; w->from < n && w->found == NULL; w->from++) {
        const struct seen *e = &w->m->seen[w->from % EVENTS_KEPT];
        if (e->kind == w->kind && (w->code == 0 || e->code == w->code) &&
            strstr(e->text, w->words) && strstr(e->text, w->server))
            w->found = e;
    }
    return w->found != NULL;
}

const struct seen *member_event(const struct member *m, sfid_event_kind kind, int from,
                                unsigned limit_ms) {
    struct event_wait w = {m, kind, from, 0, "", "", NULL};
    tap_wait_until(event_came, &w, limit_ms);
    return w.found;
}

const struct seen *member_told(const struct member *m, int from, int code, const char *words,
                               const char *server) {
    struct event_wait w = {m, SFID_EVENT_RENEW_FAILED, from, code, words, server, NULL};
    if (!tap_wait_until(event_came, &w, TAP_WAIT_MS))
        diag("%s: no renewal failed with %d, \"%s\" and \"%s\"", m->name, code, words, server);
    return w.found;
}

int events_of(const struct member *m, sfid_event_kind kind) {
    return atomic_load(&m->of_kind[kind]);
}

bool member_had(struct member *m, sfid_event_kind kind, int least, unsigned limit_ms) {
    return flag_wait(&m->of_kind[kind], least, limit_ms);
}

sfid_layout layout;

uint64_t fleet_begin(const char *layout_text) {
    layout = layout_of(layout_text);
    dirs_make();
    witness_system();
    witness_begin();
    servers_find();
    members_begin();
    return seed();
}

int fleet_main(const char *layout_text, unsigned number, unsigned flags,
               void (*test)(struct redis *r)) {
    fleet_begin(layout_text);
    on_servers(number, flags, test);
    return done_testing();
}

sfid_options fleet_lease(const struct redis *r, const char *app, uint32_t ttl_ms,
                         uint32_t heartbeat_ms) {
    return options_with(r, app, &layout, ttl_ms, heartbeat_ms);
}
