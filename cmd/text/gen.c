/* SPDX-License-Identifier: MIT */
/* gen.c - sfid gen: generates IDs. */
#include "args/any_layout.h"
#include "args/args.h"
#include "args/store.h"
#include "io/date.h"
#include "io/out.h"
#include "io/say.h"
#include "text/ids.h"
#include "text/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 4096
#define STORE_LEN 4200 /* longer than any URL that the library takes */

enum {
    COUNT,
    APP,
    STORE,
    PID,
    PID_FIRST,
    PID_LAST,
    SHARE,
    LAYOUT,
    FORMAT,
    MIN_LENGTH,
    EXHAUSTION,
    RANDOM_START,
    MAC,
    INTERFACE,
    REGION,
    IP,
    EC2,
    RUN_DIR
};

static const struct option_spec options[] = {
    [COUNT] = {"count", 'n', "COUNT", NULL, "how many IDs (1)"},
    [APP] = {"app", 0, "APP", "SFID_APP", "the app (cli- and the layout's fingerprint)"},
    [STORE] = {"store", 0, "STORE", "SFID_STORE",
               "where to lease a pid: local, ordinal: or a Redis URL (local)"},
    [PID] = {"pid", 0, "PID", "SFID_PID", "a fixed process ID instead"},
    [PID_FIRST] = {"pid-min", 0, "PID", NULL,
                   "the lowest process ID to lease (the layout's first)"},
    [PID_LAST] = {"pid-max", 0, "PID", NULL, "the highest process ID to lease (the layout's last)"},
    [SHARE] = {"share", 0, NULL, NULL,
               "share one process ID with other processes of this user on this host"},
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [FORMAT] = {"format", 0, "FORMAT", NULL,
                "dec, hex, base62, base32, base58, bytes, json, uuid (dec)"},
    [MIN_LENGTH] = {"min-length", 0, "DIGITS", NULL,
                    "write at least this many digits, with leading zeros"},
    [EXHAUSTION] = {"exhaustion", 0, "HOW", NULL,
                    "when a tick's sequence is used up: wait, borrow or fail (wait)"},
    [RANDOM_START] = {"random-start", 0, "N", NULL,
                      "begin each tick's sequence at a random number below N (0)"},
    HOST_OPTIONS(MAC),
    [EC2] = OPTION_EC2,
    APP_OPTIONS(RUN_DIR),
    {NULL, 0, NULL, NULL, NULL},
};

static const struct source_options source = {
    APP, STORE, LAYOUT, {PID, MAC, INTERFACE, REGION, IP, EC2}};

struct gen {
    struct any_layout layout;
    uint64_t count, done;
    bool by_default; /* neither pid nor store is given */
    char app[72];
    char store[STORE_LEN]; /* the store with a range of pids */
    sfid_options opt;
    struct ids ids;
    sfid *g;
};

/* ---- options ------------------------------------------------------------- */

/* The highest sequence number. If processes share a host's sequence, it is that of one process. */
static uint64_t max_seq(const struct any_layout *layout) {
    enum { SHARED = 4096 };
    sfid_wide_facts facts;
    if (any_layout_describe(layout, &facts) < 0)
        return 0;
    return host_is_named(layout) ? SHARED - 1 : facts.max_seq;
}

/* Adds the range as parameters of the store. The library refuses a store that has a range
 * already. */
static bool add_range(const struct args *args, struct gen *gen) {
    const char *const values[] = {args->value[PID_FIRST], args->value[PID_LAST]};
    static const char *const names[] = {"pid_min", "pid_max"};
    uint64_t pids[] = {0, any_layout_max_pid(&gen->layout)};
    if (!args_number(args, PID_FIRST, pids[1], &pids[0]) ||
        !args_number(args, PID_LAST, pids[1], &pids[1]))
        return false;
    if (values[0] && values[1] && pids[0] > pids[1])
        return refuse("--pid-min: %s is above --pid-max: %s", QUOTE(values[0]), QUOTE(values[1]));
    size_t len = (size_t)snprintf(gen->store, sizeof gen->store, "%s", gen->opt.store);
    for (int i = 0; i < 2; i++)
        if (values[i] && len < sizeof gen->store)
            len += (size_t)snprintf(gen->store + len, sizeof gen->store - len, "%c%s=%" PRIu64,
                                    strchr(gen->store, '?') ? '&' : '?', names[i], pids[i]);
    gen->opt.store = gen->store;
    return true;
}

static bool has_range(const struct args *args) {
    return args->value[PID_FIRST] || args->value[PID_LAST];
}

static bool read_source(const struct args *args, struct gen *gen) {
    struct args known = *args;
    if (has_range(args) && args->value[PID] && !args->from_env[PID])
        return refuse("--pid and %s cannot be used together",
                      args->value[PID_FIRST] ? "--pid-min" : "--pid-max");
    if (has_range(args))
        known.value[PID] = NULL; /* one of the environment gives way, as for --store */
    gen->by_default = args->value[STORE] == NULL && known.value[PID] == NULL;
    return source_read(&known, &source, &gen->layout, &gen->opt) &&
           (!has_range(args) || add_range(args, gen));
}

static bool read_app(const struct args *args, struct gen *gen) {
    sfid_wide_facts facts;
    if (args->value[APP])
        return args_app(args, APP, &gen->opt.app);
    if (any_layout_describe(&gen->layout, &facts) < 0)
        return false; /* impossible: the layout was accepted */
    snprintf(gen->app, sizeof gen->app, "cli-%016" PRIx64, facts.facts.fingerprint);
    gen->opt.app = gen->app;
    return true;
}

static bool read_host(const struct args *args, struct gen *gen) {
    if (!has_range(args))
        return source_read_host(args, &source, &gen->layout, &gen->opt);
    return refuse("%s: layout %s does not lease pids",
                  args->value[PID_FIRST] ? "--pid-min" : "--pid-max", gen->ids.view.name);
}

/* Reads how IDs are taken from the sequence. */
static bool read_sequence(const struct args *args, struct gen *gen) {
    static const char *const names[] = {
        [SFID_WAIT] = "wait", [SFID_BORROW] = "borrow", [SFID_FAIL] = "fail", NULL};
    const int how = args_choice(args, EXHAUSTION, names);
    if (how == SFID_BORROW && host_is_named(&gen->layout))
        return refuse("--exhaustion: layout %s never runs ahead of the clock; use wait or fail",
                      gen->ids.view.name);
    gen->opt.exhaustion = (sfid_exhaustion)how;
    return how >= 0 &&
           args_number(args, RANDOM_START, (max_seq(&gen->layout) + 1) / 2, &gen->opt.random_start);
}

static bool read_gen(const struct args *args, struct gen *gen) {
    if (!args_number(args, COUNT, UINT64_MAX, &gen->count) ||
        !args_any_layout(args, LAYOUT, &gen->layout) ||
        !ids_read(&gen->ids, args, FORMAT, MIN_LENGTH, &gen->layout) ||
        !host_check(args, &source.host, &gen->layout) || !read_sequence(args, gen))
        return false;
    const bool named = host_is_named(&gen->layout);
    if (named ? !read_host(args, gen) : !read_source(args, gen) || !read_app(args, gen))
        return false;
    if (!app_options(args, RUN_DIR, &gen->opt))
        return false;
    gen->opt.share = args->value[SHARE] != NULL;
    any_layout_option(&gen->layout, &gen->opt);
    const uint32_t unit_ms = any_layout_unit_ms(&gen->layout);
    if (gen->opt.max_wait_ms < unit_ms)
        gen->opt.max_wait_ms = unit_ms; /* the time until the next tick */
    return true;
}

/* ---- generating ---------------------------------------------------------- */

/*
 * The sequence is used up for longer than one call waits. Other processes may
 * use it, too, so this can happen repeatedly. It is no reason to give up as
 * long as the generator promises more.
 */
static int wait_for_more(const struct gen *gen) {
    enum { LEAST = 1, MOST = 1000 };
    int ms = sfid_retry_ms(gen->g);
    if (ms < 0)
        return ms;
    ms = ms < LEAST ? LEAST : ms > MOST ? MOST : ms;
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
    return 0;
}

/* No command waits for that: the library says until when, and why. */
static bool waits_for_hours(const struct gen *gen) { return sfid_retry_ms(gen->g) > HOUR; }

/* Generates and shows up to n IDs. Returns how many, or an SFID_E… code. */
static int64_t draw_some(struct gen *gen, size_t n) {
    static union {
        int64_t ids[BATCH];
        sfid_wide wide[BATCH];
    } drawn;
    const int64_t got = gen->layout.wide ? sfid_next_n_wide(gen->g, drawn.wide, n)
                                         : sfid_next_n(gen->g, drawn.ids, n);
    if (got > 0 && gen->layout.wide)
        ids_show_wide(&gen->ids, drawn.wide, (size_t)got);
    else if (got > 0)
        ids_show(&gen->ids, drawn.ids, (size_t)got);
    return got;
}

/* Returns 0 or an SFID_E… code. */
static int draw(struct gen *gen) {
    uint64_t left = gen->count;
    while (left > 0) {
        const int64_t got = draw_some(gen, left < BATCH ? (size_t)left : BATCH);
        if (got == SFID_EAGAIN && waits_for_hours(gen))
            return SFID_ECLOCK;
        if (got == SFID_EAGAIN && gen->opt.exhaustion != SFID_FAIL) {
            const int rc = wait_for_more(gen);
            if (rc < 0)
                return rc;
            continue;
        }
        if (got < 0)
            return (int)got;
        left -= (uint64_t)got;
        gen->done += (uint64_t)got;
        if (!out_flush())
            return 0; /* close_output() reports why */
    }
    return 0;
}

static int fail_gen(const struct gen *gen, int code) {
    const char *text = sfid_last_error(gen->g);
    if (code == SFID_EBUSY && gen->opt.pid >= 0)
        return fail(status_of(code), "%s; use another --pid", text);
    if (code == SFID_EAGAIN && gen->opt.exhaustion == SFID_FAIL) {
        const int ms = sfid_retry_ms(gen->g);
        return fail(
            status_of(code),
            "%" PRIu64 " of %" PRIu64
            " IDs generated: the sequence of this tick is used up; the next tick begins in %d ms",
            gen->done, gen->count, ms > 0 ? ms : 0);
    }
    return store_failure(code, text);
}

/*
 * A lease from a server is left to run out. The next process on this host finds
 * it in the run directory, renews it and resumes at the next ID. A release would
 * take two more requests each time, and a server that is away would be noticed.
 */
static void leave(const struct gen *gen, bool opened) {
    if (opened && gen->opt.store && strstr(gen->opt.store, "://"))
        return;
    sfid_close(gen->g);
}

/* Somebody who looks at a terminal sees what a newcomer waits for, and the command goes on by
 * itself. */
static int open_patiently(struct gen *gen) {
    int code = sfid_open(&gen->g, &gen->opt);
    if (code != SFID_ENOPID || !isatty(STDERR_FILENO))
        return code;
    say("%s", sfid_last_error(gen->g));
    say("waiting for a pid; press Ctrl-C to give up");
    while (code == SFID_ENOPID) {
        sfid_close(gen->g);
        code = sfid_open(&gen->g, &gen->opt);
    }
    return code;
}

static int run_gen(const struct args *args) {
    /* static: an open handle is no leak */
    static struct gen gen = {.count = 1, .opt = SFID_OPTIONS_INIT};
    if (!args_no_operands(args, "; use -n COUNT to generate several IDs"))
        return usage(args->command);
    if (!read_gen(args, &gen))
        return STATUS_USAGE;
    if (gen.count == 0)
        return STATUS_GOOD;

    if (gen.by_default)
        remark(
            "pids come from store local: IDs are unique only among the processes of this user on this host");
    int code = open_patiently(&gen);
    const bool opened = code == 0;
    if (opened)
        code = draw(&gen);
    const int status = code < 0 ? fail_gen(&gen, code) : STATUS_GOOD;
    leave(&gen, opened);
    return status;
}

const struct command command_gen = {
    .name = "gen",
    .synopsis =
        "[-n COUNT] [--app APP] [--store STORE | --pid PID] [--pid-min PID] [--pid-max PID] [--share] "
        "[--layout LAYOUT] "
        "[--format " ID_FORMATS_WIDE
        "] [--min-length DIGITS] [--exhaustion wait|borrow|fail] [--random-start N] "
        "[--mac ADDRESS] [--region REGION] [--ip ADDRESS | --interface NAME] [--ec2] [--run-dir DIR] [--state-dir DIR] "
        "[--ttl-ms MS] [--short-ms MS] [--skew-budget-ms MS] [--timeout-ms MS]",
    .summary = "generate IDs",
    .about =
        "Generates COUNT increasing IDs, one per line. When the sequence of a tick is used up, it\n"
        "waits for the next tick; --exhaustion borrow uses ticks to come, at most 10 s ahead, and\n"
        "fail ends with status 75.\n\n"
        "Processes that generate IDs for one APP at the same time need different process IDs.\n"
        "STORE local leases one that no other process of this user holds on this host. If other\n"
        "hosts generate IDs for APP too, use a Redis server as STORE (redis://HOST:PORT/DB,\n"
        "unix:///PATH; see sfid init), or give each process its own PID. If PID is in use on this\n"
        "host, or no process ID is free, the status is 75. A store may have pid_min= and pid_max=,\n"
        "such as local?pid_min=8&pid_max=15, instead of the options. local?mark=none does not wait\n"
        "for the disk; IDs may then repeat after a loss of power.\n\n"
        "With --share, all processes of this user on this host that share APP, with gen or through\n"
        "the library, generate from one sequence under one process ID, with any store.\n\n"
        "Give a password by ?password_file=FILE: others can read one in a URL, as sfid(1) says. gen\n"
        "does not release a lease from a server; until it ends, the next gen on this host resumes it.\n\n"
        "LAYOUT is a preset, TIME:PID:SEQ[/UNIT][@EPOCH_MS], such as 41:10:12/1ms, or one of 128\n"
        "bits, each with a form of its own: uuid7, flake, flake-go, awsflake. The last three name the\n"
        "host: flake and flake-go by a MAC address, awsflake by region and IPv4 address. Processes\n"
        "of one user share that name, at most 16 or 8 at a time; two hosts or users with the same\n"
        "name repeat IDs. IDs can be guessed: never use one as a password or token.\n",
    .options = options,
    .run = run_gen,
};
