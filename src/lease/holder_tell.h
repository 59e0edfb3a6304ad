/* SPDX-License-Identifier: MIT */
/* holder_tell.h - what others hear of a holder: events, and its part of a status. */
#ifndef SFID_LEASE_HOLDER_TELL_H
#define SFID_LEASE_HOLDER_TELL_H

#include "lease/holder_parts.h"

/* Reports what opening noticed while nobody listened. */
void sfid__holder_tell_opened(const struct sfid__holder *h);

/* "pid 7 is ", and what. */
void sfid__holder_tell_pid(const struct sfid__holder *h, sfid_event_kind kind, const char *what);

void sfid__holder_tell_renewed(const struct sfid__holder *h);

/* That the pid is lost, or left for a successor, and why: h->error. */
void sfid__holder_tell_lost(const struct sfid__holder *h);
void sfid__holder_tell_left(const struct sfid__holder *h);

/* The store's part of a status, and the name of this process. From any thread. */
void sfid__holder_status(const struct sfid__holder *h, sfid_status_info *out);

#endif
