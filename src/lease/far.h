/* SPDX-License-Identifier: MIT */
/* far.h - whether a mark lies further ahead of the clock than a right clock can have written it.
 * far.c derives the rule. */
#ifndef SFID_LEASE_FAR_H
#define SFID_LEASE_FAR_H

#include "lease/settings.h"

/* What the rule needs to know of an app, and its sentence. */
struct sfid__far {
    const sfid_layout *layout;
    const char *app;
    uint64_t reach;        /* ticks: what a right clock writes is at most so far ahead of it */
    uint32_t max_ahead_ms; /* sfid init has to know it to lower a mark */
    /* no other pid will do, so a mark that is too far is refused: a fixed pid, a part of a host's
     * sequence */
    bool only;
};

struct sfid__far sfid__far_of(const struct sfid__settings *s);

/* The rule. tick: every ID of the pid dated before it may have been generated. */
static inline bool sfid__mark_is_far(const struct sfid__far *far, uint64_t tick, uint64_t now) {
    return tick > now && tick - now > far->reach;
}

/* SFID_ECLOCK, with both dates and the cure. what: "mark" or "page"; it lies in dir. */
int sfid__mark_refuse_far(const struct sfid__far *far, const char *what, const char *dir,
                          uint64_t pid, uint64_t tick, uint64_t now, struct sfid__error *err);

#endif
