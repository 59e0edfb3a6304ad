/* SPDX-License-Identifier: MIT */
#include "admin/facts.h"

#include "base/number.h"

#include <sfid.h>
#include <stdio.h>
#include <string.h>

static const char fields[] =
    "redis_version valkey_version role master_host master_port master_link_status connected_slaves "
    "min_slaves_good_slaves master_replid2 maxmemory maxmemory_policy used_memory cluster_enabled "
    "maxclients connected_clients";

int sfid__redis_check(struct sfid__visit *v, struct sfid__redis_facts *facts) {
    char key[80];
    const struct sfid__redis_reply *r = &v->app.reply;
    snprintf(key, sizeof key, "sfid:%s", v->app.name);
    facts->count = 0;
    const int rc = sfid__visit_ask(
        v, 5, (const char *const[]){"EVAL", sfid__check_lua, "1", key, fields}, NULL);
    for (unsigned i = 0; rc == 0 && i + 1 < r->count && facts->count < SFID__CHECK_FACTS;
         i += 2, facts->count++) {
        snprintf(facts->name[facts->count], SFID__CHECK_NAME, "%s", r->strings[i]);
        snprintf(facts->value[facts->count], SFID__CHECK_VALUE, "%s", r->strings[i + 1]);
    }
    return rc;
}

const char *sfid__redis_fact(const struct sfid__redis_facts *facts, const char *name) {
    for (unsigned i = 0; i < facts->count; i++)
        if (strcmp(facts->name[i], name) == 0)
            return facts->value[i];
    return NULL;
}

const char *sfid__redis_purpose(const char *command) {
    static const struct {
        const char *command, *purpose;
    } list[] = {{"eval", "it runs the lease script"},
                {"evalsha", "it names the script instead of sending it each time"},
                {"info", "it shows whether the server may have forgotten something"},
                {"time", "it reads the server's clock, which bounds the windows"},
                {"hmget", "it reads records for claims"},
                {"hget", "it reads the record of a renewal"},
                {"hset", "it writes grants"},
                {"del", "it begins a new era, and ends registrations"},
                {"get", "it reads registrations; registration=off does not need it"},
                {"set", "it registers pids; registration=off does not need it"},
                {"cluster|nodes", "it shows whether the app's slot is moving"},
                {"cluster|keyslot", "it shows which slot is the app's"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(list[i].command, command) == 0)
            return list[i].purpose;
    return "leases need it";
}

bool sfid__redis_older(const struct sfid__redis_facts *facts, unsigned version) {
    unsigned major = 0, minor = 0, patch = 0;
    const char *text = sfid__redis_fact(facts, "redis_version");
    return text && sscanf(text, "%u.%u.%u", &major, &minor, &patch) == 3 &&
           major * 10000 + minor * 100 + patch < version;
}

int sfid__redis_try_evalsha(struct sfid__visit *v) {
    const struct sfid__error kept = v->error;
    const int rc =
        sfid__visit_ask(v, 3, (const char *const[]){"EVALSHA", sfid__lease_sha, "0"}, NULL);
    v->error = kept;
    return rc;
}

static int64_t number(const char *text) {
    uint64_t n;
    return text && sfid__number(text, strlen(text), INT64_MAX, &n) ? (int64_t)n : -1;
}

int64_t sfid__redis_fact_number(const struct sfid__redis_facts *facts, const char *name) {
    return number(sfid__redis_fact(facts, name));
}

bool sfid__redis_has_replicas(const struct sfid__redis_facts *facts) {
    const char *before = sfid__redis_fact(facts, "master_replid2"),
               *role = sfid__redis_fact(facts, "role");
    return sfid__redis_fact_number(facts, "connected_slaves") > 0 ||
           sfid__redis_fact(facts, "min_slaves_good_slaves") ||
           (role && strcmp(role, "slave") == 0) ||
           (before && strspn(before, "0") != strlen(before));
}

int64_t sfid__redis_setting(struct sfid__visit *v, const char *name) {
    struct sfid__error kept = v->error;
    const struct sfid__redis_reply *r = &v->app.reply;
    const int rc = sfid__visit_ask(v, 3, (const char *const[]){"CONFIG", "GET", name}, NULL);
    v->error = kept;
    return rc == 0 && r->count == 2 ? number(r->strings[1]) : -1;
}
