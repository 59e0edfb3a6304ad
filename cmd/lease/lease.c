/* SPDX-License-Identifier: MIT */
/* lease.c - sfid lease: lists and releases leases of an app. */
#include "lease/commands.h"

#include "args/any_layout.h"
#include "args/args.h"
#include "args/nearest.h"
#include "args/store.h"
#include "args/usage.h"
#include "io/say.h"
#include "lease/actions.h"

#include <string.h>

static const struct option_spec options[] = {
    [LEASE_APP] = {"app", 0, "APP", "SFID_APP", "which"},
    [LEASE_STORE] = {"store", 0, "STORE", "SFID_STORE", "the URL of its Redis server"},
    [LEASE_LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "its layout (sfid)"},
    [LEASE_FORMAT] = {"format", 0, "FORMAT", NULL, "text or json; ls: tsv, csv or prometheus, too (text)"},
    [LEASE_ALL] = {"all", 0, NULL, NULL, "ls: also pids whose lease has run out or was given back"},
    [LEASE_WATCH] = {"watch", 0, "[=SECONDS]", NULL, "ls: look again and again, and show what changes (2)"},
    [LEASE_OUTPUT] = {"output", 'o', "FILE", NULL, "ls: replace this file in one step"},
    [LEASE_YES] = {"yes", 0, NULL, NULL, "release: do not ask"},
    [LEASE_RUN_DIR] = {"run-dir", 0, "DIR", "SFID_RUN_DIR", "show: where this host's slots are"},
    [LEASE_STATE_DIR] = {"state-dir", 0, "DIR", "SFID_STATE_DIR", "show: where its machine ID is"},
    [LEASE_TTL] = OPTION_TTL,
    [LEASE_BUDGET] = OPTION_BUDGET,
    [LEASE_TIMEOUT] = OPTION_TIMEOUT,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct {
    const char *name;
    int operands;
    int (*run)(const struct args *args, const sfid_options *opt);
} actions[] = {{"ls", 1, lease_ls}, {"show", 2, lease_show}, {"release", 2, lease_release}};

static const char *action_name(size_t i) { return i < COUNT_OF(actions) ? actions[i].name : NULL; }

static int unknown_action(const struct args *args, const char *name) {
    const char *near = nearest(name, action_name);
    say("lease: unknown action %s%s%s%s", QUOTE(name), near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return usage(args->command);
}

static int run(const struct args *args) {
    static const int needed[] = {LEASE_APP, LEASE_STORE};
    sfid_options opt = SFID_OPTIONS_INIT;
    struct any_layout layout;
    size_t i = 0;
    if (args->operand_count == 0) {
        say("lease: an action is missing: ls, show or release");
        return usage(args->command);
    }
    while (i < COUNT_OF(actions) && strcmp(args->operands[0], actions[i].name) != 0)
        i++;
    if (i == COUNT_OF(actions))
        return unknown_action(args, args->operands[0]);
    if (args->operand_count > actions[i].operands) {
        say("lease %s: unexpected argument %s", actions[i].name, QUOTE(args->operands[actions[i].operands]));
        return usage(args->command);
    }
    if (args->operand_count < actions[i].operands) {
        say("lease %s: a pid is missing", actions[i].name);
        return usage(args->command);
    }
    if (!args_given(args, needed, COUNT_OF(needed)))
        return usage(args->command);
    if (!args_app(args, LEASE_APP, &opt.app) || !args_any_layout(args, LEASE_LAYOUT, &layout) ||
        !args_directory(args, LEASE_RUN_DIR, &opt.run_dir) || !args_directory(args, LEASE_STATE_DIR, &opt.state_dir) ||
        !store_options(args, LEASE_TTL, LEASE_BUDGET, LEASE_TIMEOUT, &opt))
        return STATUS_USAGE;
    opt.store = args->value[LEASE_STORE];
    any_layout_option(&layout, &opt);
    return actions[i].run(args, &opt);
}

const struct command command_lease = {
    .name = "lease",
    .synopsis = "ls|show PID|release PID --app APP --store STORE [--layout LAYOUT] [--format text|json|tsv|csv|prometheus] [--all] "
                "[--watch[=SECONDS]] [-o FILE] [--yes] [--run-dir DIR] [--state-dir DIR] [--ttl-ms MS] [--skew-budget-ms MS] "
                "[--timeout-ms MS]",
    .summary = "list who holds which pid at a Redis server, and end a lease",
    .about = "ls lists the pids of APP that are held: how many seconds each lease lasts unless it is\n"
             "renewed, and its holder, host and slot. A pid marked foreign is registered by a program\n"
             "that does not go by the server's records, or by a process that the server has\n"
             "forgotten; nobody else is given it while it is. With --watch a terminal shows the list\n"
             "as it is; elsewhere each change is a line. Format prometheus is for node_exporter's\n"
             "textfile collector, with -o.\n\n"
             "show tells all that is known of one pid, and which process of this host holds it.\n\n"
             "release keeps a lease from being renewed. Its holder may go on until the window ends,\n"
             "for that was granted; then the pid is free. A process that lives takes another pid at\n"
             "its next renewal. Of one that has died nothing comes free any earlier than by itself.\n\n"
             "An app that the server does not know, or of which nobody holds a pid, has an empty\n"
             "list; standard error says which. ls and show change nothing.\n\n"
             "A URL with a password belongs into $SFID_STORE: others can read a command line.\n",
    .options = options,
    .run = run,
};
