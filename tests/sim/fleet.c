/* SPDX-License-Identifier: MIT */
/*
 * fleet.c - what the processes of a host do with the library.
 *
 * A process opens a generator, draws IDs for a while, and closes it. Then it ends, or opens another
 * one. Each host keeps as many processes as it should have.
 */
#include "kinds.h"

#include <pthread.h>

enum { FORKS = 300, CLOSES = 500, EXITS = 200 }; /* of a thousand */

uint64_t opens, opens_of_second, opens_failed, closes;
int sim_pthread_join(pthread_t t, void **result);

static int64_t any_time(int64_t ns) { return up_to(chances(), ns); }

/* ---- a process ------------------------------------------------------------------------------ */

/* Whoever is told to end hears of it here, and between two calls of the library. */
static bool is_told(void) { return me->process->told_at != 0; }

static void rest(int64_t ns) {
    if (!is_told())
        wait_on(key_of((uint64_t)me->process->pid, KEY_END), now_ns + (ns > 0 ? ns : 1));
}

static void draw_some(struct drawer *d) {
    drawer_meet();
    for (uint64_t n = 1 + below(chances(), 4); n > 0 && !is_told(); n--)
        drawer_draw(d);
}

static void draw(struct drawer *d, int64_t till) {
    while (now_ns < till && !is_told()) {
        rest(any_time(2 * settings.gap_ns));
        draw_some(d);
    }
}

/* A service that is told to end is started again at once. */
static void end(void) {
    if (is_told() && me->process->parent == 1)
        fleet_start(me->process->host, now_ns + up_to(chances(), 100 * MS));
    me->process->exits = true;
    wait_on(0, FOREVER);
}

/*
 * The parent goes on; the child draws for a while, and ends with or without a close. A lane has a
 * run at the fork, and both draw within its tick.
 */
static void family(struct drawer *d) {
    if (!has_kind("fork") || !chance(chances(), FORKS))
        return;
    if (d->lane)
        draw_some(d);
    const int pid = process_fork();
    if (d->lane)
        draw_some(d);
    if (pid) {
        note("forked process %d", pid);
        return;
    }
    d->seen.got_at = d->seen_of_lane.got_at = d->seen.opened_at = d->seen_of_lane.opened_at =
        now_ns;
    draw(d, now_ns + any_time(settings.life_ns));
    if (is_told() || chance(chances(), CLOSES)) {
        drawer_end(d);
        kind_close(d->g);
    } else if (me->process->pageless) {
        cause_begins(CAUSE_POWER, me->process->host, now_ns);
    }
    end();
}

/* ---- threads beside the first one
 * ------------------------------------------------------------- */

struct helper {
    sfid *g;
    int64_t till, *newest;
    pthread_t thread;
};

static void *help(void *arg) {
    const struct helper *h = arg;
    struct drawer d;
    drawer_begin(&d, h->g, h->newest);
    draw(&d, h->till);
    drawer_end(&d);
    return arg;
}

static unsigned helpers_begin(struct helper h[HELPERS], const struct drawer *first, int64_t till) {
    const unsigned n = kind_helpers();
    for (unsigned i = 0; i < n; i++) {
        h[i] = (struct helper){.g = first->g, .till = till, .newest = first->newest};
        h[i].thread = thread_start(me->process, help, &h[i])->number;
    }
    return n;
}

/* ---- a life
 * -------------------------------------------------------------------------------------- */

/* One life of a generator; false if it could not be opened. */
static bool live(int64_t wants_since) {
    sfid *g = kind_open(wants_since);
    if (g == NULL)
        return false;
    const int64_t till = now_ns + any_time(2 * settings.life_ns);
    struct helper helper[HELPERS];
    struct drawer d;
    int64_t newest = 0;
    drawer_begin(&d, g, &newest);
    const unsigned helpers = helpers_begin(helper, &d, till);
    family(&d);
    draw(&d, till);
    for (unsigned i = 0; i < helpers; i++)
        sim_pthread_join(helper[i].thread, NULL);
    drawer_end(&d);
    kind_close(g);
    closes++;
    note("closed");
    return true;
}

static void *process_main(void *arg) {
    beside_open();
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

/* ---- the fleet
 * -------------------------------------------------------------------------------- */

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
    kinds_begin();
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
