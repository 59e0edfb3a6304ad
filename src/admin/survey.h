/* SPDX-License-Identifier: MIT */
/* survey.h - what sfid_app_check() has seen of a server so far, and how it reports what it
 * finds. */
#ifndef SFID_ADMIN_SURVEY_H
#define SFID_ADMIN_SURVEY_H

#include "admin/facts.h"
#include "lease/script_look.h"

struct sfid__survey {
    struct sfid__visit visit; /* first */
    struct sfid__redis_facts facts;
    struct sfid__redis_view view;
    uint64_t held, held_short, foreign, unshown, endless;
    int64_t unshown_ms;   /* when the last of them ends, by the server's clock */
    char foreigners[300]; /* the first ones, as a list */
    bool too_slow;        /* the heartbeat is too long */
    bool denied;          /* a permission is missing */
    void (*each)(void *user, const sfid_finding *finding);
    void *user;
    char cure[500]; /* of the next finding; "": none */
};

/* Prepares the cure of the next finding. */
SFID__PRINTF(2, 3) void sfid__survey_cure(struct sfid__survey *s, const char *fmt, ...);

/* Reports a finding, with the cure if one was prepared. */
SFID__PRINTF(5, 6)
void sfid__survey_tell(struct sfid__survey *s, sfid_check_kind kind, sfid_check_grade grade,
                       int code, const char *fmt, ...);

/* check_app.c: looks at the app's clock, records and pids on a server that answers. */
void sfid__survey_app(struct sfid__survey *s);

#endif
