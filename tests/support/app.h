/* SPDX-License-Identifier: MIT */
/**
 * app.h - an app in a server, and what the lease script says about it.
 *
 * The server's clock stands still (REDIS_CLOCK) and is set by app_at(). Ticks
 * are seconds, the window W is 10 of them, the skew budget S 2; tick 1000000
 * is T0. Answers are compared as one line: without the server's clock and
 * without what differs from run to run (era, state).
 *
 *     app_new(&a, &redis);
 *     says(&a, "OK 1000000 1000010 0", "a pid", "claim", "0", "n1", "m:0:A", NULL);
 *
 * The script is the library's, or the file that $SFID_TEST_SCRIPT names:
 * script_rules has the tests find the faults that it puts there.
 */
#ifndef SFID_TESTS_APP_H
#define SFID_TESTS_APP_H

#include "support/redis.h"

#define T0 INT64_C(1000000)

struct app {
    struct redis *redis;
    const char *key, *bits;
    int64_t epoch, unit, window, slack;  /* ms */
    int64_t now, host_ahead, max_skew;   /* ms; now is the server's clock */
    int pid_min, pid_max, registration;  /* as in the script */
    const char *script;                  /* NULL: app_script() */
    const char *prelude;                 /* Lua before the script; NULL: none */
    char said[4096], era[16], state[48]; /* by the last answer */
};

/* What is sent. */
const char *app_script(void);

/* An empty server, clock at T0, all settings as above, pids 0 to 2, no registration. Nothing was asked yet. */
void app_new(struct app *a, struct redis *r);

/* The same, and initialised: pids without a record are to be had. */
void app_ready(struct app *a, struct redis *r);

/* Sets the server's clock to so many ms after the begin of a tick. */
void app_at(struct app *a, int64_t tick, int64_t ms);

/* Asks; the reply is for reply_free(). Op and its arguments, NULL behind. */
struct reply *app_ask(struct app *a, const char *op, ...) __attribute__((sentinel));

/* Asks, and gives the answer as one line, also in a->said. */
const char *app_say(struct app *a, const char *op, ...) __attribute__((sentinel));

/* Asks, in one check. A '*' at the end of what is wanted stands for anything. */
bool says(struct app *a, const char *want, const char *name, const char *op, ...) __attribute__((sentinel));

/* The value of a key, or of a field where there is one, in one check. "nil": none. */
bool has(struct app *a, const char *key, const char *field, const char *want, const char *name);

/* All that the app's hash says, to compare. For free(). */
char *app_contents(struct app *a);

/* Runs the test for each server that is installed. flags: of redis_start(). Returns what main() does. */
int for_each_server(unsigned flags, void (*test)(struct redis *r));

#endif
