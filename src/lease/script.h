/* SPDX-License-Identifier: MIT */
/* script.h - an app in a Redis server: asks the lease script and reads its answers, which lease.lua
 * describes. */
#ifndef SFID_LEASE_SCRIPT_H
#define SFID_LEASE_SCRIPT_H

#include "base/clock.h"
#include "lease/settings.h"
#include "redis/route.h"

#include <string.h>

/* lease.lua, without its comments, and the SHA-1 of that text in hexadecimal digits. */
extern const char sfid__lease_lua[], sfid__lease_sha[];

/* The words that are answers. The caller gets all others as errors. */
enum sfid__redis_word {
    SFID__REDIS_OK,
    SFID__REDIS_RETRY,
    SFID__REDIS_LOST,
    SFID__REDIS_GONE,
    SFID__REDIS_CHANGED,
    SFID__REDIS_MOVED,
    SFID__REDIS_FOREIGN,
    SFID__REDIS_TAKEN
};

/* The rules of the lease script that `lay` begins with. */
enum { SFID__REDIS_RULES = 2, SFID__REDIS_ERA = 48 };

struct sfid__redis_app {
    struct sfid__uri *uri;
    struct sfid__route route;
    const struct sfid__clock *clock;
    sfid_layout layout;
    uint64_t window_ms;   /* W: a multiple of the unit, at least two */
    uint64_t short_ms;    /* w: the same, or 0 */
    uint32_t short_every; /* one pid in so many is short; 0 with short_ms 0 */
    uint32_t budget_ms;   /* S */
    uint32_t max_skew_ms;
    uint64_t pid_min, pid_max;
    char lent
        [24]; /* "#1-682": the range that the server lends, which it keeps with the app's settings; else "" */
    bool eval_only;                /* the user of this connection may not use EVALSHA */
    char witness[SFID__REDIS_ERA]; /* the script's argument 15 */
    char name[72];                 /* the app's */
    char *shown;                   /* the URL, for people */

    /* Of the last exchange: */
    enum sfid__redis_word word;
    int64_t now_ms; /* the server's clock, Unix milliseconds */
    /* how far this host's clock is ahead of the server's, give or take half of round_ms */
    int64_t skew_ms;
    int64_t round_ms;
    struct sfid__reply_few few;
    /* in `few`, but for a look. [0] the word, [1] the server's clock, then as the script says */
    struct sfid__redis_reply reply;
};

/* Sets up the app and its route; connects at the first question. 0 or SFID_ENOMEM;
 * sfid__redis_app_end() frees. */
int sfid__redis_app_begin(struct sfid__redis_app *app, const struct sfid__settings *settings,
                          struct sfid__error *err);

/* A zeroed one is fine. */
void sfid__redis_app_end(struct sfid__redis_app *app);

/* What a message puts behind --store: the URL, or "URL" if it is not to be shown whole. */
static inline const char *sfid__redis_app_url(const struct sfid__redis_app *app) {
    if (app->uri->bare && !strstr(app->shown, "..."))
        return app->shown;
    return app->uri->quoted[0] ? app->uri->quoted : "URL";
}

/* What a message puts before that: the settings that the server keeps with the app, where they are
 * not the defaults, as options each behind a space. A command without them would be refused. */
enum { SFID__REDIS_SAME = 200 };
const char *sfid__redis_app_same(const struct sfid__redis_app *app, char out[SFID__REDIS_SAME]);

static inline bool sfid__redis_app_registers(const struct sfid__redis_app *app) {
    return app->uri->registration != SFID__REGISTRATION_OFF;
}

/*
 * Asks for an operation with its arguments (text), and reads the word of the
 * answer into app->word. app->reply has at least `strings` strings then. Returns
 * by the deadline (monotonic) or, once *stop is set, within half a second.
 *
 * 0, or a code with a sentence that names server and app; app->reply.class says
 * whether trying again may help:
 *   SFID_EREDIS   no answer, or none that makes sense
 *   SFID_EAUTH    user or password, or a missing permission (it is named)
 *   SFID_ECLOCK   the clocks are too far apart, or the server's is before the epoch (both are
 *                 named)
 *   SFID_ELAYOUT  the app is used with other settings (both are named)
 *   SFID_EINVAL   the app's name cannot be used in this cluster
 *   SFID_ENOMEM
 */
int sfid__redis_app_ask(struct sfid__redis_app *app, const char *op,
                        const struct sfid__question *arguments, unsigned strings,
                        struct sfid__error *err);

/*
 * WAIT, on the connection of the exchange before: returns in *have how many replicas have what was
 * written there, once there are `replicas` of them or wait_ms are over. Errors as
 * sfid__redis_app_ask(), and SFID_EREDIS if that connection has closed since.
 */
int sfid__redis_app_wait(struct sfid__redis_app *app, uint32_t replicas, int64_t wait_ms,
                         struct sfid__deadline until, uint64_t *have, struct sfid__error *err);

/* Reads n strings of the reply, from i on, as decimals of at most 18 digits; false if one is
 * none. */
bool sfid__redis_app_numbers(const struct sfid__redis_app *app, unsigned i, unsigned n,
                             uint64_t *out);

/* Fails for an answer that no server with the script gives: SFID_EREDIS, reply.class
 * SFID__REPLY_CONFIG. */
int sfid__redis_app_nonsense(struct sfid__redis_app *app, const char *op, struct sfid__error *err);

/* The Unix milliseconds at which a tick begins; and a time in UTC as "14:03:59Z", with the date if
 * that is not today's. */
int64_t sfid__redis_app_time(const struct sfid__redis_app *app, uint64_t tick);
void sfid__redis_app_clock(const struct sfid__redis_app *app, int64_t unix_ms,
                           char out[SFID__TIME_TEXT]);

/* By the last exchange: is this host's clock too far ahead of the server's for the app's short
 * pids? */
static inline bool sfid__redis_app_is_ahead(const struct sfid__redis_app *app) {
    return app->short_ms != 0 && app->skew_ms > (int64_t)app->short_ms / 2;
}

#endif
