/* SPDX-License-Identifier: MIT */
/*
 * fleet.c - what the processes of a host do with the library.
 *
 * A process opens a generator, draws IDs for a while, and closes it. Then it ends, or opens another one. Each host keeps as many
 * processes as it should have.
 */
#include "sim.h"

#include <sfid.h>

#define RUN_DIR "/run/sfid"
#define STATE_DIR "/state/sfid"
enum { FORKS = 300, CLOSES = 500, EXITS = 200 }; /* of a thousand */

uint64_t opens, opens_failed, closes;

static struct {
    int (*open)(sfid **, const sfid_options *);
    int64_t (*next)(sfid *), (*try_next)(sfid *), (*pid)(const sfid *);
    void (*close)(sfid *);
    const char *(*last_error)(const sfid *);
} lib;

static void library_functions(void) {
    *(void **)&lib.open = library_symbol("sfid_open");
    *(void **)&lib.next = library_symbol("sfid_next");
    *(void **)&lib.try_next = library_symbol("sfid_try_next");
    *(void **)&lib.pid = library_symbol("sfid_pid");
    *(void **)&lib.close = library_symbol("sfid_close");
    *(void **)&lib.last_error = library_symbol("sfid_last_error");
}

/* A word of the list. */
bool has_kind(const char *name) {
    const size_t len = strlen(name);
    for (const char *at = settings.kinds; (at = strstr(at, name)) != NULL; at += len)
        if ((at == settings.kinds || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static int64_t any_time(int64_t ns) { return up_to(chances(), ns); }

/* ---- how it is opened ---------------------------------------------------------------------- */

static sfid_options options(void) {
    sfid_options o = SFID_OPTIONS_INIT;
    o.app = world_store ? "{sim}" : "sim"; /* in a cluster the app's keys need a tag */
    o.store = has_kind("local") ? "local" : world_store ? world_store : "redis://server-1:6379";
    o.pid_max = settings.pids - 1;
    o.run_dir = RUN_DIR;
    o.state_dir = STATE_DIR;
    o.open_timeout_ms = 60000;
    o.share = has_kind("share");
    if (has_kind("brief") && !has_kind("local")) {
        o.ttl_ms = 90000;
        o.heartbeat_ms = 15000;
        o.short_ms = 20000;
        o.skew_budget_ms = 5000;
        o.max_skew_ms = 4000;
    }
    return o;
}

static void terms_begin(void) {
    const sfid_options o = options();
    terms = (struct terms){.window = o.ttl_ms * MS,
                           .brief = o.short_ms * MS,
                           .skew = o.skew_budget_ms * MS,
                           .heartbeat = o.heartbeat_ms * MS,
                           .deadline = 2 * SECOND};
}

/* ---- a process ------------------------------------------------------------------------------ */

static void draw_one(sfid *g, struct seen *s) {
    const bool waits = chance(chances(), 500);
    const int64_t id = waits ? lib.next(g) : lib.try_next(g);
    if (id >= 0)
        check_id(s, id);
    else
        check_refusal(s, (int)id, lib.last_error(g));
}

/* Whoever is told to end hears of it here, and between two calls of the library. */
static bool is_told(void) { return me->process->told_at != 0; }

static void rest(int64_t ns) {
    if (!is_told())
        wait_on(key_of((uint64_t)me->process->pid, KEY_END), now_ns + (ns > 0 ? ns : 1));
}

static void draw(sfid *g, struct seen *s, int64_t till) {
    while (now_ns < till && !is_told()) {
        rest(any_time(2 * settings.gap_ns));
        for (uint64_t n = 1 + below(chances(), 4); n > 0 && !is_told(); n--)
            draw_one(g, s);
    }
}

static void close_it(sfid *g) {
    const int64_t began = now_ns;
    lib.close(g);
    check_closed(began);
}

/* A service that is told to end is started again at once. */
static void end(void) {
    if (is_told() && me->process->parent == 1)
        fleet_start(me->process->host, now_ns + up_to(chances(), 100 * MS));
    me->process->exits = true;
    wait_on(0, FOREVER);
}

/* The parent goes on; the child draws for a while, and ends with or without a close. */
static void family(sfid *g) {
    if (!has_kind("fork") || !chance(chances(), FORKS))
        return;
    const int pid = process_fork();
    if (pid) {
        note("forked process %d", pid);
        return;
    }
    struct seen s = {.got_at = now_ns, .opened_at = now_ns};
    draw(g, &s, now_ns + any_time(settings.life_ns));
    if (is_told() || chance(chances(), CLOSES))
        close_it(g);
    end();
}

/* One life of a generator; false if it could not be opened. */
static bool live(int64_t wants_since) {
    const sfid_options o = options();
    sfid *g = NULL;
    opens++;
    const int rc = lib.open(&g, &o);
    if (rc < 0) {
        opens_failed++;
        check_open_failed(wants_since, rc, lib.last_error(g));
        lib.close(g);
        return false;
    }
    note("opened, pid %" PRId64, lib.pid(g));
    struct seen s = {.got_at = now_ns, .opened_at = now_ns};
    const int64_t till = now_ns + any_time(2 * settings.life_ns);
    family(g);
    draw(g, &s, till);
    close_it(g);
    closes++;
    note("closed");
    return true;
}

static void *process_main(void *arg) {
    for (int64_t wants_since = now_ns;;) {
        const bool lived = live(wants_since);
        if (is_told() || (lived && chance(chances(), EXITS)))
            end();
        rest(any_time(lived ? settings.life_ns / 4 : 3 * SECOND));
        if (lived)
            wants_since = now_ns;
    }
    return arg;
}

/* ---- the fleet -------------------------------------------------------------------------------- */

void fleet_start(int where, int64_t at) { process_start(where, process_main, NULL, at); }

static void keep_up(void *arg) {
    struct host *h = arg;
    const int number = (int)(h - host);
    unsigned n = 0;
    for (int i = 0; i < PROCESSES; i++)
        n += process[i].used && process[i].host == number && process[i].parent == 1;
    for (; n < settings.per_host; n++)
        fleet_start(number, now_ns + up_to(&h->stream, 3 * SECOND));
    at_time(now_ns + 2 * SECOND + up_to(&h->stream, 2 * SECOND), keep_up, h);
}

static void write_back(void *arg) {
    struct host *h = arg;
    host_write_back(h);
    at_time(now_ns + SECOND + up_to(&h->stream, 9 * SECOND), write_back, h);
}

void fleet_begin(void) {
    library_functions();
    terms_begin();
    hosts = settings.hosts;
    cause_begins(CAUSE_NEW, EVERYWHERE, now_ns);
    for (unsigned i = 0; i < hosts; i++) {
        struct host *h = &host[i];
        h->drift_ppm = (int64_t)below(&h->stream, 200) - 100;
        h->names_follow = chance(&h->stream, 500);
        host_boot(h, false);
        at_time(now_ns, keep_up, h);
        if (strcmp(settings.world, "none") != 0) /* where no power is lost, nobody sees it */
            at_time(now_ns, write_back, h);
    }
}
