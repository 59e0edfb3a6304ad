/* SPDX-License-Identifier: MIT */
/* settings.h - the options of a call, checked and completed, and what their texts say. options.h
 * makes them. */
#ifndef SFID_LEASE_SETTINGS_H
#define SFID_LEASE_SETTINGS_H

#include "base/error.h"
#include "id/wide_plan.h"
#include "redis/uri.h"

#include <sfid.h>

/* How far ahead of the clock a mark lies, before max_ahead; renewed at each third of that while IDs
 * are generated. */
#define SFID__MARK_LEAD_MS 30000

#define SFID__APP_MAX 64

struct sfid__store_kind;

struct sfid__settings {
    /* layout and pid range filled in; strings but app lead to the caller's memory until they are
     * kept */
    sfid_options opt;
    const struct sfid__store_kind *store; /* store.h; NULL: a fixed pid without an app */
    uint64_t fingerprint;                 /* the layout's */
    uint64_t of_pages;                    /* the same, mixed with what else a page has to match */
    /* local: how far the mark lies ahead of use, before max_ahead */
    uint32_t lead_ms;
    bool synced; /* the mark is synced */
    bool shared; /* all processes of the app on this host share pages */
    /* shared: only with a process that keeps, and without a thread */
    bool joins;
    /* pid_min and pid_max given with the store, also in opt; -1: not given there */
    int64_t store_min;
    int64_t store_max;
    bool ranged;           /* only the store gives the range of pids */
    struct sfid__uri *uri; /* redis; owned */
    uint64_t window_ms;    /* redis: ttl_ms, rounded up to a multiple of the unit */
    uint64_t short_ms;     /* redis: the same of the short window; 0: there are no short pids */
    uint32_t short_every;  /* redis: one pid in so many is short */
    /* redis: the server lends these pids and no others, and keeps that with the app */
    bool lends_range;
    /* local: another host may have used the pid; where there is no mark, its last use is waited
     * out */
    bool elsewhere;
    /* pool: each server's settings, as if its URL and range were given alone; owned */
    struct sfid__settings *servers;
    unsigned count; /* how many; 0: no pool */
    /* redis: the URL as an operator knows it. ordinal: where the number stands, and what is there.
     * Owned */
    char *shown;
    char *run_dir, *state_dir; /* owned */
    /* nothing here leads to the caller's memory; opt has these two directories */
    bool kept;

    /* opt.layout is its engine; the rest is for wide IDs, if opt.wide is set: */
    struct sfid__wide_plan plan;
    sfid_wide_layout wide;
    uint64_t worker; /* by_host: the host's worker; opt.app stands for it */
    /* a mark under a wrong clock (far.h) is refused, although there are other pids */
    bool strict;
    char app[SFID__APP_MAX + 1]; /* opt.app */
};

#endif
