/* SPDX-License-Identifier: MIT */
/* lease.c - sfid lease: lists and releases leases of an app. */
#include "args/any_layout.h"
#include "args/args.h"
#include "args/store.h"
#include "io/say.h"
#include "lease/ls.h"
#include "lease/options.h"
#include "lease/pid.h"

#include <string.h>

static const struct option_spec options[] = {
    [LEASE_APP] = {"app", 0, "APP", "SFID_APP", "the app"},
    [LEASE_STORE] = {"store", 0, "STORE", "SFID_STORE", "the URL of its Redis server"},
    [LEASE_LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "its layout (sfid)"},
    [LEASE_FORMAT] = {"format", 0, "FORMAT", NULL,
                      "text or json; ls: also tsv, csv or prometheus (text)"},
    [LEASE_ALL] = {"all", 0, NULL, NULL, "ls: also pids whose lease has run out or was released"},
    [LEASE_WATCH] = {"watch", 0, "[=SECONDS]", NULL, "ls: repeat, and show what changes (2)"},
    [LEASE_OUTPUT] = {"output", 'o', "FILE", NULL, "ls: replace this file in one step"},
    [LEASE_YES] = {"yes", 0, NULL, NULL, "release: do not ask"},
    [LEASE_RUN_DIR] = {"run-dir", 0, "DIR", "SFID_RUN_DIR", "show: the run directory of this host"},
    [LEASE_STATE_DIR] = {"state-dir", 0, "DIR", "SFID_STATE_DIR",
                         "show: the state directory of this host"},
    STORE_OPTIONS(LEASE_TTL),
    {NULL, 0, NULL, NULL, NULL},
};

static const struct {
    const char *name;
    int operands;
    int (*run)(const struct args *args, const sfid_options *opt);
} actions[] = {{"ls", 1, lease_ls}, {"show", 2, lease_show}, {"release", 2, lease_release}};

static const char *action_name(size_t i) { return i < COUNT_OF(actions) ? actions[i].name : NULL; }

static int run_lease(const struct args *args) {
    static const int needed[] = {LEASE_APP, LEASE_STORE};
    sfid_options opt = SFID_OPTIONS_INIT;
    struct any_layout layout;
    size_t i = 0;
    if (args->operand_count == 0) {
        say("lease: an action is missing; expected ls, show or release");
        return usage(args->command);
    }
    while (i < COUNT_OF(actions) && strcmp(args->operands[0], actions[i].name) != 0)
        i++;
    if (i == COUNT_OF(actions)) {
        say_unknown("lease: unknown action", args->operands[0], action_name);
        return usage(args->command);
    }
    if (args->operand_count > actions[i].operands) {
        say("lease %s: unexpected argument %s", actions[i].name,
            QUOTE(args->operands[actions[i].operands]));
        return usage(args->command);
    }
    if (args->operand_count < actions[i].operands) {
        say("lease %s: a pid is missing", actions[i].name);
        return usage(args->command);
    }
    if (!args_given(args, needed, COUNT_OF(needed)))
        return usage(args->command);
    if (!args_app(args, LEASE_APP, &opt.app) || !args_any_layout(args, LEASE_LAYOUT, &layout) ||
        !app_options(args, LEASE_RUN_DIR, &opt))
        return STATUS_USAGE;
    opt.store = args->value[LEASE_STORE];
    any_layout_option(&layout, &opt);
    return actions[i].run(args, &opt);
}

const struct command command_lease = {
    .name = "lease",
    .synopsis =
        "ls|show PID|release PID --app APP --store STORE [--layout LAYOUT] [--format text|json|tsv|csv|prometheus] [--all] "
        "[--watch[=SECONDS]] [-o FILE] [--yes] [--run-dir DIR] [--state-dir DIR] [--ttl-ms MS] [--short-ms MS] "
        "[--skew-budget-ms MS] [--timeout-ms MS]",
    .summary = "list who holds which pid at a Redis server, and end a lease",
    .about =
        "ls lists the pids of APP that are held: how many seconds each lease lasts without renewal,\n"
        "and its holder (machine and slot). An unshown pid may be in use: the server has begun anew\n"
        "since, and its holder shows the lease at its next heartbeat. A foreign pid is registered by\n"
        "a program that does not use the server's records. With --watch a terminal shows the current\n"
        "list; elsewhere each change is a line. Format prometheus, with -o, is for the textfile\n"
        "collector of node_exporter.\n\n"
        "show shows all that is known about one pid, and which process of this host holds it.\n\n"
        "release prevents a lease from being renewed. Its holder may generate IDs until the window\n"
        "ends; then the pid is free. A running process takes another pid at its next renewal. If the\n"
        "holder has died, release does not free the pid any earlier.\n\n"
        "The list is empty if the server does not know the app or nobody holds a pid; standard\n"
        "error says which. ls and show change nothing.\n\n"
        "Pass a URL with a password in $SFID_STORE: other users can read a command line.\n",
    .options = options,
    .run = run_lease,
};
