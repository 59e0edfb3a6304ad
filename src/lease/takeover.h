/* SPDX-License-Identifier: MIT */
/*
 * takeover.h - keepers of one lease of a server, of which the latest counts.
 *
 * Processes that share a page show the server one lease. A keeper whose process
 * was stopped may go on at any instruction, when another one keeps. So what it
 * has asked is answered when it no longer counts. What was granted stays
 * granted, and only raises the limit. For all else it must not act on what it
 * remembers: the page says what holds by now.
 */
#ifndef SFID_LEASE_TAKEOVER_H
#define SFID_LEASE_TAKEOVER_H

#include "lease/holder_parts.h"

/* For DO_RENEW: sets what the record says, and the machine with it. Other keepers may have renewed
 * since its last step. */
void sfid__takeover_show(struct sfid__holder *h, struct sfid__lease_action *a);

/*
 * What an action came to. False: the machine is not to hear of it, and has to be brought up to the
 * page before it goes on. What the server granted for nothing has been given back.
 */
bool sfid__takeover_counts(struct sfid__holder *h, const struct sfid__lease_action *a,
                           const struct sfid__lease_event *e);

#endif
