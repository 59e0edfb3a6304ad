/* SPDX-License-Identifier: MIT */
/* settings.h - options as given, checked and made whole. */
#ifndef SFID_LEASE_SETTINGS_H
#define SFID_LEASE_SETTINGS_H

#include "base/error.h"
#include "id/wide_plan.h"
#include "redis/uri.h"

#include <sfid.h>

/* How far ahead of the clock a mark lies, before max_ahead; renewed at each third of it while IDs are drawn. */
#define SFID__MARK_LEAD_MS 30000

struct sfid__store_kind;

struct sfid__settings {
    sfid_options opt; /* layout and pid range filled in; pointers still are the caller's, or lead to what follows here */
    const struct sfid__store_kind *store; /* store.h; NULL: none, the pid is fixed and has no app */
    uint64_t fingerprint;                 /* of the layout */
    uint64_t of_pages;                    /* the same, and of what else a page has to be of */
    uint32_t lead_ms;                     /* local: how far ahead of use the mark lies, before max_ahead */
    bool synced;                          /* the mark is */
    int64_t store_min;                    /* pid_min and pid_max of the store, which opt has, too; -1: not given there */
    int64_t store_max;
    bool ranged;          /* the range of pids is the store's alone */
    struct sfid__uri uri; /* redis */
    uint64_t window_ms;   /* redis: ttl_ms, made a multiple of the unit */

    /* Of wide IDs, where opt.wide is set: */
    struct sfid__wide_plan plan; /* whose engine opt.layout is */
    sfid_wide_layout wide;
    uint64_t worker; /* by_host: what the host goes by; opt.app stands for it */
    char app[64];
    bool strict; /* a mark further ahead than it ever lies is refused: the clock was there, and is not any more */
};

/*
 * Reads given into out, the defaults where an older header knew fewer members,
 * and checks every one. 0, or SFID_EINVAL or SFID_EUNSUPPORTED with a sentence
 * that names the value and what would be right.
 */
int sfid__options_read(const sfid_options *given, struct sfid__settings *out, struct sfid__error *err);

/* Makes a range that the store alone names as wide as it would be without: it is about what is leased, not what is looked at. */
void sfid__options_widen(struct sfid__settings *s);

/* Copies as many members as given has into opt, the defaults into the rest. 0 or SFID_EINVAL, SFID_EUNSUPPORTED. */
int sfid__options_copy(const sfid_options *given, sfid_options *opt, struct sfid__error *err);

#endif
