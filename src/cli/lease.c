/* SPDX-License-Identifier: MIT */
/* lease.c - sfid lease: who holds which pid of an app. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { APP, STORE, LAYOUT, FORMAT, ALL, TTL, BUDGET, TIMEOUT };

static const struct option_spec options[] = {
    [APP] = {"app", 0, "APP", "SFID_APP", "which"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE", "the URL of its Redis server"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "its layout (sfid)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text or json (text)"},
    [ALL] = {"all", 0, NULL, NULL, "also pids whose lease has run out or was given back"},
    [TTL] = OPTION_TTL,
    [BUDGET] = OPTION_BUDGET,
    [TIMEOUT] = OPTION_TIMEOUT,
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {"text", "json", NULL};

/* ---- one pid ------------------------------------------------------------- */

struct list {
    bool json, all;
    uint64_t shown;
};

static const char *kind_name(sfid_lease_kind kind) {
    switch (kind) {
    case SFID_LEASE_HELD:
        return "held";
    case SFID_LEASE_RUN_OUT:
        return "run-out";
    case SFID_LEASE_RELEASED:
        return "released";
    case SFID_LEASE_FOREIGN:
        return "foreign";
    case SFID_LEASE_ENDING:
        return "ending";
    }
    return "unknown"; /* a library newer than this command */
}

static bool is_busy(const sfid_lease_info *lease) { return lease->kind == SFID_LEASE_HELD || lease->kind == SFID_LEASE_FOREIGN; }

static void show_text(const struct list *list, const sfid_lease_info *lease) {
    char left[24] = "-";
    if (is_busy(lease) && lease->until_unix_ms >= 0)
        snprintf(left, sizeof left, "%" PRId64, lease->left_ms / 1000);
    if (list->shown == 0)
        out_print("%-5s  %-8s  %7s  %s\n", "pid", "state", "seconds", "holder");
    out_print("%-5" PRIu64 "  %-8s  %7s  %s\n", lease->pid, kind_name(lease->kind), left, lease->holder[0] ? lease->holder : "-");
}

static void show_json(const sfid_lease_info *lease) {
    char until[DATE_ROOM];
    json_open(NULL, '{');
    json_uint("pid", lease->pid);
    json_text("state", kind_name(lease->kind));
    if (lease->holder[0])
        json_text("holder", lease->holder);
    if (lease->until_unix_ms >= 0) {
        date_text(until, lease->until_unix_ms);
        json_text("until", until);
        json_int("until_unix_ms", lease->until_unix_ms);
        json_int("left_ms", lease->left_ms);
    }
    json_close('}');
    json_end();
}

static int show(void *user, const sfid_lease_info *lease) {
    struct list *list = user;
    if (!list->all && !is_busy(lease))
        return 0;
    if (list->json)
        show_json(lease);
    else
        show_text(list, lease);
    list->shown++;
    return !out_good();
}

/* ---- the app ------------------------------------------------------------- */

/* What a list does not say, or an empty one leaves open. */
static void tell(const sfid_options *opt, const sfid_app_info *info, const struct list *list) {
    char open[DATE_ROOM];
    if (info->state == SFID_APP_UNKNOWN) {
        say("%s does not know app %s: it is new there, or all was forgotten", info->server, opt->app);
    } else if (info->state == SFID_APP_FORGOTTEN) {
        say("%s: what is known of app %s is from before a restart or failover, and the next change will forget it", info->server,
            opt->app);
    } else if (info->open_unix_ms > info->server_unix_ms) {
        date_text(open, info->open_unix_ms);
        say("%s: pids of app %s that the server knows nothing of are handed out from %s on", info->server, opt->app, open);
    }
    if (info->state != SFID_APP_UNKNOWN && list->shown == 0)
        say("%s: nobody holds a pid of app %s (%" PRIu64 " run out, %" PRIu64 " given back%s)", info->server, opt->app,
            info->run_out, info->released, info->run_out + info->released > 0 ? ": --all lists them" : "");
}

static int ls(const struct args *args, const sfid_options *opt) {
    sfid_app_info info;
    char why[SFID_WHY_LEN];
    const int format = args_choice(args, FORMAT, formats);
    if (format < 0)
        return STATUS_USAGE;
    struct list list = {.json = format == 1, .all = args->value[ALL] != NULL};
    const int code = sfid_app_look(opt, &info, show, &list, why, sizeof why);
    if (code < 0)
        return store_failure(code, why);
    tell(opt, &info, &list);
    return STATUS_GOOD;
}

static const struct {
    const char *name;
    int (*run)(const struct args *args, const sfid_options *opt);
} actions[] = {{"ls", ls}};

static const char *action_name(size_t i) { return i < COUNT_OF(actions) ? actions[i].name : NULL; }

static int unknown_action(const struct args *args, const char *name) {
    const char *near = nearest(name, action_name);
    say("lease: unknown action %s%s%s%s", QUOTE(name), near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return usage(args->command);
}

static int run(const struct args *args) {
    static const int needed[] = {APP, STORE};
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid_layout layout;
    size_t i = 0;
    if (args->operand_count == 0) {
        say("lease: an action is missing: ls");
        return usage(args->command);
    }
    while (i < COUNT_OF(actions) && strcmp(args->operands[0], actions[i].name) != 0)
        i++;
    if (i == COUNT_OF(actions))
        return unknown_action(args, args->operands[0]);
    if (args->operand_count > 1) {
        say("lease %s: %s is too much", actions[i].name, QUOTE(args->operands[1]));
        return usage(args->command);
    }
    if (!args_given(args, needed, COUNT_OF(needed)))
        return usage(args->command);
    if (!args_app(args, APP, &opt.app) || !args_layout(args, LAYOUT, &layout) || !store_options(args, TTL, BUDGET, TIMEOUT, &opt))
        return STATUS_USAGE;
    opt.store = args->value[STORE];
    opt.layout = &layout;
    return actions[i].run(args, &opt);
}

const struct command command_lease = {
    .name = "lease",
    .synopsis = "ls --app APP --store STORE [--layout LAYOUT] [--format text|json] [--all] [--ttl-ms MS] [--skew-budget-ms MS] "
                "[--timeout-ms MS]",
    .summary = "list who holds which pid at a Redis server",
    .about = "ls lists the pids of APP that are held: how many seconds each lease lasts unless it is\n"
             "renewed, and its holder, host and slot. A pid marked foreign is registered by a program\n"
             "that does not go by the server's records, or by a process that the server has\n"
             "forgotten; nobody else is given it while it is. Nothing is changed.\n\n"
             "An app that the server does not know, or of which nobody holds a pid, has an empty\n"
             "list; standard error says which.\n\n"
             "A URL with a password belongs into $SFID_STORE: others can read a command line.\n",
    .options = options,
    .run = run,
};
