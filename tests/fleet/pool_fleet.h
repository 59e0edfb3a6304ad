/* SPDX-License-Identifier: MIT */
/** pool_fleet.h - part of tests/fleet/pool: the servers, the lists of them, and the members of a
 * fleet that has such a list. */
#ifndef SFID_TESTS_POOL_FLEET_H
#define SFID_TESTS_POOL_FLEET_H

#include "support/fleet.h"

#define LAYOUT "39:7:10/10ms"
#define APP "pool"

enum { SERVERS = 3, RANGE = 32, MEMBERS = 16, HOSTS = 4 };
enum { TTL = 4000, HEARTBEAT = 800, SHORT = 1600, BUDGET = 500, TIMEOUT = 200 };

static struct redis server[SERVERS];

static unsigned server_of(int64_t pid) { return (unsigned)((pid - 1) / RANGE); }

/* ---- servers and lists ------------------------------------------------------ */

/* Its user comes back with it, as with a configuration file. */
static void server_begin(unsigned k, const char *program) {
    char name[16], user[16];
    snprintf(name, sizeof name, "server-%u", k);
    snprintf(user, sizeof user, "user-%u", k);
    redis_start(&server[k], program, name, 0, "--user", user, "on", ">pw", "~sfid:*", "+@all",
                NULL);
}

/* Range i is lent to user i at server at[i]; one user's name can end in another letter. Valid until
 * the eighth call after. */
static const char *list_with(const unsigned at[SERVERS], const char *user, int timeout) {
    static char lists[8][SERVERS * 220];
    static unsigned used;
    char *list = lists[used++ % COUNT_OF(lists)];
    size_t n = (size_t)snprintf(list, sizeof lists[0], "pool:");
    for (unsigned i = 0; i < SERVERS; i++)
        n += (size_t)snprintf(list + n, sizeof lists[0] - n,
                              "%u-%u=unix://%s%u:pw@%s?timeout=%dms&connect_timeout=%dms ",
                              i * RANGE + 1, (i + 1) * RANGE, user, i, server[at[i]].socket,
                              timeout, timeout);
    return list;
}

static const char *list_of(const unsigned at[SERVERS], const char *user) {
    return list_with(at, user, TIMEOUT);
}

static const unsigned as_is[SERVERS] = {0, 1, 2};
static sfid_options options_at(const char *list) {
    sfid_options opt = fleet_lease(&server[0], APP, TTL, HEARTBEAT);
    opt.store = list;
    opt.pid_min = opt.pid_max = 0;
    opt.short_ms = SHORT;
    opt.skew_budget_ms = BUDGET;
    opt.max_wait_ms = 100;
    opt.on_unknown = SFID_WAIT_OUT; /* servers come back empty while others hold */
    return opt;
}

/* ---- members ------------------------------------------------------------------ */

static struct member *fleet_new(unsigned n, const sfid_options *opt, unsigned first_host) {
    struct member *all = members_new(n, opt);
    for (unsigned i = 0; i < n; i++) {
        on_host(&all[i].opt, first_host + i % HOSTS);
        snprintf(all[i].name, sizeof all[i].name, "member %u", i);
        member_start(&all[i]);
    }
    return all;
}

static void fleet_opens(struct member *all, unsigned n, const char *what) {
    unsigned good = 0;
    for (unsigned i = 0; i < n; i++)
        good += member_opens(&all[i], TAP_WAIT_MS) && member_draws(&all[i], 1, TAP_WAIT_MS);
    need(is_u64(good, n, "%s: all have a pid, and draw", what), "%s", what);
}

static void fleet_ends(struct member *all, unsigned n) {
    unsigned well = 0;
    for (unsigned i = 0; i < n; i++)
        well += member_end(&all[i]) == 0;
    is_u64(well, n, "all end well");
}

static void forget_all(struct member *all, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        member_forget(&all[i]);
}

static void all_are_well(const struct member *all, unsigned n, const char *what) {
    struct took longest = {0, 0};
    int64_t errors = 0;
    for (unsigned i = 0; i < n; i++) {
        errors += atomic_load(&all[i].errors);
        longest = took_longer(longest, member_gap(&all[i]));
    }
    is_i64(errors, 0, "%s: no call failed", what);
    in_time(longest, CALL_MS, "%s: and none waited for a window", what);
}

static unsigned at_server(const struct member *all, unsigned n, unsigned k) {
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++)
        count += server_of(atomic_load(&all[i].pid)) == k;
    return count;
}

#endif
