/* SPDX-License-Identifier: MIT */
#include "lease/grant.h"

#include "id/layout.h"
#include "lease/nonces.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t sfid__grant_tick_in(const struct sfid__holder *h, int64_t more_ms) {
    return sfid__tick_of_ms(&h->generator->layout, sfid__now(h->generator->clock).ms + more_ms);
}

uint64_t sfid__grant_clock_tick(const struct sfid__holder *h) { return sfid__grant_tick_in(h, 0); }

/*
 * True if the grant from `first` on joins the closed record r without a gap: only the rest of the
 * tick in which r was closed lies between them.
 *
 * That rest belongs to r alone. It lies below r's limit, so it was granted to r. A release gives
 * ticks back from the next one on (first_unused). If no release arrived, the server keeps all of
 * r's window. So no other holder was or will be granted the rest, even if the pid had one in
 * between. If that holder used anything, the grant begins above it, and there is a gap. Of a void
 * record the rest belongs to each copy of the machine.
 *
 * The caller is alone with the page, and a new record takes the place of r: the rest is used once.
 * The difference wraps if `first` is below.
 */
static bool joins(const struct sfid__record *r, uint64_t first) {
    const uint64_t position = sfid__record_position(r), in_tick = sfid__record_capacity(r);
    return sfid__grant_is_closed(r) && sfid__record_tick(r, position) < sfid__grant_limit(r) &&
           first - position < in_tick;
}

/* A server grants from `first` on. Below it the pid may have had another holder since, except for
 * what joins() shows. */
static uint64_t granted_position(const struct sfid__holder *h, const struct sfid__record *r,
                                 uint64_t pid, uint64_t first) {
    const uint64_t on_page = r && sfid__record_pid(r) == pid ? sfid__record_position(r) : 0;
    return on_page && joins(r, first) && !sfid__grant_is_void(h, r) ? on_page
                                                                    : SFID__MAX(on_page, first);
}

/*
 * Above what another copy of this machine may have issued under a pid of this host, if that one has
 * ended: it had the same mark, and issued at most max_ahead_ms above a clock that was no later than
 * ours is now. Processes that share a page may each have another max_ahead_ms, but none above half
 * a window. If the copy goes on, nothing here can keep the two apart.
 */
static uint64_t position_after_copy(const struct sfid__holder *h, uint64_t known) {
    const uint64_t most =
        h->generator->shared ? h->store->terms.window / 2 : h->generator->max_ahead;
    const uint64_t tick = SFID__MIN(h->tick + most + 1, h->store->terms.end);
    return SFID__MAX(known, tick << h->generator->layout.seq_bits);
}

/*
 * The page that was last used has the exact position. The mark is a bound ahead of it, unless the
 * pid was released. Any other page is one more bound. The highest of the bounds counts: each may
 * have been set back or left behind.
 */
uint64_t sfid__grant_position(const struct sfid__holder *h, const struct sfid__record *r,
                              const struct sfid__lease_event *grant, uint64_t first) {
    if (h->lease.terms.testifies)
        return granted_position(h, r, grant->pid, first);
    const struct sfid__slot *slot = &h->slot;
    const uint64_t here =
        slot->page ? sfid__record_furthest(slot->page, slot->records, grant->pid) : 0;
    const uint64_t on_page = SFID__MAX(here, h->beside.position);
    if (h->shunned || sfid__grant_is_void(h, r))
        return position_after_copy(h, SFID__MAX(on_page, grant->bound));
    if (on_page && !grant->exact && grant->page_nonce &&
        (grant->page_nonce == slot->page->id.nonce || grant->page_nonce == h->beside.nonce))
        return on_page;
    const uint64_t position = SFID__MAX(on_page, grant->bound);
    return position ? position : first;
}

/* Appends a record to a page beside keepers that may be late. */
static struct sfid__record *replace_record(struct sfid__holder *h,
                                           const struct sfid__start *start) {
    struct sfid__slot *slot = &h->slot;
    struct sfid__page *page = slot->page;
    /*
     * What a server has granted is published only in place of the record whose lease was lost:
     * another keeper that found that, too, may have published what it was granted.
     */
    const uint32_t seen = sfid__holder_shares_lease(h) ? slot->records - 1 : sfid__page_index(page);
    /* Relaxed: each index is handed out once. */
    const uint32_t i =
        atomic_load_explicit(&page->reserved, memory_order_relaxed) < SFID__PAGE_RECORDS
            ? atomic_fetch_add_explicit(&page->reserved, 1, memory_order_relaxed)
            : SFID__PAGE_RECORDS;
    if (i >= SFID__PAGE_RECORDS) {
        sfid__fail(
            &h->error, SFID_ESTATE,
            "the page that processes share is full; close all its generators and open them again");
        return NULL;
    }
    if (sfid__slot_reserve(slot, i, &h->error) < 0)
        return NULL;
    struct sfid__record *r = sfid__record_replace(page, i, seen, start);
    if (r)
        slot->records = i + 1;
    else
        sfid__fail(&h->error, SFID_EBUSY, "another process is the keeper of this pid now");
    return r;
}

/*
 * How many records a page may have before an open appends one. An open reads all records of its
 * page: 64 take 4 us, those of a full page 0.3 ms. A process keeps a mapping or a copy of each page
 * that it had, for late threads. So a page that it had before may become half full. Others are let
 * in to stay, so a shared page may, too. One that has a pid's name is replaced in share.c.
 */
static uint32_t room(const struct sfid__holder *h) {
    if (h->generator->shared && !sfid__holder_shares_lease(h))
        return SFID__PAGE_RECORDS;
    return h->generator->shared || h->slot.mapped_before ? SFID__PAGE_RECORDS / 2
                                                         : SFID__FEW_RECORDS;
}

/*
 * Keepers that shared a page of this host may have left its records out of order, and the one in
 * use behind the last. So the new page gets the record of the last pid that came furthest. A
 * server's grant bounds what its page does not know.
 */
struct sfid__record *sfid__grant_to_carry(const struct sfid__holder *h) {
    const struct sfid__slot *slot = &h->slot;
    struct sfid__record *all = slot->page->records,
                        *last = slot->records ? &all[slot->records - 1] : NULL, *furthest = last;
    for (uint32_t i = 0; i < slot->records && !h->lease.terms.testifies; i++)
        if (sfid__record_pid(&all[i]) == sfid__record_pid(last) &&
            sfid__record_position(&all[i]) > sfid__record_position(furthest))
            furthest = &all[i];
    return furthest;
}

/* Appends a record to the slot's page, at an open perhaps to a new one. The record's window is
 * empty if the store has granted none. */
static struct sfid__record *append_record(struct sfid__holder *h, const struct sfid__start *start) {
    struct sfid__slot *slot = &h->slot;
    if (h->generator->shared && h->lease.opened)
        return replace_record(h, start);
    if (slot->records == SFID__PAGE_RECORDS && h->lease.opened) {
        sfid__fail(&h->error, SFID_ESTATE,
                   "the slot file is full after %u lost leases; open the generator again",
                   slot->records);
        return NULL;
    }
    struct sfid__error why = {.code = 0};
    if (!h->lease.opened && slot->records >= room(h) &&
        sfid__slot_replace(slot, h->of_pages, sfid__grant_to_carry(h), &why) < 0 &&
        slot->records == SFID__PAGE_RECORDS) {
        h->error = why;
        return NULL;
    }
    if (sfid__slot_reserve(slot, slot->records, &h->error) < 0)
        return NULL;
    return sfid__record_append(slot->page, slot->records++, start);
}

struct sfid__record *sfid__grant_succeed(struct sfid__holder *h, const struct sfid__record *r) {
    const struct sfid__nonces nonces = sfid__nonces_of(r);
    const struct sfid__start start = {.layout = &h->generator->layout,
                                      .pid = sfid__record_pid(r),
                                      .position = sfid__record_position(r),
                                      .limit = sfid__grant_limit(r),
                                      .now = sfid__grant_clock_tick(h),
                                      .max_ahead = h->generator->max_ahead,
                                      .token = r->token,
                                      .nonce = nonces.answered,
                                      .next_nonce = nonces.next,
                                      .signs = &h->signs};
    return append_record(h, &start);
}

/*
 * If the server's clock is ahead of ours, IDs of the granted ticks are issued at once, whatever may
 * be borrowed otherwise. A tick that the server itself still waits for is not. Relaxed: only pace
 * depends on it, and this thread wrote both.
 */
static void follow_server(const struct sfid__holder *h, struct sfid__record *r, uint64_t floor,
                          uint64_t now) {
    const int64_t skew_ms = atomic_load_explicit(&h->store->skew_ms, memory_order_relaxed);
    const uint64_t servers = sfid__tick_of_ms(&h->generator->layout, h->wall_ms - skew_ms),
                   tick = SFID__MIN(floor, servers);
    if (tick > now && tick - now > atomic_load_explicit(&r->lead, memory_order_relaxed))
        atomic_store_explicit(&r->lead, tick - now, memory_order_relaxed);
}

/*
 * Finds or begins a record for a grant: the record in which a process died, or a new one at the
 * position where it stopped. The record comes first and its window after, so a process that dies in
 * between leaves a position that the next one finds. A window in which a process died is still
 * good.
 */
void sfid__grant_adopt(struct sfid__holder *h, struct sfid__record *r,
                       const struct sfid__lease_action *a, struct sfid__lease_event *grant) {
    const uint64_t now = h->tick;
    const uint8_t seq_bits = h->generator->layout.seq_bits;
    const uint64_t position =
        sfid__grant_position(h, r, grant, SFID__MAX(now, a->floor) << seq_bits);
    const bool found = r && !sfid__grant_is_closed(r) && !h->lease.opened &&
                       !h->lease.terms.testifies && sfid__record_pid(r) == grant->pid &&
                       sfid__record_position(r) == position && !sfid__grant_is_void(h, r);
    const bool granted = a->limit > a->floor;
    uint64_t limit = granted ? a->limit : position >> seq_bits;
    if (!found) {
        const struct sfid__start start = {.layout = &h->generator->layout,
                                          .pid = a->pid,
                                          .position = position,
                                          .limit = limit,
                                          .now = now,
                                          .max_ahead = h->generator->max_ahead,
                                          .token = a->token,
                                          .nonce = a->nonce,
                                          .signs = &h->signs,
                                          .reaches = !h->lease.terms.testifies};
        r = append_record(h, &start);
        if (r && granted)
            follow_server(h, r, a->floor, now);
    } else {
        sfid__grant_mend_highest(r);
        limit = sfid__grant_limit(r);
    }
    if (r == NULL) {
        *grant = (struct sfid__lease_event){.kind = SFID__LEASE_UNFIT};
        return;
    }
    h->shunned = false;
    /* A record may go on past its mark, if that was set back or lost. It issues IDs once the mark
     * is ahead of it again. */
    const bool covered = grant->page_nonce == h->slot.page->id.nonce && limit <= grant->limit;
    *grant = (struct sfid__lease_event){
        .kind = SFID__LEASE_ADOPTED,
        .limit = SFID__MAX(limit, a->limit),
        .bare = grant->guessed || position > grant->bound,
        .sure = granted || (covered && limit > SFID__MAX(now, position >> seq_bits))};
}
