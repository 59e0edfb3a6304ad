/* SPDX-License-Identifier: MIT */
/* pid.c - sfid lease show and release: shows all about one pid, and ends its lease. */
#include "lease/pid.h"

#include "args/any_layout.h"
#include "args/store.h"
#include "io/digits.h"
#include "io/json.h"
#include "io/look.h"
#include "io/out.h"
#include "io/say.h"
#include "lease/holders.h"
#include "lease/options.h"
#include "lease/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *const formats[] = {"text", "json", NULL};

static bool read_pid(const struct args *args, const sfid_options *opt, uint64_t *pid) {
    if (read_u64(args->operands[1], option_max_pid(opt), pid))
        return true;
    say("lease %s: %s is not a pid; expected 0 to %" PRIu64, args->operands[0],
        QUOTE(args->operands[1]), option_max_pid(opt));
    return false;
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
    char date[DATE_ROOM];
    const int64_t away = (unix_ms - now_ms) / 1000;
    date_text(date, unix_ms);
    out_print(unix_ms <= now_ms ? "%-9s  %s, %" PRId64 " s ago\n" : "%-9s  %s, in %" PRId64 " s\n",
              label, date, away < 0 ? -away : away);
}

static void show_free_text(const sfid_pid_info *info) {
    char date[DATE_ROOM];
    date_text(date, info->free_unix_ms);
    if (info->free_unix_ms == 0)
        out_print("free       now\n");
    else if (info->free_unix_ms > 0)
        out_print("free       from %s on%s\n", date,
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

static void put_json_time(const char *name, const char *number, int64_t unix_ms) {
    char date[DATE_ROOM];
    if (unix_ms < 0)
        return;
    date_text(date, unix_ms);
    json_text(name, date);
    json_int(number, unix_ms);
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
    put_json_time("renewed", "renewed_unix_ms", info->renewed_unix_ms);
    put_json_time("until", "until_unix_ms", info->until_unix_ms);
    if (info->until_unix_ms >= 0)
        json_int("left_ms", info->left_ms);
    put_json_time("free", "free_unix_ms", info->free_unix_ms);
    if (info->nonce[0])
        json_text("nonce", info->nonce);
    if (info->registered[0])
        json_text("registered", info->registered);
}

int lease_show(const struct args *args, const sfid_options *opt) {
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
    char until[DATE_ROOM];
    date_text(until, info->until_unix_ms);
    out_print(
        "pid %" PRIu64 " is held by %s until %s, %" PRId64 " s from now.\n"
        "Its lease will not be renewed again. A running process may generate IDs with it until then,\n"
        "and takes another pid at its next renewal. The pid is granted again only after that. If no\n"
        "process is running, the lease ends at that time without this command as well.\n",
        info->pid, info->holder, until, info->left_ms > 0 ? info->left_ms / 1000 : 0);
}

static bool agreed(void) {
    char answer[16];
    out_print("End the lease? [y/N] ");
    out_flush();
    return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static int refused(int code, const char *why) {
    const int status = store_failure(code, why);
    return code == SFID_ELEASE ? STATUS_BAD_INPUT : status;
}

static int report(const sfid_pid_info *info, bool json) {
    char from[DATE_ROOM];
    date_text(from, info->free_unix_ms);
    if (json) {
        json_open(NULL, '{');
        show_pid_json(info);
        json_end();
    } else if (info->free_unix_ms > 0)
        out_print("pid %" PRIu64
                  ": the lease will not be renewed, and the pid is free from %s on\n",
                  info->pid, from);
    else
        out_print("pid %" PRIu64 ": the lease will not be renewed, and the pid is free\n",
                  info->pid);
    return STATUS_GOOD;
}

int lease_release(const struct args *args, const sfid_options *opt) {
    sfid_pid_info info;
    char why[SFID_WHY_LEN];
    uint64_t pid;
    const bool yes = args->value[LEASE_YES] != NULL;
    const int format = args_choice(args, LEASE_FORMAT, formats);
    if (format < 0 || !read_pid(args, opt, &pid))
        return STATUS_USAGE;
    if (!yes && (format == 1 || !isatty(STDIN_FILENO))) {
        say("lease release: %s; use --yes to go ahead", format == 1
                                                            ? "with --format json nothing is asked"
                                                            : "standard input is not a terminal");
        return STATUS_USAGE;
    }
    int code = sfid_pid_look(opt, pid, &info, why, sizeof why);
    if (code < 0)
        return store_failure(code, why);
    if (!yes && info.there &&
        (info.kind == SFID_LEASE_HELD || info.kind == SFID_LEASE_RUN_OUT ||
         info.kind == SFID_LEASE_ENDING)) {
        explain(&info);
        if (!agreed()) {
            say("lease release: nothing was changed");
            return STATUS_BAD_INPUT;
        }
    }
    /* The holder that the user was shown, if any. */
    const bool held = info.there && info.holder[0] && info.kind != SFID_LEASE_FOREIGN;
    code = sfid_pid_finish(opt, pid, held ? info.holder : NULL, &info, why, sizeof why);
    return code < 0 ? refused(code, why) : report(&info, format == 1);
}
