/* SPDX-License-Identifier: MIT */
/* store.h - lease options of commands that use a server. */
#ifndef CMD_ARGS_STORE_H
#define CMD_ARGS_STORE_H

#include "args/args.h"

/*
 * Options of commands that use a server, as a list, in which store_options() wants the first. All
 * but the last must be the same for all processes of an app.
 */
#define STORE_OPTIONS(first) \
    [first] = {"ttl-ms", 0, "MS", NULL, \
               "how long a lease lasts; the same for all processes of APP (600000)"}, \
    [(first) + 1] = {"short-ms", 0, "MS", NULL, \
                     "how long a claim or short pid lasts; the same for all of APP (30000)"}, \
    [(first) + 2] = {"skew-budget-ms", 0, "MS", NULL, \
                     "how far the clocks of servers may differ; the same for all of APP (15000)"}, \
    [(first) + 3] = {"timeout-ms", 0, "MS", NULL, \
                     "how long to wait for the server (5000)"} /* default: open_timeout_ms */

/* The same behind the directories that most commands have. */
#define APP_OPTIONS(first) \
    [first] = {"run-dir", 0, "DIR", "SFID_RUN_DIR", "the run directory (/dev/shm/sfid-UID)"}, \
    [(first) + 1] = {"state-dir", 0, "DIR", "SFID_STATE_DIR", \
                     "the state directory, with locks and durable marks"}, \
    STORE_OPTIONS((first) + 2)

/* Read their values and derive the rest. Return false, with a message, if one is invalid.
 * app_options() wants the directories first. */
bool app_options(const struct args *args, int first, sfid_options *opt);
bool store_options(const struct args *args, int first, sfid_options *opt);

/* Returns whether the URL holds a password, for the server or for sentinels. The name of a password
 * file is not one. */
bool store_has_password(const char *store);

/* Overwrites such passwords in argv, which other processes can read. args keeps the full value. */
void store_hide_password(struct args *args);

/* Opens a generator for the app of the options. Returns STATUS_GOOD, or the exit status after a
 * message; then *g is NULL. */
int app_open(sfid **g, const sfid_options *opt);

/* Asks the app's server. Returns STATUS_GOOD, or the exit status after a message. */
int app_look(const sfid_options *opt, sfid_app_info *found);

/* Prints why the library failed and returns the exit status. SFID_EINVAL means a bad store: all
 * else was checked before. */
int store_failure(int code, const char *why);

#endif
