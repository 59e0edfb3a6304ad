/* SPDX-License-Identifier: MIT */
/**
 * app.h - an app in a server, and what the lease script says about it.
 *
 * The server's clock stands still (REDIS_CLOCK); app_at() sets it. A tick is a
 * second, the window W is 10 ticks, the skew budget S is 2, and T0 is tick
 * 1000000. Answers are compared as one line, without the server's clock and
 * without what differs from run to run (era, state) and without the pause that
 * RETRY asks for (poll). There are no short pids unless short_ms and share are
 * set. A base that the script takes for one of ours ends in 16 hexadecimal
 * digits: that counts with registrations only.
 *
 *     struct app a = app_new(&redis);
 *     says(&a, "OK 1000000 1000010 0", "a pid", "claim", "0", "n1", "m:0:A", NULL);
 *
 * The script is the library's, or that in the file $SFID_TEST_SCRIPT:
 * script_rules puts faults there, which the tests have to find.
 */
#ifndef SFID_TESTS_APP_H
#define SFID_TESTS_APP_H

#include "support/redis.h"

#define T0 INT64_C(1000000)

struct app {
    struct redis *redis;
    const char *key, *bits;
    int64_t epoch, unit, window, slack; /* ms */
    int64_t now, host_ahead, max_skew;  /* ms; now is the server's clock */
    int pid_min, pid_max, registration; /* as in the script */
    int64_t short_ms;                   /* w; 0: no short pids */
    int share, min_good;                /* as in the script */
    const char *script;                 /* NULL: app_script() */
    const char *prelude;                /* Lua before the script; NULL: none */
    const char *about;                  /* stands before the names of checks */
    const char *witness;                /* as in the script; NULL: nothing */
    char said[4096], state[48];         /* from the last answer */
    char era[48], latest[48],
        why[12];  /* and its era: WHO-B, WHO-B-N, and the word behind it or "" */
    int64_t poll; /* ms, from the last RETRY */
};

/* Returns the script that is sent. */
const char *app_script(void);

/* Makes an empty server with its clock at T0, the settings above, pids 0 to 2, and no registration.
 * It asks nothing yet. */
struct app app_new(struct redis *r);

/* The same, initialised: pids without a record are available. */
struct app app_ready(struct redis *r);

/* The same as app_new(), with the library's defaults, and the clock at the beginning of a second,
 * now. */
struct app app_today(struct redis *r);

/* Sets the server's clock to this many ms after the begin of a tick. */
void app_at(struct app *a, int64_t tick, int64_t ms);

/* Sends op and its arguments, up to a NULL. Returns the reply, for reply_free(). */
struct reply *app_ask(struct app *a, const char *op, ...) __attribute__((sentinel));

/* As app_ask(), but returns the answer as one line, also in a->said. */
const char *app_say(struct app *a, const char *op, ...) __attribute__((sentinel));

/* Asks and compares the answer, as one check. A '*' at the end of `want` matches anything. */
bool says(struct app *a, const char *want, const char *name, const char *op, ...)
    __attribute__((sentinel));

/* Checks the value of a key, or of its field if there is one. "nil": none. */
bool has(struct app *a, const char *key, const char *field, const char *want, const char *name);

/* Returns all the app's hash says, for comparing. For free(). */
char *app_contents(struct app *a);

/* Checks that the hash says what it said `before`, which is freed. */
bool app_is_as(struct app *a, char *before, const char *name);

/* Runs the test for each installed server. flags: see redis_start(). Returns main()'s status. */
int for_each_server(unsigned flags, void (*test)(struct redis *r));

#endif
