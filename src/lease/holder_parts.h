/* SPDX-License-Identifier: MIT */
/* holder_parts.h - what holder.c and holder_open.c have in common. */
#ifndef SFID_LEASE_HOLDER_PARTS_H
#define SFID_LEASE_HOLDER_PARTS_H

#include "lease/holder.h"

static inline int64_t sfid__holder_monotonic_ms(const struct sfid__holder *h) { return sfid__monotonic_ms(h->generator->clock); }

/* NULL while the slot has no record. */
static inline struct sfid__record *sfid__holder_last_record(const struct sfid__holder *h) {
    return h->slot.page && h->slot.records ? &h->slot.page->records[h->slot.records - 1] : NULL;
}

/* Feeds an event to the machine, then the events that result, until the machine wants to sleep. Returns until when. */
int64_t sfid__holder_feed(struct sfid__holder *h, struct sfid__lease_event e);

/* The lease that the page's current record describes. */
struct sfid__lease_event sfid__holder_found_on_page(struct sfid__holder *h);

/*
 * Looks at a pid whose lock the store has taken, while the holder has no pid yet: the `accept` of struct sfid__ask. The
 * accepter is the holder.
 */
int sfid__holder_accept_pid(void *accepter, const struct sfid__reply *reply, bool picky, struct sfid__error *err);

#endif
