/* SPDX-License-Identifier: MIT */
/* lease.c - sfid lease: lists leases of an app, shows all about one pid, and ends its lease. */
#include "args/any_layout.h"
#include "args/args.h"
#include "args/store.h"
#include "io/digits.h"
#include "io/json.h"
#include "io/look.h"
#include "io/out.h"
#include "io/say.h"
#include "lease/holders.h"
#include "lease/ls.h"
#include "lease/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

static const char *const formats[] = {"text", "json", NULL}; /* of show and release */

static bool read_pid(const struct args *args, const sfid_options *opt, uint64_t *pid) {
    if (read_u64(args->operands[1], option_max_pid(opt), pid))
        return true;
    return refuse("lease %s: %s is not a pid; expected 0 to %" PRIu64, args->operands[0],
                  QUOTE(args->operands[1]), option_max_pid(opt));
}

/* ---- this host ------------------------------------------------------------- */

/* A lease's slot on this host, and the processes that hold it. */
struct here {
    bool ours;         /* the holder is on this machine */
    char machine[127]; /* this machine's ID; "": unknown */
    struct survey survey;
    struct app app;
    struct slot slot;
    char path[PATH_ROOM];
};

static void look_here(struct here *here, const sfid_options *opt, const char *holder) {
    static char run[PATH_ROOM - 200], state[PATH_ROOM - 200];
    struct stat st;
    const char *number = strrchr(holder, ':');
    if (sfid_directories(opt, run, sizeof run, state, sizeof state) < 0 || number == NULL)
        return;
    snprintf(here->path, sizeof here->path, "%s/machine_id", state);
    if (look_read(here->path, here->machine, sizeof here->machine) <= 0)
        here->machine[0] = '\0';
    here->ours = here->machine[0] && strlen(here->machine) == (size_t)(number - holder) &&
                 strncmp(holder, here->machine, strlen(here->machine)) == 0;
    snprintf(here->path, sizeof here->path, "%s/%s/%s", run, opt->app, number + 1);
    if (!here->ours || strchr(number, '/') || lstat(here->path, &st) < 0)
        return;
    here->slot = (struct slot){
        .path = here->path, .inode = st.st_ino, .map_inode = st.st_ino, .major = major(st.st_dev)};
    here->slot.map_major = here->slot.major;
    here->slot.minor = here->slot.map_minor = minor(st.st_dev);
    here->app = (struct app){.slots = &here->slot, .slot_count = 1};
    here->survey = (struct survey){.run = run, .state = state, .apps = &here->app, .app_count = 1};
    holders_find(&here->survey);
}

static void show_here_text(const struct here *here) {
    if (here->machine[0] == '\0')
        out_print("here       unknown: this host has no machine ID\n");
    else if (!here->ours)
        out_print("here       no: this machine is %s\n", here->machine);
    else if (here->slot.holder_count == 0)
        out_print(
            "here       yes, but no process %sholds its slot: the next process of the app resumes it\n",
            here->survey.hidden ? "visible to this user " : "");
    for (size_t i = 0; i < here->slot.holder_count; i++) {
        const struct quoted name =
            quote(here->slot.holders[i].name, strlen(here->slot.holders[i].name));
        out_print("%-9s  %s process %" PRId64 " (%.*s)\n", i ? "" : "here", i ? "and" : "yes, by",
                  here->slot.holders[i].process, (int)strlen(name.text) - 2, name.text + 1);
    }
}

static void show_here_json(const struct here *here) {
    json_bool("here", here->ours);
    json_open("processes", '[');
    for (size_t i = 0; i < here->slot.holder_count; i++) {
        json_open(NULL, '{');
        json_int("process", here->slot.holders[i].process);
        json_text("name", here->slot.holders[i].name);
        json_close('}');
    }
    json_close(']');
}

/* ---- show ------------------------------------------------------------------ */

/* Writes "2026-11-21T20:04:05.000Z, in 587 s". */
static void put_time(const char *label, int64_t unix_ms, int64_t now_ms) {
    const int64_t away = (unix_ms - now_ms) / 1000;
    out_print(unix_ms <= now_ms ? "%-9s  %s, %" PRId64 " s ago\n" : "%-9s  %s, in %" PRId64 " s\n",
              label, DATED(unix_ms), away < 0 ? -away : away);
}

static void show_free_text(const sfid_pid_info *info) {
    if (info->free_unix_ms == 0)
        out_print("free       now\n");
    else if (info->free_unix_ms > 0)
        out_print("free       from %s on%s\n", DATED(info->free_unix_ms),
                  info->kind == SFID_LEASE_HELD ? ", unless it is renewed" : "");
}

static void show_pid_text(const sfid_pid_info *info) {
    out_print("pid        %" PRIu64 "\nserver     %s\nstate      %s\n", info->pid, info->server,
              info->there ? lease_kind_name(info->kind) : "unknown: nobody holds it");
    if (!info->there)
        return;
    if (info->holder[0])
        out_print("holder     %s\n", info->holder);
    if (info->renewed_unix_ms >= 0)
        put_time("renewed", info->renewed_unix_ms, info->server_unix_ms);
    if (info->until_unix_ms >= 0)
        put_time(info->kind == SFID_LEASE_RELEASED ? "used till" : "until", info->until_unix_ms,
                 info->server_unix_ms);
    show_free_text(info);
    if (info->nonce[0])
        out_print("nonce      %s\n", info->nonce);
    if (info->registered[0])
        out_print("registered %s%s\n", info->registered,
                  info->registered_until < 0 ? ", with no known end" : "");
}

static void show_pid_json(const sfid_pid_info *info) {
    json_uint("pid", info->pid);
    json_text("state", info->there ? lease_kind_name(info->kind) : "unknown");
    json_text("server", info->server);
    json_int("server_unix_ms", info->server_unix_ms);
    if (!info->there)
        return;
    if (info->holder[0])
        json_text("holder", info->holder);
    json_time("renewed", info->renewed_unix_ms);
    json_time("until", info->until_unix_ms);
    if (info->until_unix_ms >= 0)
        json_int("left_ms", info->left_ms);
    json_time("free", info->free_unix_ms);
    if (info->nonce[0])
        json_text("nonce", info->nonce);
    if (info->registered[0])
        json_text("registered", info->registered);
}

static int lease_show(const struct args *args, const sfid_options *opt) {
    static struct here here;
    sfid_pid_info info;
    char why[SFID_WHY_LEN];
    uint64_t pid;
    const int format = args_choice(args, LEASE_FORMAT, formats);
    if (format < 0 || !read_pid(args, opt, &pid))
        return STATUS_USAGE;
    const int code = sfid_pid_look(opt, pid, &info, why, sizeof why);
    if (code < 0)
        return store_failure(code, why);
    const bool held = info.there && info.holder[0] && info.kind != SFID_LEASE_FOREIGN;
    if (held)
        look_here(&here, opt, info.holder);
    if (format == 1) {
        json_open(NULL, '{');
        show_pid_json(&info);
        if (held)
            show_here_json(&here);
        json_end();
    } else {
        show_pid_text(&info);
        if (held)
            show_here_text(&here);
    }
    free(here.slot.holders);
    return STATUS_GOOD;
}

/* ---- release --------------------------------------------------------------- */

static void explain(const sfid_pid_info *info) {
    out_print(
        "pid %" PRIu64 " is held by %s until %s, %" PRId64 " s from now.\n"
        "Its lease will not be renewed again. A running process may generate IDs with it until then,\n"
        "and takes another pid at its next renewal. The pid is granted again only after that. If no\n"
        "process is running, the lease ends at that time without this command as well.\n",
        info->pid, info->holder, DATED(info->until_unix_ms),
        info->left_ms > 0 ? info->left_ms / 1000 : 0);
}

static int refused(int code, const char *why) {
    const int status = store_failure(code, why);
    return code == SFID_ELEASE ? STATUS_BAD_INPUT : status;
}

static int report(const sfid_pid_info *info, bool json) {
    if (json) {
        json_open(NULL, '{');
        show_pid_json(info);
        json_end();
    } else if (info->free_unix_ms > 0)
        out_print("pid %" PRIu64
                  ": the lease will not be renewed, and the pid is free from %s on\n",
                  info->pid, DATED(info->free_unix_ms));
    else
        out_print("pid %" PRIu64 ": the lease will not be renewed, and the pid is free\n",
                  info->pid);
    return STATUS_GOOD;
}

static int lease_release(const struct args *args, const sfid_options *opt) {
    sfid_pid_info info;
    char why[SFID_WHY_LEN];
    uint64_t pid;
    const bool yes = args->value[LEASE_YES] != NULL;
    const int format = args_choice(args, LEASE_FORMAT, formats);
    if (format < 0 || !read_pid(args, opt, &pid))
        return STATUS_USAGE;
    if (!yes && (format == 1 || !isatty(STDIN_FILENO)))
        return fail(STATUS_USAGE, "lease release: %s; use --yes to go ahead",
                    format == 1 ? "with --format json nothing is asked"
                                : "standard input is not a terminal");
    int code = sfid_pid_look(opt, pid, &info, why, sizeof why);
    if (code < 0)
        return store_failure(code, why);
    if (!yes && info.there &&
        (info.kind == SFID_LEASE_HELD || info.kind == SFID_LEASE_RUN_OUT ||
         info.kind == SFID_LEASE_ENDING)) {
        explain(&info);
        if (!agreed("End the lease? [y/N] "))
            return fail(STATUS_BAD_INPUT, "lease release: nothing was changed");
    }
    /* The holder that the user was shown, if any. */
    const bool held = info.there && info.holder[0] && info.kind != SFID_LEASE_FOREIGN;
    code = sfid_pid_finish(opt, pid, held ? info.holder : NULL, &info, why, sizeof why);
    return code < 0 ? refused(code, why) : report(&info, format == 1);
}

/* ---- the command ----------------------------------------------------------- */

static const struct {
    const char *name;
    int operands;
    int (*run)(const struct args *args, const sfid_options *opt);
} actions[] = {{"ls", 1, lease_ls}, {"show", 2, lease_show}, {"release", 2, lease_release}};

static const char *action_name(size_t i) { return i < COUNT_OF(actions) ? actions[i].name : NULL; }

static int run_lease(const struct args *args) {
    sfid_options opt = SFID_OPTIONS_INIT;
    struct any_layout layout;
    size_t i = 0;
    if (args->operand_count == 0)
        return misuse(args, "lease: an action is missing; expected ls, show or release");
    while (i < COUNT_OF(actions) && strcmp(args->operands[0], actions[i].name) != 0)
        i++;
    if (i == COUNT_OF(actions)) {
        say_unknown("lease: unknown action", args->operands[0], action_name);
        return usage(args->command);
    }
    if (args->operand_count > actions[i].operands)
        return misuse(args, "lease %s: unexpected argument %s", actions[i].name,
                      QUOTE(args->operands[actions[i].operands]));
    if (args->operand_count < actions[i].operands)
        return misuse(args, "lease %s: a pid is missing", actions[i].name);
    if (!args_given(args, LEASE_APP, LEASE_STORE))
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
