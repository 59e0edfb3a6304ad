/* SPDX-License-Identifier: MIT */
/* init.c - sfid init: states that no process of an app is running. */
#include "args/any_layout.h"
#include "args/args.h"
#include "args/store.h"
#include "io/date.h"
#include "io/out.h"
#include "io/say.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { APP, STORE, PID, LAYOUT, FORCE, UPGRADE, DRY_RUN, RANGE, WRONG_CLOCK, MAX_AHEAD, RUN_DIR };

static const struct option_spec options[] = {
    [APP] = {"app", 0, "APP", "SFID_APP", "the app"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE", "the URL of its Redis server, or ordinal:"},
    [PID] = {"pid", 0, "PID", NULL, "with --clock-was-wrong: a fixed process ID instead"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "its layout (sfid)"},
    [FORCE] = {"force", 0, NULL, NULL,
               "go ahead even if pids are held; with --clock-was-wrong, without asking"},
    [UPGRADE] = {"upgrade", 0, NULL, NULL,
                 "discard the records of an older version, whose rules differ"},
    [DRY_RUN] = {"dry-run", 0, NULL, NULL,
                 "with --upgrade: show what it would do, and change nothing"},
    [RANGE] = {"range", 0, NULL, NULL,
               "change only the range of pids, to that of STORE, while processes run"},
    [WRONG_CLOCK] = {"clock-was-wrong", 0, NULL, NULL,
                     "lower the mark of a pid that was written under a wrong clock"},
    [MAX_AHEAD] = {"max-ahead-ms", 0, "MS", NULL,
                   "how far ahead of the clock APP's IDs may be (10000)"},
    APP_OPTIONS(RUN_DIR),
    {NULL, 0, NULL, NULL, NULL},
};

/* Prints the app's state before. */
static void show_state(const sfid_app_info *found) {
    if (found->state == SFID_APP_UNKNOWN)
        out_print("found     the server does not know the app\n");
    else if (found->state == SFID_APP_FORGOTTEN)
        out_print(
            "found     the server's records were from before a restart or failover, and are discarded now\n");
    else if (found->open_unix_ms <= found->server_unix_ms)
        out_print("found     the server already granted pids\n");
    else
        out_print("found     pids without a record would have been granted from %s on\n",
                  DATED(found->open_unix_ms));
}

static void show_pids(const sfid_app_info *found) {
    if (found->held + found->unshown + found->foreign + found->run_out + found->released > 0)
        out_print("pids      %" PRIu64 " held, %" PRIu64 " unshown, %" PRIu64 " foreign, %" PRIu64
                  " run out, %" PRIu64 " released\n",
                  found->held, found->unshown, found->foreign, found->run_out, found->released);
}

/* With a range of the server's own, processes with other pids may run. */
static void show_whom(const sfid_options *opt, const sfid_app_info *found) {
    if (strstr(opt->store, "pids="))
        out_print("asserted  no process anywhere has a pid from %" PRIu64 " to %" PRIu64,
                  found->pid_min, found->pid_max);
    else
        out_print("asserted  no process of the app is running anywhere");
}

static int report(const sfid_options *opt, const sfid_app_info *found) {
    out_print("app       %s\nserver    %s\n", opt->app, found->server);
    show_whom(opt, found);
    out_print(
        ", and no host on which one ran in the last %" PRId64
        " s\n          is cut off from the server; or none of them has reached the server for that long\n",
        ((int64_t)opt->ttl_ms + opt->skew_budget_ms + 999) / 1000);
    show_state(found);
    show_pids(found);
    out_print("done      pids without a record are granted from now on\n");
    return STATUS_GOOD;
}

/* ---- --range ------------------------------------------------------------------- */

static int change_range(const sfid_options *opt) {
    sfid_app_info now;
    char why[SFID_WHY_LEN];
    const int code = sfid_app_init(opt, SFID_INIT_RANGE, &now, why, sizeof why);
    if (code < 0)
        return store_failure(code, why);
    out_print("app       %s\nserver    %s\n", opt->app, now.server);
    out_print(
        "asserted  no other server has lent pids that are new here: all of their windows ended %" PRIu32
        " s ago\n",
        opt->skew_budget_ms / 1000);
    out_print("done      the app has pids %" PRIu64 " to %" PRIu64 " here%s\n", now.pid_min,
              now.pid_max, strstr(opt->store, "pids=") ? ", and who may go beyond is refused" : "");
    return STATUS_GOOD;
}

/* ---- --upgrade ---------------------------------------------------------------- */

static void show_plan(const sfid_options *opt, const sfid_app_info *found) {
    out_print("app       %s\nserver    %s\n", opt->app, found->server);
    if (found->state != SFID_APP_BARRED) {
        out_print("found     no records of an older version\n");
        return;
    }
    out_print("found     records of an older version of libsfid, whose rules differ\n");
    show_pids(found);
    out_print(
        "upgrade   discards these records; processes of the older version are refused from then on.\n"
        "          It is refused while a pid may be in use\n"
        "asserted  no process of the app is running anywhere\n");
}

static int show_upgraded(const sfid_options *opt) {
    sfid_app_info now;
    const int status = app_look(opt, &now);
    if (status != STATUS_GOOD)
        return status;
    if (now.open_unix_ms <= now.server_unix_ms)
        out_print("done      pids are granted from now on, by the rules of this version\n");
    else
        out_print(
            "done      pids are granted from %s on, by the rules of this version: the server had\n"
            "          forgotten holders before\n",
            DATED(now.open_unix_ms));
    return STATUS_GOOD;
}

/* Shows what it is going to do, unless that will be refused, then does it. */
static int upgrade(const sfid_options *opt, bool forced, bool dry) {
    sfid_app_info found;
    char why[SFID_WHY_LEN];
    const int status = app_look(opt, &found);
    if (status != STATUS_GOOD)
        return status;
    if (dry || found.state != SFID_APP_BARRED || found.held + found.unshown + found.foreign == 0)
        show_plan(opt, &found);
    if (dry || found.state != SFID_APP_BARRED) {
        out_print("done      nothing%s\n", dry ? " (--dry-run)" : "");
        return STATUS_GOOD;
    }
    const int code = sfid_app_init(opt, SFID_INIT_UPGRADE | (forced ? SFID_INIT_FORCE : 0), NULL,
                                   why, sizeof why);
    if (code < 0)
        return store_failure(code, why);
    return show_upgraded(opt);
}

/* ---- ordinal: --------------------------------------------------------------- */

/* Opens and closes a generator that waits for nothing: its mark is here then, and the next process
 * does not wait either. */
static int begin_ordinal(sfid_options *opt) {
    sfid *g = NULL;
    sfid_status_info st = {.pid = -1};
    opt->on_unknown = SFID_TRUST;
    const int status = app_open(&g, opt);
    if (status != STATUS_GOOD)
        return status;
    (void)!sfid_status(g, &st);
    out_print(
        "app       %s\npid       %" PRId64 "\n"
        "asserted  no process with this pid runs on another host, or ended there less than a window\n"
        "          (lead_ms + max_ahead_ms) and the skew budget (%" PRIu32 " ms) ago\n",
        opt->app, st.pid, opt->skew_budget_ms);
    if (st.ahead_ms > 0)
        out_print("found     a mark up to %s; it stays\n",
                  DATED(moment_now().unix_ms + st.ahead_ms));
    sfid_close(g);
    out_print("done      the pid has a mark on this host\n");
    return STATUS_GOOD;
}

/* ---- --clock-was-wrong --------------------------------------------------------- */

/* The pid that the options name, or -1. Without a fixed one it is the ordinal's. */
static int64_t pid_of(const sfid_options *opt) {
    sfid_app_info info = {.pid_min = 0};
    char why[SFID_WHY_LEN];
    if (opt->pid >= 0)
        return opt->pid;
    const int code = sfid_app_look(opt, &info, NULL, NULL, why, sizeof why);
    if (code == SFID_EUNSUPPORTED)
        return (int64_t)info.pid_min;
    store_failure(code, why);
    return -1;
}

static void show_wrong(const sfid_options *opt, int64_t pid, const sfid_mark_info *found) {
    out_print(
        "app       %s\npid       %" PRId64 "\nfound     a mark up to %s\nclock     %s\n"
        "asserted  the clock was wrong when the mark was written, and is right now. Of the IDs with this\n"
        "          pid that are dated from %s to %s none is kept,\n"
        "          or the pid is not used when that time comes\n",
        opt->app, pid, DATED(found->until_unix_ms), DATED(found->clock_unix_ms),
        DATED(found->clock_unix_ms + found->reach_ms), DATED(found->until_unix_ms));
}

static int lower_mark(const sfid_options *opt, bool forced) {
    sfid_mark_info info;
    char why[SFID_WHY_LEN];
    const int64_t pid = pid_of(opt);
    sfid_options local = *opt;
    local.pid = -1;
    if (pid < 0)
        return STATUS_CONFIG;
    int code = sfid_mark_look(&local, (uint64_t)pid, &info, why, sizeof why);
    if (code == SFID_ECLOCK) {
        show_wrong(opt, pid, &info);
        if (!forced && !isatty(STDIN_FILENO))
            return fail(STATUS_USAGE,
                        "init: standard input is not a terminal; use --force to go ahead");
        if (!forced && !agreed("Lower the mark? [y/N] "))
            return fail(STATUS_BAD_INPUT, "init: nothing was changed");
    }
    if (code == SFID_ECLOCK || code == 0)
        code = sfid_mark_lower(&local, (uint64_t)pid, &info, why, sizeof why);
    if (code < 0) {
        const int status = store_failure(code, why);
        return code == SFID_EAGAIN ? STATUS_BAD_INPUT : status;
    }
    out_print("done      the mark says %s: the first ID is dated then\n",
              DATED(info.until_unix_ms));
    return STATUS_GOOD;
}

/* ---- the command ----------------------------------------------------------------- */

/* Which options go together. False, with a message, if these do not. */
static bool fit(const struct args *args) {
    const bool wrong = args->value[WRONG_CLOCK] != NULL, pid = args->value[PID] != NULL;
    const char *store = pid && args->from_env[STORE] ? NULL : args->value[STORE];
    const char *why = NULL;
    if (args->value[DRY_RUN] && !args->value[UPGRADE])
        why = "--dry-run goes with --upgrade";
    else if ((pid || args->value[MAX_AHEAD]) && !wrong)
        why = pid ? "--pid goes with --clock-was-wrong"
                  : "--max-ahead-ms goes with --clock-was-wrong";
    else if (wrong && (args->value[UPGRADE] || (store != NULL) == pid ||
                       (store && strncmp(store, "ordinal:", 8) != 0)))
        why = args->value[UPGRADE] ? "--clock-was-wrong and --upgrade cannot be used together"
                                   : "--clock-was-wrong needs either --pid or --store ordinal:";
    else if (args->value[RANGE] && (wrong || args->value[UPGRADE] || args->value[FORCE] ||
                                    strncmp(store, "ordinal:", 8) == 0))
        why =
            "--range goes with neither --force nor --upgrade nor --clock-was-wrong, nor with ordinal:";
    if (why)
        say("init: %s", why);
    return why == NULL;
}

static int run_init(const struct args *args) {
    sfid_options opt = SFID_OPTIONS_INIT;
    struct any_layout layout;
    sfid_app_info found;
    char why[SFID_WHY_LEN];
    uint64_t pid = 0;
    if (!args_no_operands(args, "; use --app to name the app") ||
        !args_given(args, APP, args->value[PID] ? PID : STORE))
        return usage(args->command);
    if (!args_app(args, APP, &opt.app) || !args_any_layout(args, LAYOUT, &layout) ||
        !app_options(args, RUN_DIR, &opt) || !args_option(args, MAX_AHEAD, &opt, max_ahead_ms) ||
        !args_number(args, PID, INT64_MAX, &pid))
        return STATUS_USAGE;
    if (!fit(args))
        return usage(args->command);
    opt.pid = args->value[PID] ? (int64_t)pid : -1;
    opt.store = args->value[PID] ? NULL : args->value[STORE];
    if (args->value[LAYOUT] || !args->value[WRONG_CLOCK])
        any_layout_option(&layout, &opt);
    const bool forced = args->value[FORCE] != NULL;
    if (args->value[WRONG_CLOCK])
        return lower_mark(&opt, forced);
    if (strncmp(opt.store, "ordinal:", 8) == 0)
        return begin_ordinal(&opt);
    if (args->value[RANGE])
        return change_range(&opt);
    if (args->value[UPGRADE])
        return upgrade(&opt, forced, args->value[DRY_RUN] != NULL);
    const int code = sfid_app_init(&opt, forced ? SFID_INIT_FORCE : 0, &found, why, sizeof why);
    if (code == 0)
        return report(&opt, &found);
    const int status = store_failure(code, why);
    if (code == SFID_EBUSY && found.state != SFID_APP_BARRED)
        say("init: wait until then; or use --force if no process is running: if one is, IDs may then repeat");
    return status;
}

const struct command command_init = {
    .name = "init",
    .synopsis =
        "--app APP {--store STORE | --pid PID} [--layout LAYOUT] [--force] [--upgrade [--dry-run]] [--range] "
        "[--clock-was-wrong [--max-ahead-ms MS]] [--run-dir DIR] [--state-dir DIR] [--ttl-ms MS] [--short-ms MS] "
        "[--skew-budget-ms MS] [--timeout-ms MS]",
    .summary = "let a new app at a Redis server, or a new ordinal, begin at once",
    .about =
        "Run it only if one of these is true: no process of APP is running anywhere, and no host that\n"
        "has run one within the time of a lease is cut off from the server; or none of them has\n"
        "reached the server for the time of a lease and the skew budget. The server then grants\n"
        "pids without a record at once. Otherwise it waits that long, because it cannot tell a new\n"
        "app from one whose records were lost.\n\n"
        "While a pid is held, or may be, init names the holders, says until when, and ends with\n"
        "status 75. Wait until then: what a killed process has left runs out. --force goes ahead\n"
        "all the same; if a process is running, IDs may then repeat. Leases stay as they are, and\n"
        "repeating the command does no harm.\n\n"
        "--upgrade is the way from an older version whose records this one refuses: end all processes\n"
        "of APP, run it once, then start those of this version. It shows what it is going to discard.\n"
        "While a pid may be in use it changes nothing, also with --force.\n\n"
        "--range changes nothing but the pids that APP has at the server, while processes run: to those\n"
        "of pids=MIN-MAX in STORE, or without it to all. While a pid that would go may be in use, it\n"
        "says until when, and ends with status 75. It states that no other server has lent a pid that\n"
        "is new here since the skew budget before now.\n\n"
        "With ordinal: it states the same of the pid alone, for other hosts: the pid then needs no\n"
        "wait on this host, although its mark was not here.\n\n"
        "--clock-was-wrong is for a fixed PID, or an ordinal, whose mark on this host was written while\n"
        "the clock was ahead: it cannot be used before that date. Correct the clock first. The command\n"
        "shows both dates, asks for the statement, and lowers the mark; the first ID comes a minute\n"
        "later. It refuses while a process has the pid, and if the mark is not too far ahead. If the\n"
        "clock was right, IDs repeat. LAYOUT is then the one that APP has here. Give --max-ahead-ms\n"
        "and lead_ms (in STORE) if APP's processes have more than the defaults.\n\n"
        "Pass a URL with a password in $SFID_STORE: other users can read a command line.\n",
    .options = options,
    .run = run_init,
};
