/* SPDX-License-Identifier: MIT */
/*
 * redis_tell.h - what others hear of a Redis server: events, and the server's
 * part of a status. What comes while nobody listens, during an open, is kept
 * in store->said.
 */
#ifndef SFID_LEASE_REDIS_TELL_H
#define SFID_LEASE_REDIS_TELL_H

#include "lease/script.h"
#include "lease/store.h"

/* Tells of anything else; text is not kept. */
void sfid__redis_tell(const struct sfid__store *store, sfid_event_kind kind, int code,
                      int64_t value, const char *text);

/* rc, err: of the question just asked. An error reply of the server's own is an answer, too. */
void sfid__redis_tell_connected(struct sfid__store *store, const struct sfid__redis_app *app,
                                int rc, const struct sfid__error *err);

/* The clocks' difference, as the answer just read shows it. */
void sfid__redis_tell_skew(struct sfid__store *store, const struct sfid__redis_app *app);

/*
 * replicas=N of the URL: waits until N replicas have the claim, for half of an exchange at most,
 * and reports if fewer have it. No right depends on that: a promotion begins a new era, whatever
 * reached whom (doc/protocol.md).
 */
void sfid__redis_tell_replicas(struct sfid__store *store, struct sfid__redis_app *app,
                               const struct sfid__lease_action *ask, uint64_t pid);

#endif
