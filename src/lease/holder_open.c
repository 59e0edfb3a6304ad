/* SPDX-License-Identifier: MIT */
/* holder_open.c - how a holder comes to its pid and its page. */
#include "lease/holder.h"

#include "base/process.h"
#include "host/numbered.h"
#include "host/places.h"
#include "id/layout.h"
#include "lease/far.h"
#include "lease/grant.h"
#include "lease/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool range_of_one(const struct sfid__holder *h) {
    return h->lease.terms.pid_min == h->lease.terms.pid_max;
}

/*
 * The page is a lower bound, too: its mark may have been lost or set back to an older copy, and the
 * clock may have gone back since. A page that is more than two windows ahead of both counts as
 * damaged. Without a mark the layout's end is the bound: no window passes it, and a mark has no
 * room for ticks from there on.
 */
static struct sfid__slot_want want_of(const struct sfid__holder *h,
                                      const struct sfid__lease_event *grant) {
    const uint64_t now = sfid__grant_tick_in(h, h->settings->opt.max_skew_ms);
    const uint64_t most =
        grant->bound ? SFID__MAX(grant->limit, now) + 2 * h->store->terms.window : UINT64_MAX;
    return (struct sfid__slot_want){h->of_pages, grant->pid, SFID__MIN(most, h->store->terms.end),
                                    sfid__holder_door_ms(h)};
}

/* The same of a mark that was lost under a wrong clock: its page says it still. */
static int refuse_far(const struct sfid__holder *h, uint64_t pid, uint64_t tick,
                      struct sfid__error *err) {
    const struct sfid__far far = sfid__far_of(h->settings);
    const uint64_t now = sfid__grant_clock_tick(h);
    if (!far.only || !sfid__mark_is_far(&far, tick, now))
        return 0;
    return sfid__mark_refuse_far(&far, "page", h->slot.page ? h->slot.dir.path : h->run.path, pid,
                                 tick, now, err);
}

static int take_slot_of(struct sfid__holder *h, const char *name,
                        const struct sfid__slot_want *want, struct sfid__error *err) {
    struct sfid__dir app;
    const int rc = sfid__dir_open_sub(&app, &h->run, h->settings->opt.app, err);
    return rc < 0 ? rc : sfid__slot_take(&h->slot, &app, name, want, err);
}

/*
 * Looks at a pid whose lock the store has taken, while the holder has no pid yet. The pid's page
 * has to be free, too: a process that lost the state directory still holds it. And its position has
 * to be near: after a power loss the mark lies ahead, and another pid does not have to wait.
 */
static int accept_pid(void *accepter, const struct sfid__lease_event *grant, bool picky,
                      struct sfid__error *err) {
    struct sfid__holder *h = accepter;
    struct sfid__slot_naming naming;
    char name[32];
    if (h->slot.page && (!h->generator->shared || h->lease.opened))
        return 0; /* the slot came first, or this is the same pid again */
    const struct sfid__slot_want want = want_of(h, grant);
    snprintf(name, sizeof name, "pid-%" PRIu64, grant->pid);
    int rc = h->generator->shared ? sfid__share_name_begin(h, name, &want, &naming, err)
                                  : take_slot_of(h, name, &want, err);
    if (rc < 0)
        return rc;
    const uint64_t near = sfid__grant_clock_tick(h) + h->generator->max_ahead;
    const uint64_t tick = sfid__grant_position(h, sfid__holder_last_record(h), grant, 0) >>
                          h->generator->layout.seq_bits;
    rc = refuse_far(h, grant->pid, tick, err);
    if (rc == 0 && picky && !range_of_one(h) && tick > near)
        rc = sfid__fail(err, SFID_EAGAIN, "the mark of pid %" PRIu64 " lies ahead of the clock",
                        grant->pid);
    if (h->generator->shared)
        return sfid__share_name_end(h, &naming, grant->pid, rc == 0, err) < 0 ? err->code : rc;
    if (rc < 0)
        sfid__slot_drop(&h->slot);
    return rc;
}

/*
 * Finds the lease that a process has left in this slot, killed (an open record) or by a close (a
 * closed one that it left). The server is asked before the first ID, because it may have granted
 * the pid meanwhile: by init, or after a loss. Without an answer, the lease goes on if its window
 * is open (warm).
 */
static bool goes_on(struct sfid__holder *h, struct sfid__lease_event *found) {
    struct sfid__record *r = sfid__holder_last_record(h);
    /* then the page is not the right to its pid */
    const bool by_mark = h->generator->shared && !h->lease.terms.testifies;
    if (r == NULL || by_mark || sfid__grant_is_void(h, r) ||
        sfid__record_pid(r) < h->lease.terms.pid_min ||
        sfid__record_pid(r) > h->lease.terms.pid_max)
        return false;
    sfid__holder_follow_signs(h, r);
    if (sfid__grant_is_closed(r) &&
        (!sfid__record_is_left(r) || (r = sfid__grant_succeed(h, r)) == NULL))
        return false;
    sfid__grant_mend_highest(r);
    *found = sfid__holder_found_on_page(h);
    found->cold = true;
    found->warm =
        sfid__grant_limit(r) > SFID__MAX(sfid__grant_clock_tick(h),
                                         sfid__record_position(r) >> h->generator->layout.seq_bits);
    return true;
}

/* Says why no pid came in time, and how long that time was: the last attempt had only what the
 * others left. */
static int out_of_time(struct sfid__holder *h) {
    char over[80];
    const size_t n = strlen(h->error.text), most = sizeof h->error.text;
    snprintf(over, sizeof over, "; the %" PRIu32 " ms of open_timeout_ms are over",
             h->settings->opt.open_timeout_ms);
    if (h->error.code == 0)
        return sfid__fail(&h->error, SFID_ENOPID, "no pid was granted%s", over);
    if (n + strlen(over) < most) /* the cause is not cut off for this */
        memcpy(h->error.text + n, over, strlen(over) + 1);
    return h->error.code;
}

/* A server is not blamed for what a disk, or a busy processor, took. */
static int no_time_left(struct sfid__holder *h) {
    return sfid__fail(
        &h->error, SFID_ESTATE,
        "no time was left to ask the server for a pid: opening the run and the state directory had taken the %" PRIu32
        " ms of open_timeout_ms; look at their disk, and at the load of this host",
        h->settings->opt.open_timeout_ms);
}

/* Drives the machine until IDs can be generated, it gives up, or time is over. */
static int get_pid(struct sfid__holder *h) {
    struct sfid__lease_event begin = {.kind = SFID__LEASE_OPEN, .start = h->store->start};
    sfid__lease_init(&h->lease, &h->store->terms);
    sfid__holder_begin_boot(h);
    goes_on(h, &begin);
    if (h->store->server && !begin.warm && sfid__holder_monotonic_ms(h) >= h->deadline_ms)
        return no_time_left(h);
    h->process = sfid__process();
    int64_t due = sfid__holder_feed(h, begin);
    while (!h->lease.opened && !h->lease.gave_up) {
        const int64_t now = sfid__holder_monotonic_ms(h);
        if (now >= h->deadline_ms)
            return out_of_time(h);
        /* then look at the deadline again: a question without time left is not asked */
        if (due > now)
            h->generator->clock->sleep_ns(h->generator->clock,
                                          (SFID__MIN(due, h->deadline_ms) - now) * 1000000);
        else
            due = sfid__holder_step(h, false);
    }
    return h->lease.gave_up ? h->error.code : 0;
}

/* Takes the slot first: a lease in it may go on, and its number is part of this process's name at
 * the store. */
static int take_first_slot(struct sfid__holder *h, const char *machine) {
    const struct sfid__generator *g = h->generator;
    const uint64_t now = sfid__grant_clock_tick(h),
                   window = sfid__ms_to_ticks(&g->layout, h->settings->window_ms);
    const struct sfid__slot_want want = {h->of_pages, SFID__ANY_PID, now + 2 * window,
                                         h->deadline_ms};
    struct sfid__numbered row = {.run = &h->run,
                                 .app = h->settings->opt.app,
                                 .pids = g->layout.max_pid + 1,
                                 .over = &h->noticed->passed_over};
    const int rc = sfid__numbered_take(&h->slot, &row, &want, &h->error);
    if (rc == 0)
        snprintf(h->identity, sizeof h->identity, "%s:%" PRIu64, machine, row.number);
    return rc;
}

/* A keeper of any of the processes goes on from the page. */
static int get_shared(struct sfid__holder *h, const char *machine) {
    bool live;
    int rc = sfid__share_join(h, &live);
    if (rc < 0)
        return rc;
    h->error.code = 0; /* left over from pages that others had at first */
    /* Who begins the page as well as who joins: position_after_copy() of grant.c counts on it. */
    if (!h->store->terms.testifies)
        h->generator->max_ahead = SFID__MIN(h->generator->max_ahead, h->store->terms.window / 2);
    if (h->settings->store->slot_first) {
        snprintf(h->identity, sizeof h->identity, "%s:share.%u", machine, h->page_number);
        h->store->ops->name(h->store, h->identity);
    }
    const struct sfid__record *r = sfid__holder_last_record(h);
    h->store->prefer = r ? sfid__record_pid(r) : UINT64_MAX;
    if (live) {
        sfid__lease_init(&h->lease, &h->store->terms);
        h->lease.state = SFID__LEASE_HELD;
        h->lease.opened = h->lease.told = true;
        h->lease.pid = sfid__record_pid(r);
        return 0;
    }
    if (h->settings->joins)
        return sfid__fail(
            &h->error, SFID_ELEASE,
            "no process shares app \"%s\" now; share 2 joins one that was opened with share 1",
            h->settings->opt.app);
    rc = get_pid(h);
    if (rc == 0)
        rc = sfid__share_let_in(h);
    sfid__holder_unfollow(h);
    return rc;
}

static int open_store(struct sfid__holder *h, struct sfid__dir *state, const char *machine) {
    const bool slot_first = h->settings->store->slot_first;
    int rc = slot_first && !h->generator->shared ? take_first_slot(h, machine) : 0;
    if (rc == 0)
        rc = h->settings->store->make(&h->store, h->settings, h->identity, &h->error);
    if (rc < 0)
        return rc;
    atomic_init(&h->store->replicas, -1);
    h->store->state = state;
    h->store->accept = accept_pid;
    h->store->accepter = h;
    h->store->passed_over = &h->noticed->passed_over;
    h->store->slot = &h->slot;
    rc = h->generator->shared ? get_shared(h, machine) : get_pid(h);
    h->store->state = NULL;
    if (!slot_first)
        snprintf(h->identity, sizeof h->identity, "%s:pid-%" PRIu64, machine, h->lease.pid);
    return rc;
}

/* Most opens notice nothing, and a process may have thousands of handles. */
static void keep_noticed(struct sfid__holder *h) {
    if (h->noticed->passed_over.count || h->noticed->untrusted.code || h->noticed->stateless.code)
        return;
    if (h->store)
        h->store->passed_over = NULL;
    free(h->noticed);
    h->noticed = NULL;
}

int sfid__holder_open(struct sfid__holder *h, struct sfid__generator *g,
                      const struct sfid__settings *settings, int64_t deadline_ms) {
    h->generator = g;
    h->settings = settings;
    h->by_host = settings->plan.by_host;
    h->worker = settings->worker;
    h->of_pages = settings->of_pages;
    h->synced = settings->synced;
    h->deadline_ms = deadline_ms;
    if ((h->noticed = calloc(1, sizeof *h->noticed)) == NULL)
        return sfid__fail(&h->error, SFID_ENOMEM, "out of memory");
    char machine[SFID__MACHINE_ID];
    struct sfid__dir state;
    struct sfid__error *stateless =
        /* marks lie in the state directory */
        settings->store->slot_first ? &h->noticed->stateless : NULL;
    int rc = sfid__places_open(&h->run, &state, machine, &settings->opt, stateless,
                               &h->noticed->untrusted, &h->error);
    h->run_is_tmpfs = rc == 0 && sfid__dir_is_tmpfs(&h->run);
    if (rc == 0)
        rc = open_store(h, &state, machine);
    sfid__dir_close(&state);
    if (rc == 0) {
        const struct sfid__lease_terms *terms = &h->store->terms;
        g->page = h->slot.page;
        g->half_window = terms->window / 2;
        g->max_skew = terms->reach ? terms->reach - terms->window : 0;
    }
    sfid__dir_close(&h->run);
    keep_noticed(h);
    h->settings = NULL;
    h->deadline_ms = SFID__FOREVER;
    return rc;
}
