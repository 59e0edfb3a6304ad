/* SPDX-License-Identifier: MIT */
/* holder_parts.h - what holder.c and holder_open.c have in common. */
#ifndef SFID_LEASE_HOLDER_PARTS_H
#define SFID_LEASE_HOLDER_PARTS_H

#include "lease/holder.h"

static inline int64_t sfid__holder_monotonic_ms(const struct sfid__holder *h) { return sfid__monotonic_ms(h->generator->clock); }

/* Feeds an event to the machine, then the events that result, until the machine wants to sleep. Returns until when. */
int64_t sfid__holder_feed(struct sfid__holder *h, struct sfid__lease_event e);

/* The lease that the page's current record describes. */
struct sfid__lease_event sfid__holder_found_on_page(struct sfid__holder *h);

#endif
