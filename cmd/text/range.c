/* SPDX-License-Identifier: MIT */
/* range.c - sfid range: prints the lowest and highest ID of a span of time, for a query. */
#include "text/all.h"

#include <inttypes.h>

enum { LAYOUT, SINCE, UNTIL };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [SINCE] = {"since", 0, "TIME", NULL, "the start of the span, such as 2026-11-21T10:30:00Z, 2026-11-21 or -1h"},
    [UNTIL] = {"until", 0, "TIME", NULL, "the end of the span, which is not included (now)"},
    {NULL, 0, NULL, NULL, NULL},
};

static bool is_later(struct moment a, struct moment b) {
    return a.unix_ms > b.unix_ms || (a.unix_ms == b.unix_ms && a.more && !b.more);
}

/*
 * Returns the first ID of the first tick that does not begin before a moment:
 * time is the highest field of every layout that is allowed here. Past the
 * layout's end, it returns the last ID plus one, which may be no ID.
 */
static uint64_t first_from(const sfid_layout *layout, const sfid_layout_facts *facts, struct moment at) {
    const struct moment last = {facts->last_ms - layout->unit_ms, false};
    if (is_later(at, last))
        return (uint64_t)sfid_max_at(layout, last.unix_ms) + 1;
    if (at.unix_ms < layout->epoch_ms)
        return 0;
    return (uint64_t)sfid_min_at(layout, at.unix_ms + at.more + layout->unit_ms - 1); /* that tick begins at or after it */
}

static int run(const struct args *args) {
    static const int needed[] = {SINCE};
    const struct moment now = moment_now(); /* one "now" for both: -1h to now is exactly an hour */
    sfid_layout layout;
    sfid_layout_facts facts;
    struct moment since, until = now;
    if (!args_no_operands(args, "") || !args_given(args, needed, COUNT_OF(needed)))
        return usage(args->command);
    if (!args_layout(args, LAYOUT, &layout) || !args_time(args, SINCE, now, &since) ||
        (args->value[UNTIL] && !args_time(args, UNTIL, now, &until)))
        return STATUS_USAGE;
    if (is_later(since, until)) {
        if (args->value[UNTIL])
            say("--since: %s is later than --until: %s", QUOTE(args->value[SINCE]), QUOTE(args->value[UNTIL]));
        else
            say("--since: %s is later than now, and a span without --until ends now", QUOTE(args->value[SINCE]));
        return STATUS_USAGE;
    }
    const int code = sfid_layout_describe(&layout, &facts);
    if (code < 0) {
        say("%s", sfid_strerror(code));
        return status_of(code);
    }
    out_print("%" PRIu64 "\t%" PRIu64 "\n", first_from(&layout, &facts, since), first_from(&layout, &facts, until));
    return STATUS_GOOD;
}

const struct command command_range = {
    .name = "range",
    .synopsis = "[--layout LAYOUT] --since TIME [--until TIME]",
    .summary = "print the range of IDs of a span of time",
    .about = "Writes two numbers, a and b, with a TAB between: id >= a AND id < b holds for the IDs\n"
             "whose time, as decode shows it, is SINCE or later and before UNTIL. That is the time at which\n"
             "the ID's tick began, so a tick that began before SINCE is excluded, and one that began\n"
             "before UNTIL is included. Adjacent spans share no ID and omit none.\n\n"
             "TIME is a time as in RFC 3339, such as 2026-11-21T10:30:00.5+01:00; a date, such as\n"
             "2026-11-21, which means its midnight in UTC; now; or a distance from now in s, m, h, d or\n"
             "w, such as -1h. LAYOUT is a preset or TIME:PID:SEQ[/UNIT][@EPOCH_MS].\n",
    .options = options,
    .run = run,
};
