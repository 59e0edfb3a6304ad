/* SPDX-License-Identifier: MIT */
/**
 * sharers.h - members of a fleet that share one lease of a server, beside
 * fleet.h. A window is 1.5 s long, and renewed each 450 ms
 * (sanitizer: 3 s, 900 ms).
 */
#ifndef SFID_TESTS_SHARERS_H
#define SFID_TESTS_SHARERS_H

#include "support/fleet.h"

/* SHARERS_WAIT_MS: a lease that is renewed in time makes nobody wait for so long. */
enum {
    SHARERS_WAIT_MS = 1000,
    SHARERS_TTL = SANITIZED ? 3000 : 1500,
    SHARERS_HEARTBEAT = SANITIZED ? 900 : 450
};

/* Options for a new app whose processes share. A call waits as long as the test does. */
sfid_options sharing(const struct redis *r, const char *app);

/* The same with a window of FLEET_TTL_MS, where a release must arrive. */
sfid_options sharing_for_long(const struct redis *r, const char *app);

/* Returns how many pids the app's hash has, held or released; *first becomes the lowest. */
unsigned pids_known(struct redis *r, const char *app, int64_t *first);

/* Starts n members at once. All have opened when it returns. */
struct member *sharers_open(const sfid_options *opt, size_t n);

/* Two checks of members that have not ended: no call failed; and none waited for a window, but for
 * those that were stopped. */
bool sharers_are_well(const struct member *m, size_t n, const char *what);

/* Of members that have not ended: whether all have this pid; whether all generate. */
bool sharers_have(const struct member *m, size_t n, int64_t pid);
bool sharers_draw(const struct member *m, size_t n);

void sharers_end(struct member *m, size_t n);

/* Returns the member that began to keep last, once it is another one than `but`; NULL if none
 * does. */
struct member *sharers_keeper(struct member *m, size_t n, const struct member *but);

/* Returns how many events of a kind the members have had together. */
int sharers_events(const struct member *m, size_t n, sfid_event_kind kind);

/* Waits until the members have renewed `more` times again. Another one of them may keep
 * meanwhile. */
bool sharers_renew(const struct member *m, size_t n, int more);

/* Waits until the window is renewed. */
void sharers_renewed(struct member *m, size_t n);

/* A process opens, generates, and ends without closing: the lease stays in the page. Returns
 * whether it had this pid. */
bool comes_and_goes(const sfid_options *opt, int64_t pid);

/* Waits until the member has another pid. */
bool sharer_moves(struct member *m, int64_t pid);

#endif
