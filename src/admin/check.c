/* SPDX-License-Identifier: MIT */
/* check.c - finds what is wrong with an app's server, or with how the app uses it. */
#include "admin/survey.h"

#include "base/clock.h"
#include "lease/machine.h"
#include "lease/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAG_LESS_S 3 /* whole seconds are counted, and looked at once a second */
#define NEAR_END_MS (INT64_C(5) * 365 * 86400000)

static const char *user_of(const struct sfid__survey *s) {
    return s->visit.settings->uri->user[0] ? s->visit.settings->uri->user : "default";
}

/* ---- before anything is asked ---------------------------------------------- */

/* Reports a heartbeat that the library would refuse, and goes on with the longest that it
 * accepts. */
static void check_heartbeat(struct sfid__survey *s, sfid_options *opt) {
    const uint32_t most = opt->ttl_ms / 3;
    s->too_slow = opt->heartbeat_ms > most;
    if (!s->too_slow)
        return;
    sfid__survey_cure(s, "set heartbeat_ms to at most %" PRIu32 ", or ttl_ms to at least %" PRIu64,
                      most, (uint64_t)opt->heartbeat_ms * 3);
    sfid__survey_tell(s, SFID_CHECK_LEASE, SFID_CHECK_ERROR, SFID_EINVAL,
                      "a lease of %" PRIu32 " ms is too short for a heartbeat of %" PRIu32
                      " ms; it has to hold three of them",
                      opt->ttl_ms, opt->heartbeat_ms);
    opt->heartbeat_ms = most;
}

static void check_timeouts(struct sfid__survey *s) {
    const sfid_options *opt = &s->visit.settings->opt;
    const uint64_t exchange =
        (uint64_t)s->visit.settings->uri->connect_timeout_ms + s->visit.settings->uri->timeout_ms;
    const uint64_t wanted = opt->heartbeat_ms + 2 * exchange;
    if (s->visit.app.window_ms >= wanted) {
        sfid__survey_tell(s, SFID_CHECK_LEASE, SFID_CHECK_FINE, 0,
                          "%" PRIu64 " ms, renewed every %" PRIu32 " ms", s->visit.app.window_ms,
                          opt->heartbeat_ms);
        return;
    }
    sfid__survey_cure(s,
                      "set ttl_ms to at least %" PRIu64
                      ", or a shorter timeout and connect_timeout in the URL",
                      (wanted * 3 + 1) / 2);
    sfid__survey_tell(s, SFID_CHECK_LEASE, SFID_CHECK_WARNING, 0,
                      "a lease of %" PRIu64 " ms, renewed every %" PRIu32
                      " ms, ends if two exchanges time out, which takes %" PRIu64 " ms",
                      s->visit.app.window_ms, opt->heartbeat_ms, 2 * exchange);
}

static void check_end(struct sfid__survey *s) {
    sfid_layout_facts facts;
    if (sfid_layout_describe(&s->visit.app.layout, &facts) < 0)
        return;
    const int64_t left = facts.last_ms - sfid__now(s->visit.app.clock).ms, days = left / 86400000;
    if (left < NEAR_END_MS)
        sfid__survey_cure(s, "use another app name, with a layout that has more bits for the time");
    if (left >= NEAR_END_MS)
        sfid__survey_tell(s, SFID_CHECK_LAYOUT, SFID_CHECK_FINE, 0,
                          "it lasts %" PRId64 " more years", days / 365);
    else if (left > 0)
        sfid__survey_tell(s, SFID_CHECK_LAYOUT, SFID_CHECK_WARNING, 0,
                          "it ends in %" PRId64 " day%s; after that no ID can be generated", days,
                          days == 1 ? "" : "s");
    else
        sfid__survey_tell(s, SFID_CHECK_LAYOUT, SFID_CHECK_ERROR, SFID_EOVERFLOW,
                          "it ended %" PRId64 " day%s ago; no ID can be generated", -days,
                          days == -1 ? "" : "s");
}

/* A host that others name gets the password: see redis/allowed.h. */
static void check_named(struct sfid__survey *s) {
    const struct sfid__uri *uri = s->visit.settings->uri;
    if (uri->kind == SFID__URI_SERVER || uri->tls || uri->named_hosts[0] ||
        !(uri->password[0] || uri->password_file[0]))
        return;
    sfid__survey_cure(
        s,
        "use TLS (rediss+...), or list the hosts that may be named, as in named_hosts=10.0.0.0/8");
    sfid__survey_tell(
        s, SFID_CHECK_SERVER, SFID_CHECK_WARNING, 0,
        "without TLS and named_hosts=, a sentinel or node has the password sent to any host that is as public or private as "
        "itself");
}

/* ---- the server ------------------------------------------------------------ */

/* The first exchange failed, and no other would do better. */
static void tell_unreachable(struct sfid__survey *s, int rc) {
    const struct sfid__error *err = &s->visit.error;
    const bool permitted = strstr(err->text, "NOPERM") == NULL;
    if (rc == SFID_EAUTH && !permitted)
        sfid__survey_cure(
            s, "ACL SETUSER %.60s ~sfid:* +eval, and the other permissions in doc/redis.md",
            user_of(s));
    else if (strstr(err->text, "named_hosts="))
        sfid__survey_cure(
            s,
            "if that host is right, list it: named_hosts= in the URL; else look at the server that names it");
    else if (rc == SFID_EAUTH)
        sfid__survey_cure(
            s,
            "give a user and password of the server in the URL ($SFID_STORE); ACL LIST on the server lists its users");
    else if (sfid__reply_is_unknown(err->text))
        sfid__survey_cure(
            s,
            "this server or proxy does not offer the command; leases need EVAL, INFO and TIME: give the server's own address");
    else
        sfid__survey_cure(s, "check that the server runs, and the address and port in the URL");
    sfid__survey_tell(s,
                      rc == SFID_EAUTH && !permitted ? SFID_CHECK_PERMISSIONS : SFID_CHECK_SERVER,
                      SFID_CHECK_ERROR, rc, "%s", err->text);
}

static void check_role(struct sfid__survey *s) {
    const struct sfid__redis_facts *f = &s->facts;
    const char *role = sfid__redis_fact(f, "role"), *valkey = sfid__redis_fact(f, "valkey_version"),
               *version = sfid__redis_fact(f, "redis_version"),
               *host = sfid__redis_fact(f, "master_host"),
               *port = sfid__redis_fact(f, "master_port"),
               *link = sfid__redis_fact(f, "master_link_status");
    if (role && strcmp(role, "slave") == 0) {
        sfid__survey_cure(
            s,
            "give the master's URL, or that of its sentinels: redis+sentinel://HOST:PORT,HOST:PORT/NAME");
        sfid__survey_tell(s, SFID_CHECK_SERVER, SFID_CHECK_ERROR, SFID_EREDIS,
                          "%s is a replica (link %s); leases come from its master, %s:%s",
                          s->visit.app.shown, link ? link : "?", host ? host : "?",
                          port ? port : "?");
        return;
    }
    sfid__survey_tell(s, SFID_CHECK_SERVER, SFID_CHECK_FINE, 0, "%s answers: %s %s, %s",
                      s->visit.app.shown, valkey ? "Valkey" : "Redis",
                      valkey    ? valkey
                      : version ? version
                                : "(version not visible)",
                      role ? role : "(role not visible)");
}

/* The server refused a command, but not for lack of permission. */
static void tell_refused(struct sfid__survey *s, const char *command, const char *why) {
    static const struct {
        const char *word, *cure;
    } cures[] = {
        {"OOM", "raise maxmemory, or give the app a server of its own"},
        {"NOREPLICAS",
         "bring a replica back within min-replicas-max-lag; until then no pid is granted"},
        {"MISCONF", "check the server's disk, or CONFIG SET stop-writes-on-bgsave-error no"},
        {"READONLY", "give the master's URL"}};
    for (size_t i = 0; i < sizeof cures / sizeof cures[0]; i++)
        if (strncmp(why, cures[i].word, strlen(cures[i].word)) == 0)
            sfid__survey_cure(s, "%s", cures[i].cure);
    sfid__survey_tell(s, SFID_CHECK_SERVER, SFID_CHECK_ERROR, SFID_EREDIS,
                      "it accepts no writes (%s): %s", command, why);
}

static void check_permissions(struct sfid__survey *s) {
    static const char denied[] = "denied ";
    bool refused = false;
    for (unsigned i = 0; i < s->facts.count; i++) {
        const char *command = s->facts.name[i] + sizeof denied - 1, *why = s->facts.value[i];
        if (strncmp(s->facts.name[i], denied, sizeof denied - 1) != 0)
            continue;
        if (strcmp(why, "command") != 0 && strcmp(why, "key") != 0) {
            if (!refused) /* the others have the same reason */
                tell_refused(s, command, why);
            refused = true;
            continue;
        }
        s->denied = true;
        if (strcmp(why, "key") == 0) {
            sfid__survey_cure(s, "ACL SETUSER %.60s ~sfid:*", user_of(s));
            sfid__survey_tell(s, SFID_CHECK_PERMISSIONS, SFID_CHECK_ERROR, SFID_EAUTH,
                              "user %.60s may not use keys that begin with sfid: (%s)", user_of(s),
                              command);
        } else {
            sfid__survey_cure(s, "ACL SETUSER %.60s +%s", user_of(s), command);
            sfid__survey_tell(s, SFID_CHECK_PERMISSIONS, SFID_CHECK_ERROR, SFID_EAUTH,
                              "user %.60s may not use the command %s: %s", user_of(s), command,
                              sfid__redis_purpose(command));
        }
    }
    if (sfid__redis_try_evalsha(&s->visit) == SFID_EAUTH) {
        sfid__survey_cure(s, "ACL SETUSER %.60s +evalsha", user_of(s));
        sfid__survey_tell(s, SFID_CHECK_PERMISSIONS, SFID_CHECK_WARNING, SFID_EAUTH,
                          "user %.60s may not use the command evalsha: %s", user_of(s),
                          sfid__redis_purpose("evalsha"));
    }
    if (s->visit.settings->uri->replicas > 0 &&
        sfid__visit_ask(&s->visit, 3, (const char *const[]){"WAIT", "0", "1"}, NULL) ==
            SFID_EAUTH) {
        sfid__survey_cure(s, "ACL SETUSER %.60s +wait", user_of(s));
        sfid__survey_tell(
            s, SFID_CHECK_PERMISSIONS, SFID_CHECK_WARNING, SFID_EAUTH,
            "user %.60s may not use the command wait: replicas= needs it, or each claim reports UNREPLICATED",
            user_of(s));
    }
    const char *untried = sfid__redis_fact(&s->facts, "untried");
    if (!s->denied && !refused)
        sfid__survey_tell(s, SFID_CHECK_PERMISSIONS, SFID_CHECK_FINE, 0,
                          untried ? "user %.60s may read; writing was not tried on a %s"
                                  : "user %.60s may do all that leases need%s",
                          user_of(s), untried ? untried : "");
}

static void check_memory(struct sfid__survey *s) {
    const char *policy = sfid__redis_fact(&s->facts, "maxmemory_policy");
    const int64_t most = sfid__redis_fact_number(&s->facts, "maxmemory"),
                  used = sfid__redis_fact_number(&s->facts, "used_memory");
    const int64_t wait = (sfid__redis_wait_ms(&s->visit.app) + 999) / 1000;
    if (policy && strncmp(policy, "volatile", 8) == 0 &&
        s->visit.settings->uri->registration == SFID__REGISTRATION_MIXED) {
        sfid__survey_cure(
            s, "CONFIG SET maxmemory-policy noeviction, or give the app a server of its own");
        sfid__survey_tell(
            s, SFID_CHECK_MEMORY, SFID_CHECK_ERROR, SFID_EINVAL,
            "maxmemory-policy is %s: registrations may be evicted, and a program that knows only registrations then takes a pid "
            "in use",
            policy);
    } else if (policy == NULL || most < 0) {
        sfid__survey_tell(s, SFID_CHECK_MEMORY, SFID_CHECK_FINE, 0,
                          "maxmemory and maxmemory-policy are not visible here");
    } else if (strncmp(policy, "allkeys", 7) == 0) {
        sfid__survey_cure(
            s, "CONFIG SET maxmemory-policy noeviction, or give the app a server of its own");
        sfid__survey_tell(
            s, SFID_CHECK_MEMORY, SFID_CHECK_WARNING, 0,
            "maxmemory-policy is %s%s: the app's records may be evicted, and new processes then wait for %" PRId64
            " s",
            policy, most ? "" : ", and takes effect as soon as maxmemory is set", wait);
    } else if (most > 0 && used > most / 100 * 95) {
        sfid__survey_cure(s, "raise maxmemory, or give the app a server of its own");
        sfid__survey_tell(s, SFID_CHECK_MEMORY, SFID_CHECK_WARNING, 0,
                          "%" PRId64 " of %" PRId64
                          " bytes are used; once all are used, no lease is granted or renewed",
                          used, most);
    } else {
        sfid__survey_tell(s, SFID_CHECK_MEMORY, SFID_CHECK_FINE, 0,
                          "the app's records are not evicted (maxmemory-policy %s)", policy);
    }
}

/* Each process has a connection of its own. */
static void check_clients(struct sfid__survey *s) {
    const int64_t most = sfid__redis_fact_number(&s->facts, "maxclients"),
                  now = sfid__redis_fact_number(&s->facts, "connected_clients");
    if (most < 0 || now < 0)
        return;
    const bool many = now > most / 10 * 8;
    if (many)
        sfid__survey_cure(
            s, "raise maxclients (CONFIG SET maxclients), or add idle=close to the store URL");
    sfid__survey_tell(s, SFID_CHECK_SERVER, many ? SFID_CHECK_WARNING : SFID_CHECK_FINE, 0,
                      "%" PRId64 " of %" PRId64 " connections are in use; each process needs one%s",
                      now, most, many ? ", and a process without one gets no pid" : "");
}

/* ---- replication ----------------------------------------------------------- */

static bool check_min_replicas(struct sfid__survey *s) {
    const int64_t budget = s->visit.app.budget_ms,
                  write = sfid__redis_setting(&s->visit, "min-replicas-to-write"),
                  lag = sfid__redis_setting(&s->visit, "min-replicas-max-lag"),
                  most = budget / 1000 - LAG_LESS_S,
                  replicas = sfid__redis_fact_number(&s->facts, "connected_slaves"),
                  half = (replicas + 1) / 2;
    if (write < 0 || lag < 0) {
        const bool in_force = sfid__redis_fact(&s->facts, "min_slaves_good_slaves") != NULL;
        sfid__survey_tell(s, SFID_CHECK_REPLICATION, SFID_CHECK_FINE, 0,
                          "min-replicas-to-write is %s; min-replicas-max-lag is not visible here",
                          in_force ? "in force" : "not visible here");
    } else if (write == 0 || lag == 0) {
        sfid__survey_cure(s,
                          "CONFIG SET min-replicas-to-write %" PRId64
                          ", and CONFIG SET min-replicas-max-lag %" PRId64 ", on each server",
                          SFID__MAX(half, 1), most > 10 || most < 1 ? 10 : most);
        sfid__survey_tell(
            s, SFID_CHECK_REPLICATION, SFID_CHECK_ERROR, SFID_EINVAL,
            "%s is 0: a master that is cut off from its replicas keeps granting pids, as does the one that replaces it, and IDs "
            "can repeat",
            write == 0 ? "min-replicas-to-write" : "min-replicas-max-lag");
    } else if (write < half) {
        sfid__survey_cure(s, "CONFIG SET min-replicas-to-write %" PRId64 " on each server", half);
        sfid__survey_tell(
            s, SFID_CHECK_REPLICATION, SFID_CHECK_ERROR, SFID_EINVAL,
            "min-replicas-to-write is %" PRId64 " of %" PRId64
            " replicas: less than half, so a master that is cut off with some of them keeps granting pids, and IDs can repeat",
            write, replicas);
    } else if (lag > most) {
        sfid__survey_cure(s,
                          "CONFIG SET min-replicas-max-lag %" PRId64
                          " or less, or skew_budget_ms of %" PRId64 " or more for the whole app",
                          most > 1 ? most : 1, (lag + LAG_LESS_S) * 1000);
        sfid__survey_tell(
            s, SFID_CHECK_REPLICATION, SFID_CHECK_ERROR, SFID_EINVAL,
            "min-replicas-max-lag is %" PRId64 " s, and skew_budget_ms %" PRId64
            ": a master that is cut off may grant pids for longer than its successor waits",
            lag, budget);
    } else {
        return true;
    }
    return false;
}

/* Before 6.2.7 the server does not apply min-replicas to scripts; the script does, if min_good says
 * how many there have to be. */
static void check_min_good(struct sfid__survey *s) {
    const int64_t replicas = sfid__redis_fact_number(&s->facts, "connected_slaves");
    if (s->visit.settings->uri->min_good > 0 || replicas < 2 ||
        !sfid__redis_older(&s->facts, 60207))
        return;
    sfid__survey_cure(s, "add min_good=%" PRId64 " to the store URL of every process of the app",
                      (replicas + 1) / 2);
    sfid__survey_tell(
        s, SFID_CHECK_REPLICATION, SFID_CHECK_ERROR, SFID_EINVAL,
        "this server does not apply min-replicas-to-write to scripts (6.2.7 does), and min_good is not set: a master that is cut "
        "off may keep granting pids, and IDs can repeat");
}

static bool check_backlog(struct sfid__survey *s) {
    const int64_t ttl = sfid__redis_setting(&s->visit, "repl-backlog-ttl"),
                  least = ((int64_t)s->visit.app.window_ms + 2 * (int64_t)s->visit.app.budget_ms +
                           999) /
                          1000;
    if (ttl < 0) {
        sfid__survey_tell(s, SFID_CHECK_REPLICATION, SFID_CHECK_FINE, 0,
                          "repl-backlog-ttl is not visible here");
    } else if (ttl > 0 && ttl < least) {
        sfid__survey_cure(
            s, "CONFIG SET repl-backlog-ttl 0, or at least %" PRId64 ", on each server", least);
        sfid__survey_tell(
            s, SFID_CHECK_REPLICATION, SFID_CHECK_ERROR, SFID_EINVAL,
            "repl-backlog-ttl is %" PRId64
            " s: the absence of a master that comes back after a failover may go unnoticed, and IDs can repeat",
            ttl);
    } else {
        return true;
    }
    return false;
}

static void check_replication(struct sfid__survey *s) {
    if (!sfid__redis_has_replicas(&s->facts)) {
        sfid__survey_tell(s, SFID_CHECK_REPLICATION, SFID_CHECK_FINE, 0,
                          "it has no replicas, so none can replace it");
        return;
    }
    check_min_good(s);
    const bool replicas = check_min_replicas(s), backlog = check_backlog(s);
    if (replicas && backlog)
        sfid__survey_tell(s, SFID_CHECK_REPLICATION, SFID_CHECK_FINE, 0,
                          "min-replicas and repl-backlog-ttl are set correctly");
}

/* ---- all of it ------------------------------------------------------------- */

static void check(struct sfid__survey *s) {
    if (!s->too_slow)
        check_timeouts(s);
    check_end(s);
    check_named(s);
    const int rc = sfid__redis_check(&s->visit, &s->facts);
    if (rc < 0) {
        tell_unreachable(s, rc);
        return;
    }
    check_role(s);
    check_clients(s);
    check_permissions(s);
    check_memory(s);
    check_replication(s);
    sfid__survey_app(s);
}

int sfid_app_check(const sfid_options *given, void (*each)(void *user, const sfid_finding *finding),
                   void *user, char *why, size_t why_size) {
    struct sfid__survey *s = calloc(1, sizeof *s);
    sfid_options opt;
    int rc = s == NULL      ? SFID_ENOMEM
             : each == NULL ? SFID_EINVAL
                            : sfid__options_copy(given, &opt, &s->visit.error);
    if (rc == 0) {
        s->each = each;
        s->user = user;
        check_heartbeat(s, &opt);
        rc = sfid__visit_begin(&s->visit, &opt);
    }
    for (unsigned i = 0; rc == 0 && i < s->visit.servers; i++) {
        s->held = s->held_short = s->foreign = s->unshown = s->endless = 0;
        s->unshown_ms = 0;
        s->foreigners[0] = '\0';
        s->denied = false;
        rc = sfid__visit_server(&s->visit, i);
        if (rc == 0)
            check(s);
    }
    return sfid__visit_end(s ? &s->visit : NULL, rc, why, why_size);
}
