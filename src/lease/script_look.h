/* SPDX-License-Identifier: MIT */
/* script_look.h - lists which pids of an app are held, and by whom, as its Redis server knows. It
 * changes nothing. */
#ifndef SFID_LEASE_SCRIPT_LOOK_H
#define SFID_LEASE_SCRIPT_LOOK_H

#include "lease/script.h"

struct sfid__redis_view {
    /* OLD: the next change forgets all of it. BARRED: nothing but an upgrade changes it. */
    enum { SFID__APP_UNKNOWN, SFID__APP_OLD, SFID__APP_CURRENT, SFID__APP_BARRED } known;
    /* q: from this tick on pids without a record are granted; 0: now, or not known */
    uint64_t open_tick;
    char state[48]; /* of the hash, for init; "" if it changed during the look */
};

/* One pid that has or had a holder. */
struct sfid__redis_pid {
    uint64_t pid;
    enum {
        SFID__PID_HELD,
        SFID__PID_RELEASED,
        SFID__PID_FOREIGN,
        SFID__PID_ENDING,
        SFID__PID_UNSHOWN
    } kind;
    bool timed;
    /* held, ending: the limit; unshown: or less; released: the first unused tick; foreign: when it
     * ends */
    uint64_t tick;
    const char *who; /* base or registration; "" if released */
};

/* From when on pids without a record are granted, in Unix milliseconds: the first of them are
 * short. 0: now, or not known. */
int64_t sfid__redis_open_ms(const struct sfid__redis_app *app, const struct sfid__redis_view *view);

/* How long they wait after the server has forgotten the app. */
int64_t sfid__redis_wait_ms(const struct sfid__redis_app *app);

/* The holder's name, made printable, since anybody may have written it there, and without the
 * token, which is a secret. */
enum { SFID__HOLDER = 256 };
void sfid__redis_pid_holder(const struct sfid__redis_pid *pid, char out[SFID__HOLDER]);

/* The kind of lease, if it ends in left_ms. */
sfid_lease_kind sfid__redis_pid_kind(const struct sfid__redis_pid *pid, int64_t left_ms);

/*
 * Looks at the app. If each is not NULL, calls it for each pid with a record or a registration, in
 * ascending order, until it returns false. 0, or as sfid__redis_app_ask().
 */
int sfid__redis_look(struct sfid__redis_app *app, struct sfid__redis_view *view,
                     bool (*each)(void *user, const struct sfid__redis_pid *pid), void *user,
                     struct sfid__deadline until, struct sfid__error *err);

/* "host-a (5), host-b (3) and 12 others": who holds most of the first 256 pids that have records.
 * False if it is not known. */
bool sfid__redis_holders(struct sfid__redis_app *app, char *out, size_t size,
                         struct sfid__deadline until);

#endif
