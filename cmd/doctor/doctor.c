/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - sfid doctor: finds what prevents generating IDs on this host, or soon will.
 *
 * The doctor only reads. It takes and tries no lock, makes and writes nothing,
 * maps nothing for writing, and keeps access times if it can. Findings give
 * cause and cure.
 */
#include "args/args.h"
#include "args/store.h"
#include "doctor/apps.h"
#include "doctor/clock.h"
#include "doctor/dirs.h"
#include "doctor/server.h"
#include "io/json.h"
#include "io/look.h"
#include "io/report.h"
#include "io/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { APP, STORE, LAYOUT, FORMAT, STRICT, SERVER_ONLY, RUN_DIR, STATE_DIR, HEARTBEAT, TTL };

static const struct option_spec options[] = {
    [APP] = {"app", 0, "APP", "SFID_APP", "examine only this app (all)"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE", "also examine the server from which APP leases"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the app's layout, for the server (sfid)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL, "text or json (text)"},
    [STRICT] = {"strict", 0, NULL, NULL, "end with status 1 if there are warnings"},
    [SERVER_ONLY] = {"server-only", 0, NULL, NULL,
                     "omit this host, for probes that need an answer in milliseconds"},
    [RUN_DIR] = {"run-dir", 0, "DIR", "SFID_RUN_DIR", "the run directory (/dev/shm/sfid-UID)"},
    [STATE_DIR] = {"state-dir", 0, "DIR", "SFID_STATE_DIR",
                   "the state directory, with locks and durable marks"},
    [HEARTBEAT] = {"heartbeat-ms", 0, "MS", NULL,
                   "how often a lease is renewed (a third of it, at most 180000)"},
    STORE_OPTIONS(TTL),
    {NULL, 0, NULL, NULL, NULL},
};

static const char *const formats[] = {"text", "json", NULL};

static void find_version(struct report *report) {
    report_topic(report, "version");
    if (report->json) {
        json_text("library", sfid_version());
        json_text("command", SFID_VERSION_STRING);
        json_text("hiredis", sfid_version_of("hiredis"));
        json_text("libuuid", sfid_version_of("libuuid"));
        if (sfid_version_of("OpenSSL"))
            json_text("openssl", sfid_version_of("OpenSSL"));
    }
    if (strcmp(sfid_version(), SFID_VERSION_STRING) == 0)
        report_fine(report, "%s", version_text());
    else
        report_problem(report, STATUS_GOOD,
                       "install both from one release, or check LD_LIBRARY_PATH",
                       "the library is %s, but this command was built for %s", sfid_version(),
                       SFID_VERSION_STRING);
}

/* Reports why a directory has no name. */
static void find_no_name(struct report *report, const char *topic, int code, int status) {
    report_topic(report, topic);
    report_problem(report, status, "set HOME, or set SFID_RUN_DIR and SFID_STATE_DIR",
                   "its path is unknown: %s (is HOME set?)", sfid_strerror(code));
}

/* If pids come from a server and the state directory is unusable, the machine ID is in the run
 * directory. */
static void look_at_state(struct report *report, const char *run, const char *state, bool leased) {
    static char instead[PATH_ROOM + 8];
    const bool usable = state && doctor_state_dir(report, state, leased);
    if (usable || !leased) {
        doctor_machine_id(report, state);
        return;
    }
    snprintf(instead, sizeof instead, "%s/.state", run);
    doctor_machine_id(report, instead);
}

static void look_at_host(struct report *report, const sfid_options *opt, const char *store) {
    static char run[PATH_ROOM], state[PATH_ROOM];
    const int no_run = sfid_directories(opt, run, sizeof run, NULL, 0);
    const int no_state = sfid_directories(opt, NULL, 0, state, sizeof state);
    const bool leased = opt->store != NULL && no_run == 0;
    find_version(report);
    if (no_run < 0)
        find_no_name(report, "run directory", no_run, status_of(no_run));
    else
        doctor_run_dir(report, run);
    if (no_state < 0)
        find_no_name(report, "state directory", no_state,
                     leased ? STATUS_GOOD : status_of(no_state));
    if (no_state == 0 || leased)
        look_at_state(report, run, no_state < 0 ? NULL : state, leased);
    doctor_clock_source(report);
    doctor_clock(report);
    doctor_clock_steps(report);
    if (no_state == 0)
        doctor_apps(report, no_run < 0 ? NULL : run, state, opt, store);
}

/* The pid that the platform numbers, and whether it has to wait here. */
static void look_at_ordinal(struct report *report, const sfid_options *given, const char *store) {
    char why[SFID_WHY_LEN], state[PATH_ROOM], path[PATH_ROOM + 100];
    struct stat st;
    sfid_app_info info;
    sfid_mark_info mark;
    sfid_options opt = *given;
    opt.store = store;
    const int code = sfid_app_look(&opt, &info, NULL, NULL, why, sizeof why);
    report_topic(report, "ordinal");
    if (code != SFID_EUNSUPPORTED) {
        report_problem(report, code == SFID_EINVAL ? STATUS_CONFIG : status_of(code), NULL, "%s",
                       why[0] ? why : sfid_strerror(code));
        return;
    }
    if (sfid_directories(&opt, NULL, 0, state, sizeof state) < 0)
        return; /* reported already */
    snprintf(path, sizeof path, "%s/%s/pid-%" PRIu64, state, opt.app, info.pid_min);
    opt.layout = NULL;
    if (sfid_mark_look(&opt, info.pid_min, &mark, why, sizeof why) == SFID_ECLOCK)
        report_problem(report, status_of(SFID_ECLOCK), NULL,
                       "pid %" PRIu64 " cannot be used, as app %s says above", info.pid_min,
                       opt.app);
    else if (stat(path, &st) == 0)
        report_fine(report, "pid %" PRIu64 ", with a mark on this host", info.pid_min);
    else
        report_problem(
            report, STATUS_GOOD,
            "nothing, if a pause of lead_ms + max_ahead_ms + skew_budget_ms at each start is acceptable; else keep the state "
            "directory in a volume that goes where the ordinal goes",
            "pid %" PRIu64
            ": %s is missing, so the first process waits until what another host may have issued is past",
            info.pid_min, path);
}

static bool is_ordinal(const char *store) { return strncmp(store, "ordinal:", 8) == 0; }

/* Reads the store: the URL of a server, or (here) local or an ordinal. Returns false, with a
 * message, if a value is invalid or missing. */
static bool read_store(const struct args *args, sfid_options *opt, sfid_layout *layout,
                       const char **here) {
    const char *store = args->value[STORE];
    if (!args_layout(args, LAYOUT, layout) || !store_options(args, TTL, opt) ||
        !args_option(args, HEARTBEAT, opt, heartbeat_ms))
        return false;
    opt->layout = layout;
    if (store == NULL || (args->from_env[STORE] && opt->app == NULL))
        return true;
    const bool local = strncmp(store, "local", 5) == 0, numbered = is_ordinal(store);
    *(local || numbered ? here : &opt->store) = store;
    if (local)
        return true;
    if (opt->app == NULL)
        say("%s needs --app: %s is examined for one app", args->label[STORE],
            numbered ? "an ordinal" : "a server");
    return opt->app != NULL;
}

/* Checks that there is something to look at. */
static bool has_topic(const struct args *args, const sfid_options *opt) {
    if (args->value[SERVER_ONLY] == NULL || opt->store)
        return true;
    return refuse("--server-only needs --store with the URL of a server, and --app");
}

static int run_doctor(const struct args *args) {
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid_layout layout;
    struct report report;
    const char *here = NULL;
    if (!args_no_operands(args, "; use --app to name the app"))
        return usage(args->command);
    const int format = args_choice(args, FORMAT, formats);
    if (format < 0 || !args_app(args, APP, &opt.app) ||
        !args_directory(args, RUN_DIR, &opt.run_dir) ||
        !args_directory(args, STATE_DIR, &opt.state_dir) ||
        !read_store(args, &opt, &layout, &here) || !has_topic(args, &opt))
        return STATUS_USAGE;
    report_begin(&report, format == 1);
    report.strict = args->value[STRICT] != NULL;
    if (args->value[SERVER_ONLY] == NULL)
        look_at_host(&report, &opt, here);
    if (opt.store)
        doctor_server(&report, &opt);
    if (here && is_ordinal(here))
        look_at_ordinal(&report, &opt, here);
    return report_end(&report);
}

const struct command command_doctor = {
    .name = "doctor",
    .synopsis =
        "[--app APP] [--store STORE] [--layout LAYOUT] [--format text|json] [--strict] [--server-only] [--run-dir DIR] "
        "[--state-dir DIR] "
        "[--heartbeat-ms MS] [--ttl-ms MS] [--short-ms MS] [--skew-budget-ms MS] [--timeout-ms MS]",
    .summary = "find what prevents generating IDs here, or soon will",
    .about =
        "Examines the directories, the machine ID, the clock, and each app of this host: its\n"
        "layout, when that ends, when its IDs pass 2^53 and get a 17th digit, and which processes\n"
        "hold which pids. It takes no lock and changes nothing. It watches the clock for a fifth\n"
        "of a second.\n\n"
        "If STORE is the URL of a Redis server, it also examines that server: whether it can be\n"
        "reached, lets the user in and grants leases; eviction, replicas and clocks; whether lease,\n"
        "heartbeat and layout fit each other and those of APP; and who holds its pids. With ordinal:\n"
        "it shows the pid, and whether its mark is on this host.\n\n"
        "Each line begins with ok, warning or error. Exit status: 0 without errors, even with\n"
        "warnings (1 with --strict); else that of the first error: 69 the server, 70 clocks, or a\n"
        "layout that has ended or not begun, 73 a directory or file, 77 password or permission, 78\n"
        "an app with an unknown or different layout, or settings under which IDs may repeat.\n",
    .options = options,
    .run = run_doctor,
};
