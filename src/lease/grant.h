/* SPDX-License-Identifier: MIT */
/*
 * grant.h - from what a store granted to a record: where the next number of a
 * pid stands, and which record goes on or begins there. For holder.c.
 */
#ifndef SFID_LEASE_GRANT_H
#define SFID_LEASE_GRANT_H

#include "draw/record.h"
#include "lease/holding.h"

/* The clock, or the clock in more_ms from now, in ticks. */
uint64_t sfid__grant_tick_in(const struct sfid__holder *h, int64_t more_ms);

static inline uint64_t sfid__grant_clock_tick(const struct sfid__holder *h) { return sfid__grant_tick_in(h, 0); }

/* NULL while there is none. */
static inline struct sfid__record *sfid__grant_last_record(const struct sfid__holder *h) {
    return h->slot.page && h->slot.records ? &h->slot.page->records[h->slot.records - 1] : NULL;
}

/* Relaxed where the word of a record is looked at here: (a) of slow.c does not hang on it. */
static inline bool sfid__grant_is_closed(const struct sfid__record *r) {
    return (atomic_load_explicit(&r->word, memory_order_relaxed) & SFID__CLOSED) != 0;
}

/* The keeper is the limit's only writer: relaxed. */
static inline uint64_t sfid__grant_limit(const struct sfid__record *r) {
    return atomic_load_explicit(&r->limit, memory_order_relaxed);
}

/* No clock tick past a limit is noted: a record that says so is damaged, and would let IDs run up to it. */
static inline void sfid__grant_mend_highest(struct sfid__record *r) {
    if (atomic_load_explicit(&r->hi, memory_order_relaxed) > sfid__grant_limit(r))
        atomic_store_explicit(&r->hi, sfid__grant_limit(r), memory_order_relaxed);
}

/*
 * Where the next number of the pid in a reply stands, as far as page and store
 * know; first: the first that the store has granted, where that is all.
 */
uint64_t sfid__grant_position(const struct sfid__holder *h, const struct sfid__reply *reply, uint64_t first);

/* Carries out SFID__DO_ADOPT; *next is what came of it. */
void sfid__grant_adopt(struct sfid__holder *h, const struct sfid__lease_action *a, struct sfid__lease_event *next);

#endif
