/* SPDX-License-Identifier: MIT */
/* actions.h - the actions of `sfid lease`, and their options. */
#ifndef CMD_LEASE_ACTIONS_H
#define CMD_LEASE_ACTIONS_H

#include "args/args.h"

#include <sfid.h>

/* Indexes into the list of lease.c. */
enum {
    LEASE_APP,
    LEASE_STORE,
    LEASE_LAYOUT,
    LEASE_FORMAT,
    LEASE_ALL,
    LEASE_WATCH,
    LEASE_OUTPUT,
    LEASE_YES,
    LEASE_RUN_DIR,
    LEASE_STATE_DIR,
    LEASE_TTL,
    LEASE_BUDGET,
    LEASE_TIMEOUT
};

/* Each returns the exit status. ls.c, pid.c: */
int lease_ls(const struct args *args, const sfid_options *opt);
int lease_show(const struct args *args, const sfid_options *opt);
int lease_release(const struct args *args, const sfid_options *opt);

#endif
