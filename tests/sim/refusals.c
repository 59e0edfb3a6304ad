/* SPDX-License-Identifier: MIT */
/*
 * refusals.c - what a server answers in place of what it was asked: errors, and that somebody has
 * to say who he is.
 *
 * The errors are those of "Redis error messages" (redis.io/docs/latest/develop/reference/errors/)
 * and of src/redis/replies.c. Which commands a server refuses with one differs from error to error;
 * here it refuses scripts, or all.
 *
 * Kind auth: each connection begins with AUTH, and the password lies in a file of each host. It is
 * changed now and then: first the server takes both, then each host has the new one, then the
 * server takes that one alone. This costs nothing. Or the server takes the new one alone at once:
 * whoever connects meanwhile fails until its host has it.
 */
#include "sim.h"

#include <strings.h>

#define LONGEST (150 * SECOND)
#define BETWEEN_CHANGES (300 * SECOND)
#define HAS_IT_WITHIN (30 * SECOND)

static struct stream *const dice = &streams.faults;

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

/* ---- errors -------------------------------------------------------------------------------- */

static const struct refusal {
    const char *line;
    bool all; /* commands, not scripts alone */
} refusal[REFUSALS] = {
    /* It passes. */
    {"OOM command not allowed when used memory > 'maxmemory'.", false},
    {"LOADING Redis is loading the dataset in memory", false},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     false},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     false},
    {"NOREPLICAS Not enough good replicas to write.", false},
    {"TRYAGAIN Multiple keys request during rehashing of slot", false},
    {"CLUSTERDOWN The cluster is down", false},
    {"READONLY You can't write against a read only replica.", false},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", false},
    /* A person has to look. */
    [REFUSAL_RIGHTS] = {"NOPERM this user has no permissions to run the 'eval' command", true},
    {"NOAUTH Authentication required.", true},
    {"ERR max number of clients reached", true},
    {"ERR nobody has read of this error", false},
};

void server_refuses(unsigned which, unsigned why, int64_t till) {
    server[which].refuses_till = till;
    server[which].refusal = why;
    note("server %u answers %.*s until %.3f", which, (int)strcspn(refusal[why].line, " "),
         refusal[why].line, (double)till / 1e9);
}

/* Where no window ends meanwhile, holders notice nothing but an event; newcomers wait, or are told
 * at once. */
void refuse(void) {
    static int64_t till;
    if (now_ns < till + terms.window)
        return;
    argument_is_called("error");
    const unsigned why = (unsigned)below(dice, REFUSALS);
    const bool is_short = chance(dice, 500);
    till =
        now_ns + any_ns(is_short ? terms.window - terms.heartbeat - 2 * terms.deadline - 10 * SECOND
                                 : LONGEST);
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, till); /* to newcomers: nobody is granted anything */
    if (!is_short || !has_kind("even"))
        cause_begins(CAUSE_AWAY, EVERYWHERE, till);
    server_refuses(struck, why, till);
}

static size_t says(char *out, size_t room, const char *line) {
    return (size_t)snprintf(out, room, "-%s\r\n", line);
}

/* ---- passwords ------------------------------------------------------------------------------- */

/* the one that counts; the one before counts, too, until then: */
static unsigned password = FIRST_PASSWORD;
static int64_t old_till;
static bool changes;

static void has_it(void *arg) { host_has_password(arg, password); }

static void is_changed(void *arg) {
    (void)arg;
    changes = false;
    server[0].first_connection = connections_made() + 1;
}

void change_password(void) {
    if (changes)
        return;
    const bool in_order = chance(dice, 700);
    changes = true;
    password++;
    old_till = in_order ? now_ns + HAS_IT_WITHIN + SECOND : now_ns;
    note("the password is %u, the one before counts %s", password,
         in_order ? "for a while" : "no more");
    if (!in_order) {
        server[0].first_connection = connections_made() + 1;
        cause_begins(CAUSE_AWAY, EVERYWHERE, now_ns + HAS_IT_WITHIN + 2 * SECOND);
    }
    for (unsigned h = 0; h < hosts; h++)
        at_time(now_ns + any_ns(HAS_IT_WITHIN), has_it, &host[h]);
    at_time(now_ns + HAS_IT_WITHIN + SECOND, is_changed, NULL);
}

static void next_change(void *arg) {
    event_now("change_password");
    at_time(now_ns + up_to(dice, BETWEEN_CHANGES), next_change, arg);
}

void passwords_begin(void) {
    if (!events_are_played())
        at_time(now_ns + up_to(dice, BETWEEN_CHANGES), next_change, NULL);
}

static bool is_password(const char *given) {
    unsigned n;
    if (sscanf(given, "secret-%u", &n) != 1)
        return false;
    const unsigned least = now_ns < old_till ? password - 1 : password;
    return n >= least && n <= password;
}

static size_t takes_auth(const struct command *c, char *out, size_t room) {
    *c->known = c->argc == 3 && strcmp(c->argv[1], "fleet") == 0 && is_password(c->argv[2]);
    if (!*c->known)
        note("host %d: AUTH is refused", c->host);
    return *c->known
               ? (size_t)snprintf(out, room, "+OK\r\n")
               : says(out, room, "WRONGPASS invalid username-password pair or user is disabled.");
}

/* ---- the whole
 * --------------------------------------------------------------------------------- */

size_t server_refuses_to(const struct command *c, char *out, size_t room) {
    const struct server *s = &server[c->server];
    const bool is_script = strncasecmp(c->argv[0], "EVAL", 4) == 0;
    if (now_ns < s->refuses_till && (is_script || refusal[s->refusal].all))
        return says(out, room, refusal[s->refusal].line);
    if (has_kind("auth") && strcasecmp(c->argv[0], "AUTH") == 0)
        return takes_auth(c, out, room);
    return has_kind("auth") && !*c->known ? says(out, room, "NOAUTH Authentication required.") : 0;
}
