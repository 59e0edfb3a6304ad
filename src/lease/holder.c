/* SPDX-License-Identifier: MIT */
#include "lease/holder.h"

#include "base/process.h"
#include "base/random.h"
#include "draw/record.h"
#include "host/numbered.h"
#include "host/places.h"
#include "id/layout.h"
#include "lease/grant.h"
#include "lease/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t monotonic_ms(const struct sfid__holder *h) { return sfid__monotonic_ms(h->generator->clock); }

/* NULL while the slot has no record. */
static struct sfid__record *last_record(const struct sfid__holder *h) {
    return h->slot.page && h->slot.records ? &h->slot.page->records[h->slot.records - 1] : NULL;
}

/* ---- reporting ------------------------------------------------------------- */

static void tell_pid(const struct sfid__holder *h, sfid_event_kind kind, const char *what) {
    char text[160];
    if (h->tell == NULL)
        return;
    snprintf(text, sizeof text, "pid %" PRIu64 " is %s", sfid__holder_pid(h), what);
    sfid__holder_tell(h, kind, 0, 0, text);
}

static void tell_lost(const struct sfid__holder *h) {
    char text[SFID__ERROR_TEXT + 40];
    snprintf(text, sizeof text, "pid %" PRIu64 " is no longer held: %s", sfid__holder_pid(h), h->error.text);
    sfid__holder_tell(h, SFID_EVENT_LOST, h->error.code, 0, text);
}

static void extend(struct sfid__holder *h) {
    struct sfid__record *r = &h->slot.page->records[h->slot.records - 1];
    sfid__record_raise_limit(r, h->lease.limit);
    atomic_fetch_add_explicit(&r->renewals, 1, memory_order_relaxed); /* statistic */
}

static void tell_renewed(const struct sfid__holder *h) {
    const uint64_t now = h->tick, limit = h->lease.limit;
    sfid__holder_tell(h, SFID_EVENT_RENEWED, 0, limit > now ? (int64_t)((limit - now) * h->generator->layout.unit_ms) : 0,
                      "the window was extended");
}

/* ---- carrying out ---------------------------------------------------------- */

static void look_at_clock(struct sfid__holder *h) {
    h->now_ms = monotonic_ms(h);
    h->wall_ms = sfid__now(h->generator->clock).ms;
    h->tick = sfid__tick_of_ms(&h->generator->layout, h->wall_ms);
}

static void fill_event(struct sfid__holder *h, struct sfid__lease_event *e) {
    const struct sfid__record *r = last_record(h);
    e->now_ms = h->now_ms;
    e->tick = h->tick;
    if (r) {
        const uint64_t position = sfid__record_position(r);
        const uint64_t tick = position >> r->seq_bits;
        /* Relaxed: only pace depends on it. One tick more: exhaustion leaves every word there. */
        const uint64_t hi = atomic_load_explicit(&r->hi, memory_order_relaxed);
        e->idle = tick > SFID__MAX(e->tick + h->generator->max_ahead + 1, hi);
        if (e->kind != SFID__LEASE_CLOSE)
            e->position = position;
        e->tick = SFID__MAX(e->tick, tick);
    }
    sfid__random(e->random, sizeof e->random);
    e->random[0] |= 1;
    e->random[1] |= 1;
}

static int accept_pid(void *accepter, const struct sfid__reply *reply, bool picky, struct sfid__error *err);

/* R8: writes the error for a grant that the machine found impossible. */
static void refuse_grant(struct sfid__holder *h) {
    const char *server = h->store->server;
    sfid__fail(&h->error, server ? SFID_EREDIS : SFID_ESTATE,
               "%s: the answer to a %s is impossible: pid %" PRIu64 ", limit %" PRIu64 ", while the clock is at tick %" PRIu64,
               server ? server : "local", sfid__holder_has_pid(h) ? "renewal" : "claim", h->reply.pid, h->reply.limit, h->tick);
}

static void ask_store(struct sfid__holder *h, const struct sfid__lease_action *a, struct sfid__lease_event *next) {
    const struct sfid__record *r = last_record(h);
    const struct sfid__error before = h->error;
    const int64_t whole_ms = h->now_ms + h->store->exchange_ms;
    const struct sfid__ask ask = {.lease = a,
                                  .position = r ? sfid__record_position(r) : 0,
                                  .now = h->tick,
                                  .deadline_ms = SFID__MIN(whole_ms, h->deadline_ms),
                                  .give_up_ms = h->deadline_ms,
                                  .stop = h->stop,
                                  .page = h->slot.page ? h->slot.page->id.nonce : 0,
                                  .slot = h->slot.page ? &h->slot : NULL,
                                  .may_move = h->slot.records < SFID__PAGE_RECORDS,
                                  .accept = accept_pid,
                                  .accepter = h,
                                  .passed_over = &h->passed_over,
                                  .tell = h->tell,
                                  .listener = h->listener};
    h->reply = (struct sfid__reply){.pid = 0};
    const enum sfid__lease_answer answer = a->kind == SFID__DO_CLAIM ? h->store->ops->claim(h->store, &ask, &h->reply, &h->error)
                                                                     : h->store->ops->renew(h->store, &ask, &h->reply, &h->error);
    look_at_clock(h);
    /* An attempt that the end of opening cut short says less than the one before it. */
    if (answer == SFID__FAILED && before.code != 0 && h->deadline_ms < whole_ms && h->now_ms >= h->deadline_ms)
        h->error = before;
    *next = (struct sfid__lease_event){.kind = SFID__LEASE_ANSWER,
                                       .exchange = a->exchange,
                                       .answer = answer,
                                       .pid = h->reply.pid,
                                       .floor = h->reply.floor,
                                       .limit = h->reply.limit,
                                       .start = h->reply.start,
                                       .after_ms = h->reply.after_ms};
}

static void release(struct sfid__holder *h, const struct sfid__lease_action *a) {
    const struct sfid__ask ask = {.lease = a, .now = h->tick, .deadline_ms = h->now_ms + h->store->exchange_ms};
    h->store->ops->release(h->store, &ask, h->stopped);
}

/* *next is the event that caused the action. Returns true if *next is now the event that resulted. */
static bool carry_out(struct sfid__holder *h, const struct sfid__lease_action *a, struct sfid__lease_event *next) {
    switch (a->kind) {
    case SFID__DO_CLAIM:
    case SFID__DO_RENEW:
        ask_store(h, a, next);
        return true;
    case SFID__DO_ADOPT:
        h->error.code = 0;
        sfid__grant_adopt(h, last_record(h), a, next);
        return true;
    case SFID__DO_EXTEND:
        h->error.code = 0;
        extend(h);
        return false;
    case SFID__DO_SHUT:
        sfid__record_close(sfid__page_current(h->slot.page));
        return false;
    case SFID__DO_TELL_LEASED:
        tell_pid(h, SFID_EVENT_LEASED, "held");
        return false;
    case SFID__DO_TELL_LEASED_AGAIN:
        tell_pid(h, SFID_EVENT_LEASED_AGAIN, "held again");
        return false;
    case SFID__DO_TELL_RENEWED:
        tell_renewed(h);
        return false;
    case SFID__DO_TELL_LOST:
        tell_lost(h);
        return false;
    case SFID__DO_TELL_FAILED:
        if (next->kind == SFID__LEASE_ANSWER && (next->answer == SFID__GRANTED || next->answer == SFID__SWITCHED))
            refuse_grant(h);
        sfid__holder_tell(h, SFID_EVENT_RENEW_FAILED, h->error.code, 0, h->error.text);
        return false;
    case SFID__DO_GIVE_UP:
        h->gave_up = true;
        return false;
    case SFID__DO_RELEASE:
        release(h, a);
        return false;
    case SFID__DO_NOTE:
        sfid__record_note(sfid__page_current(h->slot.page), a->nonce, a->next_nonce);
        return false;
    case SFID__DO_SLEEP:
        return false;
    }
    return false;
}

/* Callers want the keeper at half of a window. Relaxed: pace. */
static void note_window(const struct sfid__holder *h) {
    const uint64_t half = sfid__lease_is_brief(&h->lease) ? SFID__MAX(h->lease.terms.first_window / 2, 1) : 0;
    if (h->slot.page)
        atomic_store_explicit(&h->slot.page->early, (uint32_t)SFID__MIN(half, UINT32_MAX), memory_order_relaxed);
}

/* Feeds an event to the machine, then the events that result, until the machine wants to sleep. Returns until when. */
static int64_t feed(struct sfid__holder *h, struct sfid__lease_event e) {
    look_at_clock(h);
    for (;;) {
        struct sfid__lease_actions actions;
        bool more = false;
        fill_event(h, &e);
        sfid__lease_step(&h->lease, &e, &actions);
        for (unsigned i = 0; i < actions.count; i++)
            more = carry_out(h, &actions.list[i], &e);
        if (!more) {
            note_window(h);
            return actions.count ? actions.list[actions.count - 1].due_ms : SFID__FOREVER;
        }
    }
}

/* The lease that the page's current record describes. */
static struct sfid__lease_event found_on_page(struct sfid__holder *h) {
    /* Acquire, with [publish] in record.c: another process of the family may have appended the record. */
    h->slot.records = atomic_load_explicit(&h->slot.page->current, memory_order_acquire) + 1;
    const struct sfid__record *r = &h->slot.page->records[h->slot.records - 1];
    return (struct sfid__lease_event){.kind = SFID__LEASE_RESUME,
                                      .pid = sfid__record_pid(r),
                                      .limit = sfid__grant_limit(r),
                                      .start = h->store->start, /* of a claim for an ordinary pid */
                                      .token = r->token,
                                      /* Relaxed: the keeper that wrote them is gone. */
                                      .nonce = atomic_load_explicit(&r->nonce, memory_order_relaxed),
                                      .next_nonce = atomic_load_explicit(&r->next_nonce, memory_order_relaxed)};
}

void sfid__holder_resume(struct sfid__holder *h) {
    if (h->process == sfid__process())
        return;
    h->process = sfid__process();
    struct sfid__lease_event begin = found_on_page(h);
    if (sfid__grant_is_closed(last_record(h))) /* R12: the keeper that closed it died before its next claim */
        begin = (struct sfid__lease_event){.kind = SFID__LEASE_OPEN, .start = h->store->start};
    feed(h, begin);
}

void sfid__holder_unfollow(struct sfid__holder *h) { h->process = 0; }

void sfid__holder_sit(struct sfid__holder *h, unsigned seat) {
    if (!h->shared)
        return;
    sfid__holder_unfollow(h);
    h->store->ops->sit(h->store, seat);
}

int64_t sfid__holder_step(struct sfid__holder *h, bool poked) {
    if (h->shared && h->lease.opened && sfid__share_moved_on(h) && sfid__holder_has_pid(h)) {
        sfid__holder_unfollow(h); /* a keeper that was late has closed the record, or replaced it */
        sfid__holder_resume(h);
    }
    return feed(h, (struct sfid__lease_event){.kind = SFID__LEASE_WAKE, .poked = poked});
}

/* ---- open ------------------------------------------------------------------ */

static bool range_of_one(const struct sfid__holder *h) { return h->lease.terms.pid_min == h->lease.terms.pid_max; }

/*
 * The page is a lower bound, too: its mark may have been lost or set back to an older copy, and the clock may have
 * gone back since. A page that is more than two windows ahead of both counts as damaged. Without a mark the
 * layout's end is the bound: no window passes it, and a mark has no room for ticks from there on.
 */
static struct sfid__slot_want want_of(const struct sfid__holder *h, const struct sfid__reply *reply) {
    const uint64_t now = sfid__grant_tick_in(h, h->settings->opt.max_skew_ms);
    const uint64_t most = reply->position ? SFID__MAX(reply->limit, now) + 2 * h->store->terms.window : UINT64_MAX;
    return (struct sfid__slot_want){h->of_pages, reply->pid, SFID__MIN(most, h->store->terms.end)};
}

static int take_slot_of(struct sfid__holder *h, const char *name, const struct sfid__slot_want *want, struct sfid__error *err) {
    struct sfid__dir app;
    const int rc = sfid__dir_open_sub(&app, &h->run, h->settings->opt.app, err);
    return rc < 0 ? rc : sfid__slot_take(&h->slot, &app, name, want, err);
}

/*
 * Looks at a pid whose lock the store has taken, while the holder has no pid yet. The pid's page has to be free, too:
 * a process that lost the state directory still holds it. And its position has to be near: after a power loss the mark
 * lies ahead, and another pid does not have to wait.
 */
static int accept_pid(void *accepter, const struct sfid__reply *reply, bool picky, struct sfid__error *err) {
    struct sfid__holder *h = accepter;
    struct sfid__slot_naming naming;
    char name[32];
    if (h->slot.page && (!h->shared || h->lease.opened))
        return 0; /* the slot came first, or this is the same pid again */
    const struct sfid__slot_want want = want_of(h, reply);
    snprintf(name, sizeof name, "pid-%" PRIu64, reply->pid);
    int rc = h->shared ? sfid__share_name_begin(h, name, &want, &naming, err) : take_slot_of(h, name, &want, err);
    if (rc < 0)
        return rc;
    const uint64_t near = sfid__grant_clock_tick(h) + h->generator->max_ahead;
    const uint64_t position = sfid__grant_position(h, last_record(h), reply, 0);
    if (picky && !range_of_one(h) && position >> h->generator->layout.seq_bits > near)
        rc = sfid__fail(err, SFID_EAGAIN, "the mark of pid %" PRIu64 " lies ahead of the clock", reply->pid);
    if (h->shared)
        return sfid__share_name_end(h, &naming, reply->pid, rc == 0, err) < 0 ? err->code : rc;
    if (rc < 0)
        sfid__slot_drop(&h->slot);
    return rc;
}

/*
 * Finds the lease that a process left behind in this slot. Inside its window the lease goes on at once, whether or not
 * the server can be reached, and the keeper renews it. Otherwise (cold) it is renewed first.
 */
static bool goes_on(struct sfid__holder *h, struct sfid__lease_event *found) {
    struct sfid__record *r = last_record(h);
    if (r == NULL || h->shared || sfid__grant_is_closed(r) || sfid__record_pid(r) < h->lease.terms.pid_min ||
        sfid__record_pid(r) > h->lease.terms.pid_max)
        return false; /* of a page that is shared, the right lies in the mark */
    sfid__grant_mend_highest(r);
    *found = found_on_page(h);
    found->cold =
        sfid__grant_limit(r) <= SFID__MAX(sfid__grant_clock_tick(h), sfid__record_position(r) >> h->generator->layout.seq_bits);
    return true;
}

/* Says why no pid came in time, and how long that time was: the last attempt had only what the others left. */
static int out_of_time(struct sfid__holder *h) {
    char over[80];
    const size_t n = strlen(h->error.text), most = sizeof h->error.text;
    snprintf(over, sizeof over, "; the %" PRIu32 " ms of open_timeout_ms are over", h->settings->opt.open_timeout_ms);
    if (h->error.code == 0)
        return sfid__fail(&h->error, SFID_ENOPID, "no pid was granted%s", over);
    if (n + strlen(over) < most) /* the cause is not cut off for this */
        memcpy(h->error.text + n, over, strlen(over) + 1);
    return h->error.code;
}

/* Drives the machine until IDs can be generated, it gives up, or time is over. */
static int get_pid(struct sfid__holder *h) {
    struct sfid__lease_event begin = {.kind = SFID__LEASE_OPEN, .start = h->store->start};
    if (goes_on(h, &begin) && !begin.cold) {
        h->lease.state = SFID__LEASE_HELD;
        h->lease.opened = true;
        h->lease.pid = begin.pid;
        return 0;
    }
    h->process = sfid__process();
    int64_t due = feed(h, begin);
    while (!h->lease.opened && !h->gave_up) {
        const int64_t now = monotonic_ms(h);
        if (now >= h->deadline_ms)
            return out_of_time(h);
        if (due > now) /* then look at the deadline again: a question without time left is not asked */
            h->generator->clock->sleep_ns(h->generator->clock, (SFID__MIN(due, h->deadline_ms) - now) * 1000000);
        else
            due = sfid__holder_step(h, false);
    }
    return h->gave_up ? h->error.code : 0;
}

/* Takes the slot first: a lease in it may go on, and its number is part of this process's name at the store. */
static int take_first_slot(struct sfid__holder *h, const char *machine) {
    const struct sfid__generator *g = h->generator;
    const uint64_t now = sfid__grant_clock_tick(h), window = sfid__ms_to_ticks(&g->layout, h->settings->window_ms);
    const struct sfid__slot_want want = {h->of_pages, SFID__ANY_PID, now + 2 * window};
    struct sfid__numbered row = {
        .run = &h->run, .app = h->settings->opt.app, .pids = g->layout.max_pid + 1, .over = &h->passed_over};
    const int rc = sfid__numbered_take(&h->slot, &row, &want, &h->error);
    if (rc == 0)
        snprintf(h->identity, sizeof h->identity, "%s:%" PRIu64, machine, row.number);
    return rc;
}

static int get_own(struct sfid__holder *h) {
    sfid__lease_init(&h->lease, &h->store->terms);
    return get_pid(h);
}

/* A keeper of any of the processes goes on from the page. */
static int get_shared(struct sfid__holder *h) {
    bool live;
    int rc = sfid__share_join(h, &live);
    if (rc < 0)
        return rc;
    const struct sfid__record *r = last_record(h);
    h->store->prefer = r ? sfid__record_pid(r) : UINT64_MAX;
    if (live) {
        sfid__lease_init(&h->lease, &h->store->terms);
        h->lease.state = SFID__LEASE_HELD;
        h->lease.opened = h->lease.told = true;
        h->lease.pid = sfid__record_pid(r);
        h->error.code = 0;
        return 0;
    }
    rc = get_own(h);
    if (rc == 0)
        rc = sfid__share_let_in(h);
    sfid__holder_unfollow(h);
    return rc;
}

static int open_store(struct sfid__holder *h, const char *machine) {
    const bool slot_first = h->settings->store->slot_first;
    int rc = slot_first ? take_first_slot(h, machine) : 0;
    if (rc == 0)
        rc = h->settings->store->make(&h->store, h->settings, h->identity, &h->error);
    if (rc < 0)
        return rc;
    atomic_init(&h->store->replicas, -1);
    rc = h->shared ? get_shared(h) : get_own(h);
    if (!slot_first)
        snprintf(h->identity, sizeof h->identity, "%s:pid-%" PRIu64, machine, h->lease.pid);
    return rc;
}

int sfid__holder_open(struct sfid__holder *h, struct sfid__generator *g, const struct sfid__settings *settings,
                      int64_t deadline_ms) {
    h->generator = g;
    h->settings = settings;
    h->by_host = settings->plan.by_host;
    h->worker = settings->worker;
    h->of_pages = settings->of_pages;
    h->synced = settings->synced;
    h->shared = settings->shared;
    h->deadline_ms = deadline_ms;
    char machine[SFID__MACHINE_ID];
    struct sfid__error *stateless = settings->store->slot_first ? &h->stateless : NULL; /* marks lie in the state directory */
    int rc = sfid__places_open(&h->run, machine, &settings->opt, stateless, &h->error);
    h->run_is_tmpfs = rc == 0 && sfid__dir_is_tmpfs(&h->run);
    if (rc == 0)
        rc = open_store(h, machine);
    if (rc == 0) {
        const struct sfid__lease_terms *terms = &h->store->terms;
        g->page = h->slot.page;
        g->half_window = terms->window / 2;
        g->max_skew = terms->reach ? terms->reach - terms->window : 0;
    }
    sfid__dir_close(&h->run);
    h->settings = NULL;
    h->deadline_ms = SFID__FOREVER;
    return rc;
}

/* ---- for others to see ----------------------------------------------------- */

void sfid__holder_attend(struct sfid__holder *h, sfid__teller *teller, void *listener, const _Atomic int *stop) {
    h->tell = teller;
    h->listener = listener;
    h->stop = stop;
}

/* ---- close ----------------------------------------------------------------- */

/* The first tick that is unused for good. A word may lie past the window, if its position was refused; the result never does. */
static uint64_t first_unused(const struct sfid__holder *h, const struct sfid__record *r) {
    const uint64_t in_tick = (UINT64_C(1) << h->generator->layout.seq_bits) - 1;
    const uint64_t tick = (h->stopped + in_tick) >> h->generator->layout.seq_bits;
    return SFID__MIN(tick, sfid__grant_limit(r));
}

/* If a step is left out, the next open makes up for it. */
void sfid__holder_close(struct sfid__holder *h) {
    struct sfid__lease_event close = {.kind = SFID__LEASE_CLOSE};
    const bool last = h->shared ? sfid__share_is_last(h) : h->store->ops->is_last(h->store, &h->slot);
    if (last) {
        struct sfid__record *r = sfid__page_current(h->slot.page);
        if (h->process != sfid__process()) { /* the lease to release is the page's */
            struct sfid__lease_actions none;
            const struct sfid__lease_event found = found_on_page(h);
            sfid__lease_step(&h->lease, &found, &none);
        }
        h->stopped = sfid__record_close(r);
        close.position = first_unused(h, r);
        sfid__numbered_leave(&h->slot); /* for a slot with a pid's name, nothing */
    }
    if (h->shared) { /* the pid first: a process that is alone with the page wants the pid that was there */
        if (last)
            feed(h, close);
        h->store->ops->drop(h->store);
        h->store = NULL;
    }
    sfid__slot_leave(&h->slot); /* before the pid is free: its next holder wants this lock, too */
    h->slot.records = 0;
    if (last && !h->shared)
        feed(h, close);
}

void sfid__holder_drop(struct sfid__holder *h) {
    if (h->store)
        h->store->ops->drop(h->store);
    h->store = NULL;
    sfid__slot_drop(&h->slot);
}
