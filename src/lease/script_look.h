/* SPDX-License-Identifier: MIT */
/* script_look.h - who holds which pid of an app, as its Redis server knows. Asks; changes nothing. */
#ifndef SFID_LEASE_SCRIPT_LOOK_H
#define SFID_LEASE_SCRIPT_LOOK_H

#include "lease/script.h"

/* What the server knows of the app as a whole. */
struct sfid__redis_view {
    enum { SFID__APP_UNKNOWN, SFID__APP_OLD, SFID__APP_CURRENT } known; /* OLD: the next change will forget all of it */
    uint64_t open_tick; /* q: from this tick on pids without a record are handed out; 0: always, or not known */
    char state[48];     /* of the hash, for init; "" when that changed while it was looked at */
};

/* One pid that somebody has, or had. */
struct sfid__redis_pid {
    uint64_t pid;
    enum { SFID__PID_HELD, SFID__PID_RELEASED, SFID__PID_FOREIGN, SFID__PID_ENDING } kind;
    bool timed;      /* tick is known */
    uint64_t tick;   /* held, ending: the limit; released: the first tick not used; foreign: when it runs out */
    const char *who; /* base or registration; "" when released */
};

/* Who has it, as people may see him. Whoever may write into the server may have put anything there; and a token is between a
   holder and the server. */
enum { SFID__HOLDER = 256 };
void sfid__redis_pid_holder(const struct sfid__redis_pid *pid, char out[SFID__HOLDER]);

/* What that is, when its end is left_ms ahead. */
sfid_lease_kind sfid__redis_pid_kind(const struct sfid__redis_pid *pid, int64_t left_ms);

/*
 * Looks at the app, and at its pids where each is not NULL: calls it for those
 * that have a record or a registration, ascending, until it returns false.
 * 0, or as sfid__redis_app_ask().
 */
int sfid__redis_look(struct sfid__redis_app *app, struct sfid__redis_view *view,
                     bool (*each)(void *user, const struct sfid__redis_pid *pid), void *user, struct sfid__deadline until,
                     struct sfid__error *err);

/*
 * "host-a (5), host-b (3) and 12 others": who holds most of the pids, as far as
 * the server tells by the deadline. False when that is not all.
 */
bool sfid__redis_holders(struct sfid__redis_app *app, char *out, size_t size, int64_t deadline_ms, const _Atomic int *stop);

#endif
