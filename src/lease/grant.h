/* SPDX-License-Identifier: MIT */
/*
 * grant.h - turns a grant of the store into a record: which position the pid
 * continues at, and which record goes on or begins there. For holder.c.
 */
#ifndef SFID_LEASE_GRANT_H
#define SFID_LEASE_GRANT_H

#include "draw/record.h"
#include "lease/holder_parts.h"

/* The tick that the clock shows in more_ms, and now. */
uint64_t sfid__grant_tick_in(const struct sfid__holder *h, int64_t more_ms);
uint64_t sfid__grant_clock_tick(const struct sfid__holder *h);

/* Relaxed: rule (a) of slow.c does not depend on this look at the word. */
static inline bool sfid__grant_is_closed(const struct sfid__record *r) {
    return (atomic_load_explicit(&r->word, memory_order_relaxed) & SFID__CLOSED) != 0;
}

/* Relaxed: the limit only rises, and only keepers write it. */
static inline uint64_t sfid__grant_limit(const struct sfid__record *r) {
    return atomic_load_explicit(&r->limit, memory_order_relaxed);
}

/* A clock tick past the limit is never noted. A record that has one is damaged, and IDs could run
 * up to that tick. */
static inline void sfid__grant_mend_highest(struct sfid__record *r) {
    if (atomic_load_explicit(&r->hi, memory_order_relaxed) > sfid__grant_limit(r))
        atomic_store_explicit(&r->hi, sfid__grant_limit(r), memory_order_relaxed);
}

/* True if the record r is void (page.h), as far as this step knows; false for NULL. */
static inline bool sfid__grant_is_void(const struct sfid__holder *h, const struct sfid__record *r) {
    return r && sfid__record_is_void(r, h->boot);
}

/*
 * The position at which a grant's pid continues, by page and store; `first`, the first one granted,
 * if neither knows. r: the last record of the slot, or NULL.
 */
uint64_t sfid__grant_position(const struct sfid__holder *h, const struct sfid__record *r,
                              const struct sfid__lease_event *grant, uint64_t first);

/* The record that a new page of the slot begins with: nothing else may know how far its pid has
 * come. NULL if there is none. */
struct sfid__record *sfid__grant_to_carry(const struct sfid__holder *h);

/*
 * The record in which the lease of r, which was left, goes on at its exact position: r stays
 * closed. The slot has its signs. NULL: there is no room, as h->error says.
 */
struct sfid__record *sfid__grant_succeed(struct sfid__holder *h, const struct sfid__record *r);

/* Carries out SFID__DO_ADOPT, with the same r. *grant is the store's answer, and becomes the event
 * that results. */
void sfid__grant_adopt(struct sfid__holder *h, struct sfid__record *r,
                       const struct sfid__lease_action *a, struct sfid__lease_event *grant);

#endif
