/* SPDX-License-Identifier: MIT */
/* encode.c - sfid encode: puts an ID together. */
#include "args/any_layout.h"
#include "args/args.h"
#include "io/date.h"
#include "io/say.h"
#include "text/ids.h"
#include "text/source.h"

enum { LAYOUT, TIME, PID, SEQ, RANDOM, MAC, INTERFACE, REGION, IP, FORMAT, MIN_LENGTH };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the ID (sfid)"},
    [TIME] = {"time", 0, "TIME", NULL,
              "the time of the ID, such as 2026-11-21T10:30:00Z, now or -1h"},
    [PID] = {"pid", 0, "PID", "SFID_PID", "the process ID"},
    [SEQ] = {"seq", 0, "SEQ", NULL, "the sequence number"},
    [RANDOM] = {"random", 0, "NUMBER", NULL, "uuid7: the random bits (0)"},
    HOST_OPTIONS(MAC),
    [FORMAT] = {"format", 0, "FORMAT", NULL,
                "dec, hex, base62, base32, base58, bytes, json, uuid (dec)"},
    [MIN_LENGTH] = {"min-length", 0, "DIGITS", NULL,
                    "write at least this many digits, with leading zeros"},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct host_options host = {PID, MAC, INTERFACE, REGION, IP, -1};

struct encode {
    struct any_layout layout;
    int64_t begin_ms; /* of the time in the layout */
    sfid_wide_facts facts;
    struct moment at;
    uint64_t pid, seq, random;
    struct ids ids;
};

/* ---- options --------------------------------------------------------------- */

static bool read_moment(const struct args *args, struct encode *e) {
    if (!args_time(args, TIME, moment_now(), &e->at))
        return false;
    const bool early = e->at.unix_ms < e->begin_ms;
    if (!early && e->at.unix_ms < e->facts.facts.last_ms)
        return true;
    return refuse("%s: %s is out of range: layout %s %s %s", args->label[TIME],
                  QUOTE(args->value[TIME]), e->ids.view.name, early ? "begins at" : "ends before",
                  DATED(early ? e->begin_ms : e->facts.facts.last_ms));
}

/* IDs that name a host have no separate pid, so the options must name the host. */
static bool read_pid(const struct args *args, struct encode *e) {
    int64_t pid;
    if (!host_is_named(&e->layout))
        return args_number(args, PID, e->facts.max_pid, &e->pid);
    if (!host_pid(args, &host, &e->layout, &pid))
        return false;
    if (pid < 0)
        say("encode: give --mac or --interface: these IDs name their host by its MAC address");
    e->pid = (uint64_t)pid;
    return pid >= 0;
}

static bool read_random(const struct args *args, struct encode *e) {
    if (args->value[RANDOM] && e->facts.max_random == 0)
        return refuse("%s needs layout uuid7", args->label[RANDOM]);
    return args_number(args, RANDOM, e->facts.max_random, &e->random);
}

static bool read_encode(const struct args *args, struct encode *e) {
    return ids_read(&e->ids, args, FORMAT, MIN_LENGTH, &e->layout) &&
           host_check(args, &host, &e->layout) && read_moment(args, e) && read_pid(args, e) &&
           args_number(args, SEQ, e->facts.max_seq, &e->seq) && read_random(args, e);
}

/* ---- composing -------------------------------------------------------------- */

/* Finds the moment's tick and composes the ID. Returns 0 or an SFID_E… code. */
static int show_encoded(struct encode *e) {
    int64_t id;
    sfid_wide wide;
    sfid_parts parts = {.pid = e->pid, .seq = e->seq};
    const uint64_t since = (uint64_t)e->at.unix_ms - (uint64_t)e->begin_ms;
    const sfid_wide_parts wide_parts = {
        .tick = since, .pid = e->pid, .seq = e->seq, .random = e->random};
    int code;
    if (e->layout.wide) {
        code = sfid_wide_compose(&e->layout.wide_layout, &wide_parts, &wide);
        if (code == 0)
            ids_show_wide(&e->ids, &wide, 1);
        return code;
    }
    code = sfid_tick_at(&e->layout.layout, e->at.unix_ms, &parts.tick);
    if (code == 0)
        code = sfid_compose(&e->layout.layout, &parts, &id);
    if (code == 0)
        ids_show(&e->ids, &id, 1);
    return code;
}

static int run_encode(const struct args *args) {
    static struct encode e;
    if (!args_no_operands(args, ""))
        return usage(args->command);
    if (!args_any_layout(args, LAYOUT, &e.layout) || any_layout_describe(&e.layout, &e.facts) < 0)
        return STATUS_USAGE;
    e.begin_ms = any_layout_epoch_ms(&e.layout);
    const bool named = host_is_named(&e.layout);
    if (!args_given(args, TIME, named ? TIME : PID, SEQ))
        return usage(args->command);
    if (!read_encode(args, &e))
        return STATUS_USAGE;
    const int code = show_encoded(&e);
    if (code < 0)
        return fail(status_of(code), "%s", sfid_strerror(code));
    remark("an ID from encode is not guaranteed to be unique: sfid gen may generate the same one");
    return STATUS_GOOD;
}

const struct command command_encode = {
    .name = "encode",
    .synopsis =
        "[--layout LAYOUT] --time TIME [--pid PID] --seq SEQ [--random NUMBER] [--mac ADDRESS] [--region REGION] "
        "[--ip ADDRESS | --interface NAME] [--format " ID_FORMATS_WIDE "] [--min-length DIGITS]",
    .summary = "put an ID together from time, pid and seq",
    .about =
        "Writes the ID with the tick that contains TIME, and with PID and SEQ. Such an ID is not\n"
        "guaranteed to be unique: a generator may generate the same one.\n\n"
        "For rows of earlier times use a pid that no generator has, and SQL (layout show --sql),\n"
        "as in doc/past.md: such IDs are unique.\n\n"
        "TIME is a time as in RFC 3339, such as 2026-11-21T10:30:00.5+01:00; a date, such as\n"
        "2026-11-21, which means its midnight in UTC; now; or a distance from now in s, m, h, d or\n"
        "w, such as -1h. LAYOUT is a preset, TIME:PID:SEQ[/UNIT][@EPOCH_MS], uuid7, flake,\n"
        "flake-go or awsflake. Instead of PID, flake and flake-go have a MAC address, awsflake a\n"
        "region and an IPv4 address.\n",
    .options = options,
    .run = run_encode,
};
