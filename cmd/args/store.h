/* SPDX-License-Identifier: MIT */
/* store.h - options of leases from a server. */
#ifndef CMD_ARGS_STORE_H
#define CMD_ARGS_STORE_H

#include "args/args.h"

#include <sfid.h>
#include <stdbool.h>

/* Options that commands have which ask one. The first two have to be the same for all of an app. */
#define OPTION_TTL \
    { "ttl-ms", 0, "MS", NULL, "how long a lease lasts, the same for all of APP (600000)" }
#define OPTION_BUDGET \
    { "skew-budget-ms", 0, "MS", NULL, "how far servers' clocks may differ, likewise (15000)" }
#define OPTION_TIMEOUT \
    { "timeout-ms", 0, "MS", NULL, "how long to wait for the server (5000)" }

/* Their values, and what follows from them. False when one is none, which is told. */
bool store_options(const struct args *args, int ttl, int budget, int timeout, sfid_options *opt);

/* Is there a password in it, or one for sentinels? Not: the name of a file that holds one. */
bool store_has_password(const char *store);

/* Overwrites such passwords in argv, which others can read as long as this process lives. The value stays what it was. */
void store_hide_password(struct args *args);

/* Tells why the library could not do it. Returns the exit status. What it calls invalid is the store: the rest was checked. */
int store_failure(int code, const char *why);

#endif
