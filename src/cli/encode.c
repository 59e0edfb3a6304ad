/* SPDX-License-Identifier: MIT */
/* encode.c - sfid encode: puts an ID together. */
#include "view.h"

enum { LAYOUT, TIME, PID, SEQ, FORMAT };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "how an ID is cut into fields (sfid)"},
    [TIME] = {"time", 0, "TIME", NULL, "when, such as 2026-11-21T10:30:00Z, now or -1h"},
    [PID] = {"pid", 0, "PID", "SFID_PID", "the process ID"},
    [SEQ] = {"seq", 0, "SEQ", NULL, "the sequence number"},
    [FORMAT] = {"format", 0, "FORMAT", NULL, "dec, hex, base62, base32, base58, bytes or json (dec)"},
    {NULL, 0, NULL, NULL, NULL},
};

/* The tick that a moment lies in. */
static bool find_tick(const struct args *args, const sfid_layout *layout, int64_t unix_ms, sfid_parts *parts) {
    char name[SFID_LAYOUT_STR_LEN], date[DATE_ROOM];
    sfid_layout_facts facts;
    if (sfid_layout_describe(layout, &facts) < 0 || sfid_layout_format(layout, name, sizeof name) < 0)
        return false; /* read_layout() let it pass */
    const bool early = unix_ms < layout->epoch_ms;
    if (early || unix_ms >= facts.last_ms) {
        date_text(date, early ? layout->epoch_ms : facts.last_ms);
        say("%s: %s is out of range: layout %s %s %s", args->label[TIME], QUOTE(args->value[TIME]), name,
            early ? "begins at" : "ends before", date);
        return false;
    }
    return sfid_parse(layout, sfid_min_at(layout, unix_ms), parts) == 0;
}

static int run(const struct args *args) {
    static const int needed[] = {TIME, PID, SEQ};
    sfid_layout layout;
    struct moment at;
    sfid_parts parts = {0};
    int64_t id;
    if (!args_no_operands(args, "") || !args_given(args, needed, COUNT_OF(needed)))
        return usage(args->command);
    const int format = args_choice(args, FORMAT, id_formats);
    if (format < 0 || !args_layout(args, LAYOUT, &layout) || !args_time(args, TIME, moment_now(), &at) ||
        !find_tick(args, &layout, at.unix_ms, &parts) || !args_number(args, PID, layout.max_pid, &parts.pid) ||
        !args_number(args, SEQ, layout.max_seq, &parts.seq))
        return STATUS_USAGE;
    const int code = sfid_compose(&layout, &parts, &id);
    if (code < 0) {
        say("%s", sfid_strerror(code));
        return status_of(code);
    }
    static struct ids ids;
    ids_begin(&ids, &layout, format);
    ids_show(&ids, &id, 1);
    remark("an ID put together by encode is outside the promise of uniqueness: sfid gen may draw the same");
    return STATUS_GOOD;
}

const struct command command_encode = {
    .name = "encode",
    .synopsis = "[--layout LAYOUT] --time TIME --pid PID --seq SEQ [--format " ID_FORMATS "]",
    .summary = "put an ID together from time, pid and seq",
    .about = "Writes the ID of the tick that TIME lies in, of PID and SEQ. Such an ID is outside the\n"
             "promise of uniqueness: nothing keeps a generator from drawing the same.\n\n"
             "TIME is RFC 3339, such as 2026-11-21T10:30:00.5+01:00; now; or a distance from now in\n"
             "s, m, h, d or w, such as -1h. LAYOUT is a preset or TIME:PID:SEQ[/UNIT][@EPOCH_MS].\n",
    .options = options,
    .run = run,
};
