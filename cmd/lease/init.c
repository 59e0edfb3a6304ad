/* SPDX-License-Identifier: MIT */
/* init.c - sfid init: states that no process of an app is running. */
#include "lease/commands.h"

#include "args/any_layout.h"
#include "args/args.h"
#include "args/store.h"
#include "args/usage.h"
#include "io/date.h"
#include "io/out.h"
#include "io/say.h"

#include <inttypes.h>

enum { APP, STORE, LAYOUT, FORCE, TTL, BUDGET, TIMEOUT };

static const struct option_spec options[] = {
    [APP] = {"app", 0, "APP", "SFID_APP", "which"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE", "the URL of its Redis server"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "its layout (sfid)"},
    [FORCE] = {"force", 0, NULL, NULL, "also while pids are held"},
    [TTL] = OPTION_TTL,
    [BUDGET] = OPTION_BUDGET,
    [TIMEOUT] = OPTION_TIMEOUT,
    {NULL, 0, NULL, NULL, NULL},
};

/* Prints the app's state before. */
static void show_state(const sfid_app_info *found) {
    char open[DATE_ROOM];
    if (found->state == SFID_APP_UNKNOWN) {
        out_print("found     the server does not know the app\n");
    } else if (found->state == SFID_APP_FORGOTTEN) {
        out_print("found     what the server knew was from before a restart or failover, and is forgotten now\n");
    } else if (found->open_unix_ms <= found->server_unix_ms) {
        out_print("found     pids were to be had already\n");
    } else {
        date_text(open, found->open_unix_ms);
        out_print("found     pids that the server knows nothing of would have waited until %s\n", open);
    }
}

static void show_pids(const sfid_app_info *found) {
    if (found->held + found->foreign + found->run_out + found->released > 0)
        out_print("pids      %" PRIu64 " held, %" PRIu64 " foreign, %" PRIu64 " run out, %" PRIu64 " given back\n", found->held,
                  found->foreign, found->run_out, found->released);
}

static int report(const sfid_options *opt, const sfid_app_info *found) {
    out_print("app       %s\nserver    %s\n", opt->app, found->server);
    out_print("asserted  no process of the app is running anywhere, and none was killed or was sfid gen in the last %" PRId64
              " s;\n          or the server has been out of reach of all of them for so long\n",
              (found->wait_ms + 999) / 1000);
    show_state(found);
    show_pids(found);
    out_print("done      pids that the server knows nothing of are handed out from now on\n");
    return STATUS_GOOD;
}

static int run(const struct args *args) {
    static const int needed[] = {APP, STORE};
    sfid_options opt = SFID_OPTIONS_INIT;
    struct any_layout layout;
    sfid_app_info found;
    char why[SFID_WHY_LEN];
    if (!args_no_operands(args, "; use --app to name the app") || !args_given(args, needed, COUNT_OF(needed)))
        return usage(args->command);
    if (!args_app(args, APP, &opt.app) || !args_any_layout(args, LAYOUT, &layout) ||
        !store_options(args, TTL, BUDGET, TIMEOUT, &opt))
        return STATUS_USAGE;
    opt.store = args->value[STORE];
    any_layout_option(&layout, &opt);
    const int code = sfid_app_init(&opt, args->value[FORCE] != NULL, &found, why, sizeof why);
    if (code == 0)
        return report(&opt, &found);
    const int status = store_failure(code, why);
    if (code == SFID_EBUSY)
        say("init: where none is running all the same, --force goes ahead; where one is, IDs may then repeat");
    return status;
}

const struct command command_init = {
    .name = "init",
    .synopsis = "--app APP --store STORE [--layout LAYOUT] [--force] [--ttl-ms MS] [--skew-budget-ms MS] [--timeout-ms MS]",
    .summary = "let a new app at a Redis server begin at once",
    .about = "Says that no process of APP is running anywhere, and that none will go on with a lease\n"
             "which it left behind (by a kill, or as gen does) and which has not run out; or that the\n"
             "server has been out of reach of all of them for the time of a lease and the skew budget.\n"
             "The server then hands out pids that it knows nothing of at once; without that it waits\n"
             "so long, since it cannot tell a new app from one that it has forgotten.\n\n"
             "It looks first, and refuses with status 75 while a pid is held, naming the holders.\n"
             "With --force it goes ahead. Where a process is running all the same, IDs may repeat.\n"
             "Leases stay as they are, and doing it twice does no harm.\n\n"
             "A URL with a password belongs into $SFID_STORE: others can read a command line.\n",
    .options = options,
    .run = run,
};
