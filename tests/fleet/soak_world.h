/* SPDX-License-Identifier: MIT */
/**
 * soak_world.h - part of tests/fleet/soak: the apps, each with another store or layout, their hosts
 * and servers, and what happens to these.
 */
#ifndef SFID_TESTS_SOAK_WORLD_H
#define SFID_TESTS_SOAK_WORLD_H

#include "soak_judge.h"

/* Short pids take a longer window. */
enum {
    TTL = 2000,
    LONG_TTL = 4000,
    SHORT = 1800,
    BUDGET = 500,
    SERVER_OFF_MS = BUDGET / 2 - 50,
    MOST_STOP_MS = 4500,
    EXCHANGE_MS = 300
};

/* For how long a fault is felt: a newcomer waits for a window and the budget, and for an answer. */
enum { FELT_MS = LONG_TTL + BUDGET + 1000 };

/* How far a host's clock is off: a server refuses more than half a window. FIXED_STEP_MS is longer
 * than a fixed pid's mark. */
enum { SERVER_MOST_MS = 900, LOCAL_MOST_MS = 3000, FIXED_STEP_MS = 35000 };

enum store { SERVER, POOL, LOCAL, FIXED };

static const struct app {
    const char *name, *layout_text, *wide;
    enum store store;
    unsigned servers; /* bit i: server i */
    uint64_t share;
    unsigned members, hosts;
    int64_t pids;
    uint32_t ttl_ms;
} apps[APPS] = {
    {"redis", "39:7:17/10ms", NULL, SERVER, 1, 0, 4, 2, 6, TTL},
    {"valkey", "39:7:17/10ms", NULL, SERVER, 2, 0, 4, 2, 100, LONG_TTL},
    {"share", "39:7:17/10ms", NULL, SERVER, 1, 1, 4, 2, 20, TTL},
    {"pool", "39:7:17/10ms", NULL, POOL, 3, 0, 4, 2, 16, LONG_TTL},
    {"local", "33:10:20/1s", NULL, LOCAL, 0, 0, 4, 1, 8, TTL},
    {"local-share", "33:10:20/1s", NULL, LOCAL, 0, 1, 4, 1, 8, TTL},
    {"fixed", "33:10:20/1s", NULL, FIXED, 0, 0, 2, 1, 2, TTL},
    {"uuid7", "41:8:14/1ms", "uuid7", SERVER, 2, 0, 4, 2, 60, TTL},
    {"awsflake", "48:3:12/1ms", "awsflake", FIXED, 0, 0, 2, 1, 2, TTL},
};

/* One side of a host is removed, never both: see doc/safety.md. A server's pids have no marks. */
static struct host {
    unsigned app;
    bool state_side;
    /* of its clock: a fixed pid whose page is lost waits for its mark, or its clock goes on */
    int64_t base_ms;
    char run[4400], state[4400];
} hosts[HOSTS];

static unsigned hosts_n;

static struct server {
    struct redis r;
    char user[16];
    enum { UP, AWAY, DOWN } is;
    bool saved, old_save;
    int64_t back_at;
} servers_of[SERVERS];

static uint64_t rng, counts[FAULTS];
static uint64_t pace; /* faults are so much rarer than in the short form, so that some come alone */

static uint64_t up_to(uint64_t n) { return draw_random(&rng) % n; }

/* One time in n, at this pace. */
static bool comes(uint64_t n) { return up_to(n * pace) == 0; }

static int64_t ms_from_now(int64_t ms) { return mono_ns() + ms * NS_PER_MS; }

/* Its workers are of the host, and of no app: all processes there share one. */
static bool is_wide_host(const struct app *app) { return app->wide && app->store == FIXED; }

/* ---- what is on --------------------------------------------------------- */

/* Of an app. for_ms: how long it goes on; then it is felt for a while. */
static void turn_on(unsigned app, enum fault f, int64_t for_ms) {
    raise_to(&board->on_till[app][f], ms_from_now(for_ms + FELT_MS));
    counts[f]++;
}

static void turn_on_server(unsigned k, enum fault f, int64_t for_ms) {
    for (unsigned a = 0; a < APPS; a++)
        if (apps[a].servers >> k & 1)
            raise_to(&board->on_till[a][f], ms_from_now(for_ms + FELT_MS));
    counts[f]++;
}

/* ---- hosts -------------------------------------------------------------- */

static int64_t most_off(const struct host *h) {
    return apps[h->app].servers ? SERVER_MOST_MS : LOCAL_MOST_MS;
}

static void set_clock(unsigned host, int64_t ms) {
    atomic_store(&board->host_clock_ns[host], (hosts[host].base_ms + ms) * NS_PER_MS);
}

static void step_clock(unsigned host) {
    struct host *h = &hosts[host];
    if (apps[h->app].store == FIXED && up_to(3) == 0)
        h->base_ms += FIXED_STEP_MS;
    set_clock(host, (int64_t)up_to((uint64_t)(2 * most_off(h))) - most_off(h));
    turn_on(h->app, CLOCK_STEP, 0);
}

/* A file of this directory at random, but none of the doors' lock. */
static bool remove_one_of(const char *dir) {
    char path[4700] = "";
    DIR *d = opendir(dir);
    uint64_t seen = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && strcmp(e->d_name, "lock") != 0 && up_to(++seen) == 0)
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (d)
        closedir(d);
    return path[0] != '\0' && unlink(path) == 0;
}

static void remove_something(unsigned host) {
    const struct host *h = &hosts[host];
    const char *dir = h->state_side ? h->state : h->run;
    if (access(dir, F_OK) < 0)
        return;
    if (up_to(2)) {
        if (remove_one_of(dir))
            turn_on(h->app, h->state_side ? MARK_GONE : SLOT_GONE, 0);
        return;
    }
    /* others make files meanwhile */
    for (int tries = 0; tries < 100 && access(dir, F_OK) == 0; tries++)
        remove_tree(dir);
    turn_on(h->app, h->state_side ? STATE_GONE : RUN_GONE, 0);
}

static void attend_hosts(void) {
    if (comes(400))
        step_clock((unsigned)up_to(hosts_n));
    if (comes(200))
        remove_something((unsigned)up_to(hosts_n));
}

/* ---- servers ------------------------------------------------------------ */

static void come_back(struct server *s) {
    if (s->is == AWAY)
        redis_resume(&s->r);
    if (s->is == DOWN)
        redis_restart(&s->r, !s->old_save);
    s->saved = s->saved && (s->is != DOWN || s->old_save);
    s->is = UP;
}

static void go_down(unsigned k, enum fault f) {
    struct server *s = &servers_of[k];
    const int64_t for_ms = (int64_t)up_to(TTL);
    s->is = f == PAUSED ? AWAY : DOWN;
    s->old_save = f == OLD_SAVE;
    (f == PAUSED ? redis_pause : redis_kill)(&s->r);
    s->back_at = ms_from_now(for_ms);
    turn_on_server(k, f, for_ms);
}

static void attend_server(unsigned k) {
    struct server *s = &servers_of[k];
    if (s->is != UP) {
        if (mono_ns() >= s->back_at)
            come_back(s);
        return;
    }
    switch (up_to(9000 * pace)) {
    case 0:
    case 1:
        redis_do(&s->r, "FLUSHALL", NULL);
        turn_on_server(k, FLUSHED, 0);
        break;
    case 2:
    case 3:
        go_down(k, EMPTY);
        break;
    case 4:
    case 5:
        go_down(k, s->saved ? OLD_SAVE : EMPTY);
        break;
    case 6:
    case 7:
    case 8:
        redis_do(&s->r, "SAVE", NULL);
        s->saved = true;
        break;
    case 9:
    case 10:
    case 11:
        go_down(k, PAUSED);
        break;
    case 12:
    case 13:
    case 14:
    case 15:
        redis_clock_offset(&s->r, (int64_t)up_to(2 * SERVER_OFF_MS) - SERVER_OFF_MS);
        turn_on_server(k, SERVER_CLOCK, 0);
        break;
    default:
        break;
    }
}

/* All servers are up, all clocks right; a fixed pid's is past its mark. */
static void heal(void) {
    for (unsigned k = 0; k < SERVERS; k++) {
        come_back(&servers_of[k]);
        redis_clock_offset(&servers_of[k].r, 0);
    }
    for (unsigned i = 0; i < hosts_n; i++) {
        hosts[i].base_ms += apps[hosts[i].app].store == FIXED ? FIXED_STEP_MS : 0;
        set_clock(i, 0);
    }
}

/* ---- how it begins ------------------------------------------------------ */

/* Its user comes back with it, as with a configuration file. */
static void begin_servers(void) {
    for (unsigned k = 0; k < SERVERS; k++) {
        struct server *s = &servers_of[k];
        const char *program = servers.installed[servers.n > 1 ? k : 0];
        snprintf(s->user, sizeof s->user, "user-%u", k);
        redis_start(&s->r, program, "soak", REDIS_CLOCK, "--user", s->user, "on", ">pw", "~sfid:*",
                    "+@all", NULL);
        diag("server %u: %s", k, program);
    }
}

static const char *pool_store(void) {
    static char store[600];
    snprintf(store, sizeof store,
             "pool:1-8=unix://user-0:pw@%s?timeout=300ms 9-16=unix://user-1:pw@%s?timeout=300ms",
             servers_of[0].r.socket, servers_of[1].r.socket);
    return store;
}

static sfid_options app_options(unsigned a) {
    static sfid_wide_layout wide[APPS];
    const struct app *app = &apps[a];
    sfid_options opt =
        fleet_lease(&servers_of[app->servers == 2].r, app->name, app->ttl_ms, app->ttl_ms / 5);
    fleet_timeout(&opt, &servers_of[app->servers == 2].r, EXCHANGE_MS);
    opt.store = app->store == POOL    ? pool_store()
                : app->store == LOCAL ? "local?lead_ms=600"
                : app->store == FIXED ? NULL
                                      : opt.store;
    opt.pid_min = app->store == POOL || app->store == FIXED ? 0 : 1;
    opt.pid_max = opt.pid_min ? app->pids : 0;
    opt.layout = app->wide ? NULL : &layouts[a];
    opt.wide = app->wide ? &wide[a] : NULL;
    opt.app = is_wide_host(app) ? NULL : opt.app;
    opt.share = app->share;
    opt.short_ms = app->ttl_ms == LONG_TTL ? SHORT : 0;
    opt.skew_budget_ms = BUDGET;
    opt.max_wait_ms = app->servers ? 50 : 1000;
    opt.max_ahead_ms = app->servers ? opt.max_ahead_ms : 500;
    opt.open_timeout_ms = 4000;
    opt.on_unknown = SFID_WAIT_OUT;
    must(!app->wide || sfid_wide_layout_parse(app->wide, &wide[a]) == 0, "no wide layout: %s",
         app->wide);
    return opt;
}

static void begin_app(unsigned a) {
    const struct app *app = &apps[a];
    layouts[a] = layout_of(app->layout_text);
    const sfid_options opt = app_options(a);
    if (app->servers > 0)
        fleet_app_init(&opt);
    snprintf(log_dirs[a], sizeof log_dirs[a], "%.4200s/%s", dirs.logs, app->name);
    need(mkdir(log_dirs[a], 0700) == 0, "%s: %s", log_dirs[a], strerror(errno));
}

static void begin_host(unsigned a, unsigned side) {
    struct host *h = &hosts[hosts_n];
    sfid_options opt;
    on_host(&opt, hosts_n++);
    h->app = a;
    h->state_side = apps[a].servers == 0 && (hosts_n + side) % 2;
    /* by its worker */
    const char *name = is_wide_host(&apps[a]) ? "awsflake-000000000007" : apps[a].name;
    snprintf(h->run, sizeof h->run, "%s/%s", opt.run_dir, name);
    snprintf(h->state, sizeof h->state, "%s/%s", opt.state_dir, name);
}

static void begin_seat(unsigned i, unsigned app, unsigned host, int64_t pid,
                       const sfid_options *opt) {
    struct member *m = &members[i];
    m->opt = *opt;
    m->opt.pid = is_wide_host(&apps[app])   ? SFID_AWS_PID(0, 7)
                 : apps[app].store == FIXED ? pid
                                            : -1;
    m->live = live;
    m->noted = apps[app].wide ? &layouts[app] : NULL;
    on_host(&m->opt, host);
    snprintf(m->name, sizeof m->name, "%s %u", apps[app].name, i);
    board->seats[i].app = app;
    board->seats[i].host = host;
}

static void begin_world(void) {
    const unsigned side = (unsigned)up_to(2);
    unsigned n = 0;
    board = shared_memory(sizeof *board);
    board->test = getpid();
    begin_servers();
    const sfid_options none = SFID_OPTIONS_INIT;
    members = members_new(SEATS, &none);
    for (unsigned a = 0; a < APPS; a++) {
        begin_app(a);
        const sfid_options opt = app_options(a);
        const unsigned first = hosts_n;
        for (unsigned h = 0; h < apps[a].hosts; h++) {
            begin_host(a, side);
            if (apps[a].servers == 0)
                diag("%s: its %s directory is removed", apps[a].name,
                     hosts[hosts_n - 1].state_side ? "state" : "run");
        }
        for (unsigned i = 0; i < apps[a].members; i++, n++) {
            begin_seat(n, a, first + i % apps[a].hosts, i + 1, &opt);
            begin_seat(n + MEMBERS, a, first + i % apps[a].hosts, i + 1, &opt);
        }
    }
    need(n == MEMBERS && hosts_n <= HOSTS, "%u members on %u hosts", n, hosts_n);
}

#endif
