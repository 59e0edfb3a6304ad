/* SPDX-License-Identifier: MIT */
/* store.h - lease options of commands that use a server. */
#ifndef CMD_ARGS_STORE_H
#define CMD_ARGS_STORE_H

#include "args/args.h"

#include <sfid.h>
#include <stdbool.h>

/* Options of commands that use a server. The first two must be the same for all processes of an app. */
#define OPTION_TTL \
    { "ttl-ms", 0, "MS", NULL, "how long a lease lasts; the same for all processes of APP (600000)" }
#define OPTION_BUDGET \
    { "skew-budget-ms", 0, "MS", NULL, "how far the clocks of servers may differ; the same for all of APP (15000)" }
#define OPTION_TIMEOUT \
    { "timeout-ms", 0, "MS", NULL, "how long to wait for the server (5000)" }

/* Reads their values and derives the rest. Returns false, with a message, if one is invalid. */
bool store_options(const struct args *args, int ttl, int budget, int timeout, sfid_options *opt);

/* Returns whether the URL holds a password, for the server or for sentinels. The name of a password file is not one. */
bool store_has_password(const char *store);

/* Overwrites such passwords in argv, which other processes can read. args keeps the full value. */
void store_hide_password(struct args *args);

/* Prints why the library failed and returns the exit status. SFID_EINVAL means a bad store: all else was checked before. */
int store_failure(int code, const char *why);

#endif
