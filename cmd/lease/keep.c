/* SPDX-License-Identifier: MIT */
/*
 * keep.c - sfid keep: holds spare pids, and gives them to newcomers once the server has forgotten
 * the app.
 *
 * Each spare is a generator that generates nothing. When an answer shows that a new era has begun,
 * its lease has just been renewed: a released pid of this era can be claimed at once, before any
 * other. So the spares are closed then, and leased anew when the server grants pids to all again.
 */
#include "args/any_layout.h"
#include "args/args.h"
#include "args/store.h"
#include "io/say.h"

#include <poll.h>
#include <stdatomic.h>
#include <syslog.h>
#include <time.h>

enum { APP, STORE, LAYOUT, SPARES, RUN_DIR, STATE_DIR, TTL };
enum { SPARES_MOST = 256, LOOK_MS = 100, HEARTBEAT_MS = 2000, AGAIN_MS = 5000 };

static const struct option_spec options[] = {
    [APP] = {"app", 0, "APP", "SFID_APP", "the app"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE", "the URL of its Redis server"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "its layout (sfid)"},
    [SPARES] = {"spares", 0, "N", NULL, "how many pids to hold, 1 to 256"},
    [RUN_DIR] = {"run-dir", 0, "DIR", "SFID_RUN_DIR", "the run directory (/dev/shm/sfid-UID)"},
    [STATE_DIR] = {"state-dir", 0, "DIR", "SFID_STATE_DIR", "the state directory"},
    STORE_OPTIONS(TTL),
    {NULL, 0, NULL, NULL, NULL},
};

/* A spare. Keepers of the library report to it. */
struct spare {
    sfid *g;
    atomic_bool renewed; /* in a new era */
};

static struct {
    sfid_options opt;
    struct spare spares[SPARES_MOST];
    size_t count, held;
    atomic_uint eras; /* how many have begun */
} keep;

static void hear_keep(void *user, const sfid_event *event) {
    static char name[] = "sfid: keep";
    struct spare *spare = user;
    if (sfid_event_level(event->kind) <= LOG_NOTICE)
        sfid_event_to_stderr(name, event);
    if (event->kind != SFID_EVENT_FAILOVER)
        return;
    atomic_store(&spare->renewed, true);
    atomic_fetch_add(&keep.eras, 1);
}

static void nap(int ms) { poll(NULL, 0, ms); }

/* Leases what is missing. Returns 0, or the code of the first spare that got no pid. */
static int fill(void) {
    for (size_t i = 0; i < keep.count; i++) {
        struct spare *spare = &keep.spares[i];
        if (spare->g)
            continue;
        keep.opt.user = spare;
        atomic_store(&spare->renewed, false);
        const int code = sfid_open(&spare->g, &keep.opt);
        if (code < 0) {
            say("keep: %zu of %zu spares are held: %s", keep.held, keep.count,
                sfid_last_error(spare->g));
            sfid_close(spare->g);
            spare->g = NULL;
            return code;
        }
        keep.held++;
    }
    return 0;
}

/* Releases each spare as soon as the new era knows it. Those that it does not know in time run
 * out. */
static void release_all(void) {
    const int64_t most_ms = 3 * HEARTBEAT_MS;
    size_t given = 0;
    for (int64_t waited = 0; keep.held > 0; waited += LOOK_MS) {
        for (size_t i = 0; i < keep.count; i++) {
            struct spare *spare = &keep.spares[i];
            if (spare->g == NULL || !(atomic_load(&spare->renewed) || waited > most_ms))
                continue;
            given += atomic_load(&spare->renewed);
            sfid_close(spare->g);
            spare->g = NULL;
            keep.held--;
        }
        nap(LOOK_MS);
    }
    say("keep: the server has forgotten the app; %zu spare pid%s released for newcomers", given,
        given == 1 ? " was" : "s were");
}

/* Waits until the server grants pids without a record: a spare leased earlier would take one that
 * was just released. */
static void wait_until_open(void) {
    sfid_app_info info;
    char why[SFID_WHY_LEN];
    for (;;) {
        const int code = sfid_app_look(&keep.opt, &info, NULL, NULL, why, sizeof why);
        if (code == 0 && info.state == SFID_APP_KNOWN && info.open_unix_ms <= info.server_unix_ms)
            return;
        nap(AGAIN_MS);
    }
}

static int keep_on(void) {
    int code = fill();
    if (code < 0 && code != SFID_ENOPID && code != SFID_EREDIS)
        return code;
    say("keep: %zu spare pid%s held", keep.held, keep.held == 1 ? " is" : "s are");
    for (int64_t ms = 0;; ms += LOOK_MS) {
        if (atomic_load(&keep.eras) > 0) {
            release_all();
            wait_until_open();
            atomic_store(&keep.eras, 0);
            ms = 0;
        }
        if (keep.held < keep.count && ms % AGAIN_MS == 0) {
            code = fill();
            if (code == 0)
                say("keep: %zu spare pid%s held", keep.held, keep.held == 1 ? " is" : "s are");
        }
        nap(LOOK_MS);
    }
}

static int run_keep(const struct args *args) {
    struct any_layout layout;
    uint64_t count;
    keep.opt = (sfid_options)SFID_OPTIONS_INIT;
    if (!args_no_operands(args, "; use --spares N to say how many pids to hold") ||
        !args_given(args, APP, STORE, SPARES))
        return usage(args->command);
    if (!args_app(args, APP, &keep.opt.app) || !args_any_layout(args, LAYOUT, &layout) ||
        !args_number(args, SPARES, SPARES_MOST, &count) || !app_options(args, RUN_DIR, &keep.opt))
        return STATUS_USAGE;
    if (count == 0)
        return fail(STATUS_USAGE, "--spares: 0 is not a number of pids from 1 to %d", SPARES_MOST);
    keep.count = (size_t)count;
    keep.opt.store = args->value[STORE];
    keep.opt.on_event = hear_keep;
    if (keep.opt.heartbeat_ms > HEARTBEAT_MS)
        keep.opt.heartbeat_ms = HEARTBEAT_MS;
    any_layout_option(&layout, &keep.opt);
    char why[SFID_WHY_LEN];
    int code = sfid_app_look(&keep.opt, NULL, NULL, NULL, why, sizeof why);
    if (code == SFID_EUNSUPPORTED) /* no server, so nothing that could forget */
        return store_failure(code, why);
    code = keep_on();
    return store_failure(code, "keep: no spare can be held");
}

const struct command command_keep = {
    .name = "keep",
    .synopsis =
        "--app APP --store STORE --spares N [--layout LAYOUT] [--run-dir DIR] [--state-dir DIR] [--ttl-ms MS] "
        "[--short-ms MS] [--skew-budget-ms MS] [--timeout-ms MS]",
    .summary = "hold spare pids for new processes after a Redis server has forgotten an app",
    .about =
        "Leases N pids and generates nothing. After a flush or a failover that lost writes, the\n"
        "server grants no pid without a record for a while, but it grants a released pid at once.\n"
        "So this command then releases its spares, each as soon as the server knows it again, and\n"
        "new processes start within seconds. It leases spares anew once the server grants pids to\n"
        "all. It runs until it gets a signal, and does not release its pids then; they come free\n"
        "when their leases end.\n\n"
        "Pass a URL with a password in $SFID_STORE: other users can read a command line.\n",
    .options = options,
    .run = run_keep,
};
