/* SPDX-License-Identifier: MIT */
/* settings.h - options once they are checked and complete. options.h makes them. */
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

#endif
