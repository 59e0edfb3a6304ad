/* SPDX-License-Identifier: MIT */
/* options.h - the options of `sfid lease`. */
#ifndef CMD_LEASE_OPTIONS_H
#define CMD_LEASE_OPTIONS_H

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
    LEASE_TTL
};

#endif
