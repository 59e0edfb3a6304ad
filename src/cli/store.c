/* SPDX-License-Identifier: MIT */
/* store.c - options of leases, and what can go wrong with a server. */
#include "cli.h"

#define DAY_MS 86400000
#define BUDGET_MAX_MS 3600000

bool store_options(const struct args *args, int ttl, int budget, int timeout, sfid_options *opt) {
    if (!args_between(args, ttl, 1000, DAY_MS, &opt->ttl_ms) ||
        !args_between(args, budget, 0, BUDGET_MAX_MS, &opt->skew_budget_ms) ||
        !args_between(args, timeout, 1, DAY_MS, &opt->open_timeout_ms))
        return false;
    if (opt->heartbeat_ms > opt->ttl_ms / 3)
        opt->heartbeat_ms = opt->ttl_ms / 3;
    return true;
}

int store_failure(int code, const char *why) {
    say("%s", why[0] ? why : sfid_strerror(code));
    return code == SFID_EINVAL ? STATUS_CONFIG : status_of(code);
}
