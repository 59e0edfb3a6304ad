/* SPDX-License-Identifier: MIT */
/* source.c - where the pids of a generator come from: an option, a store, or the host's name. */
#include "text/source.h"

#include "io/say.h"

bool source_read(const struct args *args, const struct source_options *at,
                 const struct any_layout *any, sfid_options *opt) {
    const int p = at->host.pid;
    const bool pid = args->value[p] != NULL, store = args->value[at->store] != NULL;
    uint64_t value;
    if (pid && store && !args->from_env[p] && !args->from_env[at->store]) {
        say("%s and %s cannot be used together: a store chooses the pid", args->label[p],
            args->label[at->store]);
        return false;
    }
    if (!pid || (store && !args->from_env[at->store])) {
        opt->store = store ? args->value[at->store] : "local";
        return true;
    }
    if (!args_number(args, p, any_layout_max_pid(any), &value))
        return false;
    opt->pid = (int64_t)value;
    return true;
}

bool source_read_host(const struct args *args, const struct source_options *at,
                      const struct any_layout *any, sfid_options *opt) {
    if (args->value[at->app] && !args->from_env[at->app]) {
        say("%s: layout %s has no apps: processes with the same worker share its sequence",
            args->label[at->app], args->value[at->layout]);
        return false;
    }
    if (args->value[at->store] && !args->from_env[at->store])
        opt->store = args->value[at->store];
    return host_pid(args, &at->host, any, &opt->pid);
}
