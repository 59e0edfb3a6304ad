/* SPDX-License-Identifier: MIT */
/* ls.h - sfid lease ls. */
#ifndef CMD_LEASE_LS_H
#define CMD_LEASE_LS_H

#include "args/args.h"

/* The options of sfid lease: indexes into the list of lease.c. */
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
    LEASE_TTL
};

/* Returns the exit status. */
int lease_ls(const struct args *args, const sfid_options *opt);

#endif
