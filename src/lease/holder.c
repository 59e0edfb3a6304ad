/* SPDX-License-Identifier: MIT */
#include "lease/holder.h"

#include "base/hash.h"
#include "base/process.h"
#include "base/random.h"
#include "draw/record.h"
#include "host/numbered.h"
#include "id/layout.h"
#include "lease/grant.h"
#include "lease/holder_tell.h"
#include "lease/nonces.h"
#include "lease/share.h"
#include "lease/takeover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BRIEFLY_MS 300 /* for an answer without which it goes on as well */
#define CLOSE_MS 1300  /* for all that a close asks a server */

static void extend(struct sfid__holder *h) {
    struct sfid__record *r = &h->slot.page->records[h->slot.records - 1];
    sfid__record_raise_limit(r, h->lease.limit);
    sfid__page_announce(h->slot.page);
    atomic_fetch_add_explicit(&r->renewals, 1, memory_order_relaxed); /* statistic */
}

static void look_at_clock(struct sfid__holder *h) {
    const struct sfid__generator *g = h->generator;
    h->now_ms = sfid__monotonic_ms(g->clock);
    h->wall_ms = sfid__now(g->clock).ms;
    h->tick = sfid__tick_of_ms(&g->layout, h->wall_ms);
}

/* ---- copies of this machine --------------------------------------------------- */

/* A hash of its ID; 0 if that is not known. */
static uint64_t sign_of_boot(const uint8_t id[16]) {
    static const uint8_t unknown[16];
    return memcmp(id, unknown, sizeof unknown) == 0
               ? 0
               : sfid__hash(SFID__HASH_SEED, id, sizeof unknown) | 1;
}

void sfid__holder_look_at_boot(struct sfid__holder *h) {
    uint8_t id[16];
    h->boot = sfid__boot_id(id) == 0 ? sign_of_boot(id) : 0;
}

void sfid__holder_begin_boot(struct sfid__holder *h) {
    if (h->slot.page)
        h->boot = sign_of_boot(h->slot.page->id.boot_id);
    else
        sfid__holder_look_at_boot(h);
}

/*
 * R13. True if this machine is a copy of the one that asked for the lease. Of a page that is not
 * shared, the record is closed by its keeper alone, or by a call that noticed it: perhaps of a
 * child that sees more of the machine than this process.
 */
static bool is_copied(const struct sfid__holder *h) {
    const struct sfid__record *r = sfid__holder_last_record(h);
    if (sfid__signs_changed(&h->signs, h->boot))
        return true;
    if (h->shunned) /* R10: that record is the last one still, and a claim is under way or due */
        return false;
    if (sfid__grant_is_void(h, r))
        return true;
    return !h->generator->shared && sfid__holder_has_pid(h) && r && sfid__grant_is_closed(r);
}

/* The event that says so. The record that it closes is this process's last: a newer one is not
 * void. */
static struct sfid__lease_event found_copied(struct sfid__holder *h) {
    h->shunned = true;
    sfid__fail(
        &h->error, SFID_ELEASE,
        "this machine was suspended, or is a copy of another, which may go on with the same pid: no ID of before is used");
    return (struct sfid__lease_event){.kind = SFID__LEASE_COPIED};
}

/* Before a token is made. */
static void begin_token(struct sfid__holder *h) {
    sfid__signs_read(&h->signs);
    h->signs.boot = h->boot;
}

/* ---- carrying out ---------------------------------------------------------- */

static void fill_event(struct sfid__holder *h, struct sfid__lease_event *e) {
    const struct sfid__record *r = sfid__holder_last_record(h);
    e->now_ms = h->now_ms;
    e->tick = h->tick;
    if (r) {
        const uint64_t position = sfid__record_position(r);
        const uint64_t tick = sfid__record_tick(r, position);
        /* Relaxed: only pace depends on it. One tick more: exhaustion leaves every word there. */
        const uint64_t hi = atomic_load_explicit(&r->hi, memory_order_relaxed);
        e->idle = tick > SFID__MAX(e->tick + h->generator->max_ahead + 1, hi);
        if (e->kind != SFID__LEASE_CLOSE)
            e->position = position;
        e->tick = SFID__MAX(e->tick, tick);
    }
    sfid__random_stirred(e->random, sizeof e->random, h->signs.generation);
    e->random[0] |= 1;
    e->random[1] |= 1;
}

/* R8: writes the error for a grant that the machine found impossible. */
static void refuse_grant(struct sfid__holder *h, const struct sfid__lease_event *grant) {
    const char *server = h->store->server;
    sfid__fail(&h->error, server ? SFID_EREDIS : SFID_ESTATE,
               "%s: the answer to a %s is impossible: pid %" PRIu64 ", limit %" PRIu64
               ", while the clock is at tick %" PRIu64,
               server ? server : "local", sfid__holder_has_pid(h) ? "renewal" : "claim", grant->pid,
               grant->limit, h->tick);
}

/* Closing. */
static void leave_not(struct sfid__holder *h) {
    if (h->left)
        sfid__record_leave(sfid__holder_last_record(h), false);
    h->left = false;
}

static void ask_store(struct sfid__holder *h, struct sfid__lease_action *a,
                      struct sfid__lease_event *next) {
    if (a->kind == SFID__DO_RENEW && sfid__holder_shares_lease(h))
        sfid__takeover_show(h, a);
    const struct sfid__record *r = sfid__holder_last_record(h);
    const struct sfid__error before = h->error;
    const bool ends = h->lease.state == SFID__LEASE_ENDED;
    /* R7, R9 */
    const bool may_do_without =
        ends || (a->kind == SFID__DO_RENEW && h->lease.warm && !h->lease.opened);
    const int64_t whole_ms =
        h->now_ms + SFID__MIN(h->store->exchange_ms, may_do_without ? BRIEFLY_MS : INT64_MAX);
    a->now = h->tick;
    a->page_nonce = h->slot.page ? h->slot.page->id.nonce : 0;
    a->position = r ? sfid__record_position(r) : 0;
    a->deadline_ms = SFID__MIN(whole_ms, h->deadline_ms);
    a->give_up_ms = h->deadline_ms;
    a->stop = h->stop;
    if (h->slot.records == SFID__PAGE_RECORDS) /* R11: another pid's record has no room */
        a->move_token = 0;
    *next = (struct sfid__lease_event){.pid = 0};
    const enum sfid__lease_answer answer = a->kind == SFID__DO_CLAIM
                                               ? h->store->ops->claim(h->store, a, next, &h->error)
                                               : h->store->ops->renew(h->store, a, next, &h->error);
    next->kind = SFID__LEASE_ANSWER;
    next->answer = answer;
    look_at_clock(h);
    /* An attempt that the end of opening cut short says less than the one before it. */
    if (answer == SFID__FAILED && before.code != 0 && h->deadline_ms < whole_ms &&
        h->now_ms >= h->deadline_ms)
        h->error = before;
    if (sfid__signs_changed(&h->signs, 0)) /* the other copy may have the same answer */
        *next = found_copied(h);
    if (ends &&
        (answer == SFID__LOST || answer == SFID__FOREIGN || next->kind == SFID__LEASE_COPIED))
        leave_not(h);
}

/*
 * R7. What a gentle end leaves is worth no less than what a kill does, and nothing that another may
 * have. While nothing of a release was sent, a successor may go on with the lease; so a server that
 * does not answer is not sent one. From the first byte on the server may free the pid. If it surely
 * wrote nothing, the lease is what it was before.
 */
static void release_slot(struct sfid__holder *h, struct sfid__lease_action *a,
                         struct sfid__lease_event *next) {
    const struct sfid__store_ops *ops = h->store->ops;
    struct sfid__record *r = sfid__holder_last_record(h);
    *next = (struct sfid__lease_event){.kind = SFID__LEASE_ANSWER, .answer = SFID__FAILED};
    if (ops->answers && !h->lease.shown &&
        !ops->answers(h->store, a->pid, h->deadline_ms, &h->error))
        return;
    const bool left = h->left;
    leave_not(h);
    a->position = h->stopped;
    a->deadline_ms = SFID__MIN(h->now_ms + h->store->exchange_ms, h->deadline_ms);
    next->answer = ops->release(h->store, a, &h->error);
    /* R13: the answer may be the other copy's */
    h->left = left && next->answer != SFID__GRANTED && !sfid__grant_is_void(h, r);
    if (h->left)
        sfid__record_leave(r, true);
    look_at_clock(h);
}

/* The nonces of a lease whose keepers change are noted when they are shown:
 * sfid__takeover_show(). */
static void note_grant(const struct sfid__holder *h, const struct sfid__lease_action *a) {
    if (!sfid__holder_shares_lease(h))
        sfid__record_note(sfid__page_current(h->slot.page), a->nonce, a->next_nonce);
    else if (a->next_nonce == 0)
        sfid__nonces_answered(sfid__holder_last_record(h), a->nonce);
}

/* *next is the event that caused the action. Returns true if *next is now the event that
 * resulted. */
static bool carry_out(struct sfid__holder *h, struct sfid__lease_action *a,
                      struct sfid__lease_event *next) {
    switch (a->kind) {
    case SFID__DO_CLAIM:
    case SFID__DO_RENEW:
        ask_store(h, a, next);
        return true;
    case SFID__DO_ADOPT:
        h->error.code = 0;
        sfid__grant_adopt(h, sfid__holder_last_record(h), a, next);
        return true;
    case SFID__DO_EXTEND:
        h->error.code = 0;
        extend(h);
        return false;
    case SFID__DO_SHUT:
        if (sfid__holder_last_record(h))
            sfid__record_close(sfid__holder_last_record(h));
        return false;
    case SFID__DO_TELL_LEASED:
        sfid__holder_tell_pid(h, SFID_EVENT_LEASED, "held");
        return false;
    case SFID__DO_TELL_LEASED_AGAIN:
        sfid__holder_tell_pid(h, SFID_EVENT_LEASED_AGAIN, "held again");
        return false;
    case SFID__DO_TELL_RENEWED:
        sfid__holder_tell_renewed(h);
        return false;
    case SFID__DO_TELL_LOST:
        sfid__holder_tell_lost(h);
        return false;
    case SFID__DO_TELL_FAILED:
        if (next->kind == SFID__LEASE_ANSWER &&
            (next->answer == SFID__GRANTED || next->answer == SFID__SWITCHED))
            refuse_grant(h, next);
        sfid__holder_tell(h, SFID_EVENT_RENEW_FAILED, h->error.code, 0, h->error.text);
        return false;
    case SFID__DO_RELEASE:
        release_slot(h, a, next);
        return true;
    case SFID__DO_NOTE:
        note_grant(h, a);
        return false;
    case SFID__DO_GIVE_UP: /* get_pid() reads lease.gave_up */
    case SFID__DO_SLEEP:
        return false;
    }
    return false;
}

/* Callers want the keeper at half of a window. Relaxed: pace. */
static void note_window(const struct sfid__holder *h) {
    const uint64_t half =
        sfid__lease_is_brief(&h->lease) ? SFID__MAX(h->lease.terms.first_window / 2, 1) : 0;
    if (h->slot.page)
        atomic_store_explicit(&h->slot.page->early, (uint32_t)SFID__MIN(half, UINT32_MAX),
                              memory_order_relaxed);
}

/* Feeds an event to the machine, then the events that result, until the machine wants to sleep.
 * Returns until when. */
int64_t sfid__holder_feed(struct sfid__holder *h, struct sfid__lease_event e) {
    look_at_clock(h);
    for (;;) {
        struct sfid__lease_actions actions;
        bool more = false;
        if (e.kind == SFID__LEASE_OPEN || e.kind == SFID__LEASE_COPIED)
            begin_token(h);
        fill_event(h, &e);
        sfid__lease_step(&h->lease, &e, &actions);
        for (unsigned i = 0; i < actions.count; i++)
            more = carry_out(h, &actions.list[i], &e);
        if (more && h->generator->shared &&
            !sfid__takeover_counts(h, &actions.list[actions.count - 1], &e))
            return h->now_ms;
        if (!more) {
            note_window(h);
            return actions.count ? actions.list[actions.count - 1].due_ms : SFID__FOREVER;
        }
    }
}

/* The lease of a record that is taken up began under the signs that stand there. What they leave
 * open is as it is now. */
void sfid__holder_follow_signs(struct sfid__holder *h, const struct sfid__record *r) {
    const struct sfid__signs then = sfid__record_signs(r);
    begin_token(h);
    if (then.generation)
        h->signs.generation = then.generation;
    if (then.clocks && then.clocks == h->signs.clocks)
        h->signs.slept_ms = then.slept_ms;
    if (then.boot)
        h->signs.boot = then.boot;
}

/* The lease that the page's current record describes. */
struct sfid__lease_event sfid__holder_found_on_page(struct sfid__holder *h) {
    /* another process of the family may have appended the record */
    h->slot.records = sfid__page_index(h->slot.page) + 1;
    const struct sfid__record *r = &h->slot.page->records[h->slot.records - 1];
    /* before the limit: a later one shows more */
    const struct sfid__nonces nonces = sfid__nonces_of(r);
    return (struct sfid__lease_event){.kind = SFID__LEASE_RESUME,
                                      .pid = sfid__record_pid(r),
                                      .limit = sfid__grant_limit(r),
                                      .start = h->store->start, /* of a claim for an ordinary pid */
                                      .token = r->token,
                                      .nonce = nonces.answered,
                                      .next_nonce = nonces.next};
}

void sfid__holder_resume(struct sfid__holder *h) {
    if (h->process == sfid__process())
        return;
    h->process = sfid__process();
    struct sfid__lease_event begin = sfid__holder_found_on_page(h);
    struct sfid__record *r = sfid__holder_last_record(h);
    sfid__holder_look_at_boot(h);
    if (sfid__grant_is_void(h, r)) /* R13: nothing is renewed that was found on it */
        sfid__record_close(r);
    /* R12, R13: the keeper that closed it died before its next claim */
    if (sfid__grant_is_closed(r))
        begin = (struct sfid__lease_event){.kind = SFID__LEASE_OPEN, .start = h->store->start};
    else
        sfid__holder_follow_signs(h, r);
    sfid__holder_feed(h, begin);
}

void sfid__holder_sit(struct sfid__holder *h, uint64_t reign) {
    if (!h->generator->shared)
        return;
    sfid__holder_unfollow(h);
    h->reign = reign;
    if (h->store->ops->sit)
        h->store->ops->sit(h->store, (unsigned)(reign % SFID__SEATS));
}

bool sfid__holder_is_due(const struct sfid__holder *h) {
    const struct sfid__generator *g = h->generator;
    const uint64_t early = atomic_load_explicit(&g->page->early, memory_order_relaxed); /* pace */
    return sfid__holder_shares_lease(h) &&
           sfid__grant_clock_tick(h) + (early ? early : g->half_window) >=
               sfid__grant_limit(sfid__page_current(g->page));
}

bool sfid__holder_is_stuck(const struct sfid__holder *h) {
    return h->store->server == NULL &&
           sfid__grant_clock_tick(h) >= sfid__grant_limit(sfid__page_current(h->generator->page));
}

int64_t sfid__holder_step(struct sfid__holder *h, bool poked) {
    if (h->generator->shared && h->lease.opened && sfid__share_moved_on(h))
        sfid__holder_unfollow(h); /* a keeper that was late has closed the record, or replaced it */
    if (h->generator->shared)
        sfid__holder_resume(h);
    /* it asked, and the answer showed that another one keeps, or has renewed */
    if (h->generator->shared && h->process != sfid__process())
        return h->now_ms;
    sfid__holder_look_at_boot(h);
    if (is_copied(h))
        return sfid__holder_feed(h, found_copied(h));
    return sfid__holder_feed(h,
                             (struct sfid__lease_event){.kind = SFID__LEASE_WAKE, .poked = poked});
}

/* ---- for others to see ----------------------------------------------------- */

void sfid__holder_attend(struct sfid__holder *h, sfid__teller *teller, void *listener,
                         const _Atomic int *stop) {
    h->store->tell = h->tell = teller;
    h->store->listener = h->listener = listener;
    h->stop = stop;
}

/* ---- close ----------------------------------------------------------------- */

/* The first tick that is unused for good. A word may lie past the window, if its position was
 * refused; the result never does. */
static uint64_t first_unused(const struct sfid__holder *h, const struct sfid__record *r) {
    const uint64_t in_tick = (UINT64_C(1) << h->generator->layout.seq_bits) - 1;
    const uint64_t tick = (h->stopped + in_tick) >> h->generator->layout.seq_bits;
    return SFID__MIN(tick, sfid__grant_limit(r));
}

static void drop_store(struct sfid__holder *h) {
    struct sfid__store *store = h->store;
    h->store = NULL; /* first: a child that is forked now shall not free it again */
    if (store)
        store->ops->drop(store);
}

/* Closes the page's record, and leaves its lease if that is held and its window open. Returns the
 * event. */
static struct sfid__lease_event end_record(struct sfid__holder *h) {
    struct sfid__record *r = sfid__page_current(h->slot.page);
    look_at_clock(h);
    sfid__holder_look_at_boot(h);
    if (h->process != sfid__process()) { /* the lease to release is the page's */
        struct sfid__lease_actions none;
        struct sfid__lease_event found = sfid__holder_found_on_page(h);
        fill_event(h, &found);
        sfid__lease_step(&h->lease, &found, &none);
        h->lease.next_nonce = found.next_nonce; /* nothing was noted, and nothing is sent */
    }
    /* R13: the pid is not this copy's to release, and its mark stays ahead */
    if (sfid__grant_is_void(h, r))
        h->lease.state = SFID__LEASE_WANTED;
    /* else R12 has closed it */
    const bool held = sfid__holder_has_pid(h) && !sfid__grant_is_closed(r);
    h->stopped = sfid__record_close(r);
    /* nobody wrote the index */
    h->left =
        held && h->lease.terms.testifies && r == sfid__holder_last_record(h) &&
        sfid__grant_limit(r) > SFID__MAX(h->tick, h->stopped >> h->generator->layout.seq_bits);
    if (h->left)
        sfid__record_leave(r, true);
    h->left_till = sfid__grant_limit(r);
    return (struct sfid__lease_event){.kind = SFID__LEASE_CLOSE, .position = first_unused(h, r)};
}

/*
 * If a step is left out, the next open makes up for it. A store that goes by slots is asked before
 * the slot is left: only its holder may say what its record leaves. The others are told behind it,
 * because the next holder of the pid wants the page's lock, too. Of a page that was shared, whoever
 * is alone with it next wants the pid that was there.
 */
bool sfid__holder_close(struct sfid__holder *h) {
    struct sfid__lease_event close;
    const bool last = h->generator->shared     ? sfid__share_is_last(h)
                      : h->store->ops->is_last ? h->store->ops->is_last(h->store)
                                               : sfid__slot_is_last(&h->slot);
    const bool first_pid = h->generator->shared || h->lease.terms.testifies;
    h->left = false;
    h->store->tell = NULL; /* a close tells what it leaves, and nothing else */
    h->deadline_ms = sfid__holder_monotonic_ms(h) + CLOSE_MS;
    if (last)
        close = end_record(h);
    if (last && first_pid)
        sfid__holder_feed(h, close);
    h->left = h->left && sfid__slot_in_place(&h->slot); /* else nobody finds it */
    /* else whoever comes next is to find it first, as after a kill */
    if (last && !h->left)
        sfid__numbered_leave(&h->slot); /* for a slot with a pid's name, nothing */
    if (first_pid)
        drop_store(h);
    /* Relaxed: sfid__generator_stop() has acquired it. The index in the page may be lower by now,
     * if somebody wrote it. */
    const uint64_t furthest = atomic_load_explicit(&h->generator->furthest, memory_order_relaxed);
    h->slot.records = SFID__MAX(h->slot.records, (uint32_t)furthest + 1);
    sfid__slot_leave(&h->slot);
    h->slot.records = 0;
    if (last && !first_pid)
        sfid__holder_feed(h, close);
    if (h->left)
        sfid__holder_tell_left(h);
    return h->left;
}

void sfid__holder_drop(struct sfid__holder *h) {
    free(h->noticed);
    h->noticed = NULL;
    drop_store(h);
    sfid__slot_drop(&h->slot);
}
