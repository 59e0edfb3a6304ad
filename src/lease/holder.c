/* SPDX-License-Identifier: MIT */
#include "lease/holder.h"

#include "base/process.h"
#include "base/random.h"
#include "draw/record.h"
#include "host/numbered.h"
#include "host/places.h"
#include "id/layout.h"
#include "lease/grant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t monotonic_ms(const struct sfid__holder *h) { return sfid__monotonic_ms(h->generator->clock); }

/* ---- reporting ------------------------------------------------------------- */

static void tell(const struct sfid__holder *h, sfid_event_kind kind, int code, int64_t value, const char *text) {
    if (h->tell)
        h->tell(h->listener, kind, code, value, text);
}

static void tell_pid(const struct sfid__holder *h, sfid_event_kind kind, const char *what) {
    char text[160];
    snprintf(text, sizeof text, "pid %" PRIu64 " is %s", sfid__holder_pid(h), what);
    tell(h, kind, 0, 0, text);
}

static void tell_lost(const struct sfid__holder *h) {
    char text[SFID__ERROR_TEXT + 40];
    snprintf(text, sizeof text, "pid %" PRIu64 " is no longer held: %s", sfid__holder_pid(h), h->error.text);
    tell(h, SFID_EVENT_LOST, h->error.code, 0, text);
}

static void extend(struct sfid__holder *h) {
    struct sfid__record *r = &h->slot.page->records[h->slot.records - 1];
    sfid__record_raise_limit(r, h->lease.limit);
    atomic_fetch_add_explicit(&r->renewals, 1, memory_order_relaxed); /* statistic */
}

static void tell_renewed(const struct sfid__holder *h) {
    const uint64_t now = h->tick, limit = h->lease.limit;
    tell(h, SFID_EVENT_RENEWED, 0, limit > now ? (int64_t)((limit - now) * h->generator->layout.unit_ms) : 0,
         "the window was extended");
}

/* ---- carrying out ---------------------------------------------------------- */

static void fill_event(struct sfid__holder *h, struct sfid__lease_event *e) {
    e->now_ms = monotonic_ms(h);
    const struct sfid__record *r = sfid__grant_last_record(h);
    e->tick = h->tick = sfid__grant_clock_tick(h);
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
    const struct sfid__record *r = sfid__grant_last_record(h);
    const struct sfid__error before = h->error;
    const int64_t whole_ms = next->now_ms + h->store->exchange_ms;
    const struct sfid__ask ask = {.lease = a,
                                  .position = r ? sfid__record_position(r) : 0,
                                  .now = h->tick,
                                  .deadline_ms = SFID__MIN(whole_ms, h->deadline_ms),
                                  .give_up_ms = h->deadline_ms,
                                  .stop = h->stop,
                                  .page = h->slot.page ? h->slot.page->id.nonce : 0,
                                  .page_lost = a->kind == SFID__DO_CLAIM && h->slot.page && !sfid__slot_in_place(&h->slot),
                                  .may_move = h->slot.records < SFID__PAGE_RECORDS,
                                  .accept = accept_pid,
                                  .accepter = h,
                                  .passed_over = &h->passed_over,
                                  .tell = h->tell,
                                  .listener = h->listener};
    h->reply = (struct sfid__reply){.pid = 0};
    const enum sfid__lease_answer answer = a->kind == SFID__DO_CLAIM ? h->store->ops->claim(h->store, &ask, &h->reply, &h->error)
                                                                     : h->store->ops->renew(h->store, &ask, &h->reply, &h->error);
    /* An attempt that the end of opening cut short says less than the one before it. */
    if (answer == SFID__FAILED && before.code != 0 && h->deadline_ms < whole_ms && monotonic_ms(h) >= h->deadline_ms)
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

static void release(struct sfid__holder *h, const struct sfid__lease_action *a, int64_t now_ms) {
    const struct sfid__ask ask = {.lease = a, .now = h->tick, .deadline_ms = now_ms + h->store->exchange_ms};
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
        sfid__grant_adopt(h, a, next);
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
        tell(h, SFID_EVENT_RENEW_FAILED, h->error.code, 0, h->error.text);
        return false;
    case SFID__DO_GIVE_UP:
        h->gave_up = true;
        return false;
    case SFID__DO_RELEASE:
        release(h, a, next->now_ms);
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

int64_t sfid__holder_step(struct sfid__holder *h, bool poked) {
    return feed(h, (struct sfid__lease_event){.kind = SFID__LEASE_WAKE, .poked = poked});
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
    if (sfid__grant_is_closed(sfid__grant_last_record(h))) /* R12: the keeper that closed it died before its next claim */
        begin = (struct sfid__lease_event){.kind = SFID__LEASE_OPEN, .start = h->store->start};
    feed(h, begin);
}

void sfid__holder_unfollow(struct sfid__holder *h) { h->process = 0; }

/* ---- open ------------------------------------------------------------------ */

static bool range_of_one(const struct sfid__holder *h) { return h->lease.terms.pid_min == h->lease.terms.pid_max; }

static int take_slot_of(struct sfid__holder *h, const struct sfid__reply *reply, struct sfid__error *err) {
    struct sfid__dir app;
    char name[32];
    int rc = sfid__dir_open_sub(&app, &h->run, h->settings->opt.app, err);
    if (rc < 0)
        return rc;
    snprintf(name, sizeof name, "pid-%" PRIu64, reply->pid);
    /*
     * The page is a lower bound, too: its mark may have been lost or set back to an older copy, and the clock may have
     * gone back since. A page that is more than two windows ahead of both counts as damaged. Without a mark the
     * layout's end is the bound: no window passes it, and a mark has no room for ticks from there on.
     */
    const uint64_t now = sfid__grant_tick_in(h, h->settings->opt.max_skew_ms);
    const uint64_t most = reply->position ? SFID__MAX(reply->limit, now) + 2 * h->store->terms.window : UINT64_MAX;
    const struct sfid__slot_want want = {h->of_pages, reply->pid, SFID__MIN(most, h->store->terms.end)};
    return sfid__slot_take(&h->slot, &app, name, &want, err);
}

/*
 * Looks at a pid whose lock the store has taken, while the holder has no page yet. The pid's page has to be free, too:
 * a process that lost the state directory still holds it. And its position has to be near: after a power loss the mark
 * lies ahead, and another pid does not have to wait.
 */
static int accept_pid(void *accepter, const struct sfid__reply *reply, bool picky, struct sfid__error *err) {
    struct sfid__holder *h = accepter;
    if (h->slot.page)
        return 0; /* the slot came first, or this is the same pid again */
    const int rc = take_slot_of(h, reply, err);
    if (rc < 0)
        return rc;
    const uint64_t near = sfid__grant_clock_tick(h) + h->generator->max_ahead;
    const uint64_t position = sfid__grant_position(h, reply, 0);
    if (!picky || range_of_one(h) || position >> h->generator->layout.seq_bits <= near)
        return 0;
    sfid__slot_drop(&h->slot);
    return sfid__fail(err, SFID_EAGAIN, "the mark of pid %" PRIu64 " lies ahead of the clock", reply->pid);
}

/*
 * Finds the lease that a process left behind in this slot. Inside its window the lease goes on at once, whether or not
 * the server can be reached, and the keeper renews it. Otherwise (cold) it is renewed first.
 */
static bool goes_on(struct sfid__holder *h, struct sfid__lease_event *found) {
    struct sfid__record *r = sfid__grant_last_record(h);
    if (r == NULL || sfid__grant_is_closed(r) || sfid__record_pid(r) < h->lease.terms.pid_min ||
        sfid__record_pid(r) > h->lease.terms.pid_max)
        return false;
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
    const uint64_t window = sfid__ms_to_ticks(&g->layout, h->settings->window_ms);
    const struct sfid__slot_want want = {h->of_pages, SFID__ANY_PID, sfid__grant_clock_tick(h) + 2 * window};
    struct sfid__numbered row = {
        .run = &h->run, .app = h->settings->opt.app, .pids = g->layout.max_pid + 1, .over = &h->passed_over};
    const int rc = sfid__numbered_take(&h->slot, &row, &want, &h->error);
    if (rc == 0)
        snprintf(h->identity, sizeof h->identity, "%s:%" PRIu64, machine, row.number);
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
    sfid__lease_init(&h->lease, &h->store->terms);
    rc = get_pid(h);
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

static void tell_stateless(const struct sfid__holder *h) {
    char text[SFID__ERROR_TEXT + 80];
    snprintf(text, sizeof text, "the identity of this host lives in the run directory until the next boot: %s", h->stateless.text);
    tell(h, SFID_EVENT_NO_STATE_DIR, h->stateless.code, 0, text);
}

static void tell_passed_over(const struct sfid__holder *h) {
    const struct sfid__passed_over *over = &h->passed_over;
    char text[SFID__ERROR_TEXT + 60];
    snprintf(text, sizeof text, "passed over %u pid%s: %s", over->count, over->count == 1 ? "" : "s; the first", over->first.text);
    tell(h, SFID_EVENT_UNUSABLE, over->first.code, over->count, text);
}

/* Relaxed: this thread drives the store by now. */
static void tell_server(const struct sfid__holder *h) {
    const struct sfid__store *store = h->store;
    char text[SFID__ERROR_TEXT];
    snprintf(text, sizeof text, "%s answers", store->server);
    if (atomic_load_explicit(&store->connected, memory_order_relaxed))
        tell(h, SFID_EVENT_CONNECTED, 0, store->answer_ms, text);
    if (store->stranger.text[0])
        tell(h, SFID_EVENT_FOREIGN, 0, (int64_t)store->stranger_pid, store->stranger.text);
    if (store->unreplicated.text[0])
        tell(h, SFID_EVENT_UNREPLICATED, store->unreplicated.code,
             SFID__MAX(atomic_load_explicit(&store->replicas, memory_order_relaxed), 0), store->unreplicated.text);
}

void sfid__holder_attend(struct sfid__holder *h, sfid__teller *teller, void *listener, const _Atomic int *stop) {
    h->tell = teller;
    h->listener = listener;
    h->stop = stop;
}

void sfid__holder_tell_opened(const struct sfid__holder *h) {
    char text[160];
    if (h->slot.put_aside[0]) {
        snprintf(text, sizeof text, "the slot file of this pid was replaced: %s", h->slot.put_aside);
        tell(h, SFID_EVENT_SLOT_REPLACED, 0, 0, text);
    }
    if (h->passed_over.count)
        tell_passed_over(h);
    if (!h->run_is_tmpfs)
        tell(h, SFID_EVENT_NOT_TMPFS, 0, 0, "the run directory is not on a tmpfs: a call may stall while its page is written back");
    if (h->stateless.code)
        tell_stateless(h);
    if (!h->synced)
        tell(h, SFID_EVENT_NOT_DURABLE, 0, 0, "the mark is not synced (mark=none): after a power loss IDs may repeat");
    if (h->store->server)
        tell_server(h);
}

/* Relaxed: the status need not be exact. */
void sfid__holder_status(const struct sfid__holder *h, sfid_status_info *out) {
    out->connected = atomic_load_explicit(&h->store->connected, memory_order_relaxed);
    out->replicas = atomic_load_explicit(&h->store->replicas, memory_order_relaxed);
    out->skew_ms = atomic_load_explicit(&h->store->skew_ms, memory_order_relaxed);
    snprintf(out->identity, sizeof out->identity, "%s", h->identity);
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
    const bool last = h->store->ops->is_last(h->store, &h->slot);
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
    sfid__slot_leave(&h->slot); /* before the pid is free: its next holder wants this lock, too */
    h->slot.records = 0;
    if (last)
        feed(h, close);
}

void sfid__holder_drop(struct sfid__holder *h) {
    if (h->store)
        h->store->ops->drop(h->store);
    h->store = NULL;
    sfid__slot_drop(&h->slot);
}
