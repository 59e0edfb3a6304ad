/* SPDX-License-Identifier: MIT */
/* range.c - sfid range: prints the lowest and highest ID of a span of time, for a query. */
#include "args/any_layout.h"
#include "args/args.h"
#include "io/date.h"
#include "io/out.h"
#include "io/say.h"

enum { LAYOUT, SINCE, UNTIL };

static const struct option_spec options[] = {
    [LAYOUT] = {"layout", 0, "LAYOUT", "SFID_LAYOUT", "the layout of the IDs (sfid)"},
    [SINCE] = {"since", 0, "TIME", NULL,
               "the start of the span, such as 2026-11-21T10:30:00Z, 2026-11-21 or -1h"},
    [UNTIL] = {"until", 0, "TIME", NULL, "the end of the span, which is not included (now)"},
    {NULL, 0, NULL, NULL, NULL},
};

static bool is_later(struct moment a, struct moment b) {
    return a.unix_ms > b.unix_ms || (a.unix_ms == b.unix_ms && a.more && !b.more);
}

/* A layout of 64 or 128 bits, and when its last tick begins. */
struct span_layout {
    struct any_layout any;
    int64_t epoch_ms, unit_ms;
    struct moment last;
    sfid_form form; /* in which the bounds are written */
    unsigned width;
};

/* Returns 0, or a negative code. */
static int look_at_layout(struct span_layout *l) {
    enum { AWSFLAKE_DIGITS = 13 }; /* with fewer digits IDs do not sort as text */
    sfid_wide_facts facts;
    const int code = any_layout_describe(&l->any, &facts);
    l->epoch_ms = any_layout_epoch_ms(&l->any);
    l->unit_ms = any_layout_unit_ms(&l->any);
    l->last = (struct moment){facts.facts.last_ms - l->unit_ms, false};
    l->form = facts.form;
    l->width = facts.form == SFID_BASE62 ? AWSFLAKE_DIGITS : facts.width;
    return code;
}

static sfid_wide min_at(const struct any_layout *any, int64_t unix_ms) {
    sfid_wide id = {0, 0};
    if (!any->wide)
        id.low = (uint64_t)sfid_min_at(&any->layout, unix_ms);
    else if (sfid_wide_min_at(&any->wide_layout, unix_ms, &id) < 0)
        id.high = UINT64_MAX; /* impossible: the layout was accepted */
    return id;
}

/* The last ID plus one, which may be no ID. */
static sfid_wide end_of(const struct span_layout *l) {
    sfid_wide id = {0, 0};
    if (!l->any.wide)
        id.low = (uint64_t)sfid_max_at(&l->any.layout, l->last.unix_ms);
    else if (sfid_wide_max_at(&l->any.wide_layout, l->last.unix_ms, &id) < 0)
        id.high = UINT64_MAX; /* impossible, as above */
    id.low++;
    id.high += id.low == 0;
    return id;
}

/*
 * Returns the first ID of the first tick that does not begin before a moment:
 * time is the highest field of every layout. Past the layout's end, it returns
 * the last ID plus one.
 */
static sfid_wide first_from(const struct span_layout *l, struct moment at) {
    if (is_later(at, l->last))
        return end_of(l);
    if (at.unix_ms < l->epoch_ms)
        return min_at(&l->any, l->epoch_ms);
    /* that tick begins at or after it */
    return min_at(&l->any, at.unix_ms + at.more + l->unit_ms - 1);
}

static void put_bound(const struct span_layout *l, sfid_wide id, char end) {
    char text[SFID_WIDE_TEXT_LEN];
    if (sfid_wide_to_text(l->form, id, l->width, text, sizeof text) > 0)
        out_print("%s%c", text, end);
}

static int run_range(const struct args *args) {
    const struct moment now = moment_now(); /* one "now" for both: -1h to now is exactly an hour */
    struct span_layout layout;
    struct moment since, until = now;
    if (!args_no_operands(args, "") || !args_given(args, SINCE))
        return usage(args->command);
    if (!args_any_layout(args, LAYOUT, &layout.any) || !args_time(args, SINCE, now, &since) ||
        (args->value[UNTIL] && !args_time(args, UNTIL, now, &until)))
        return STATUS_USAGE;
    if (is_later(since, until)) {
        if (args->value[UNTIL])
            say("--since: %s is later than --until: %s", QUOTE(args->value[SINCE]),
                QUOTE(args->value[UNTIL]));
        else
            say("--since: %s is later than now, and a span without --until ends now",
                QUOTE(args->value[SINCE]));
        return STATUS_USAGE;
    }
    const int code = look_at_layout(&layout);
    if (code < 0)
        return fail(status_of(code), "%s", sfid_strerror(code));
    put_bound(&layout, first_from(&layout, since), '\t');
    put_bound(&layout, first_from(&layout, until), '\n');
    return STATUS_GOOD;
}

const struct command command_range = {
    .name = "range",
    .synopsis = "[--layout LAYOUT] --since TIME [--until TIME]",
    .summary = "print the range of IDs of a span of time",
    .about =
        "Writes two bounds, a and b, with a TAB between: id >= a AND id < b holds for the IDs\n"
        "whose time, as decode shows it, is SINCE or later and before UNTIL. That is the time at which\n"
        "the ID's tick began, so a tick that began before SINCE is excluded, and one that began\n"
        "before UNTIL is included. Adjacent spans share no ID and omit none.\n\n"
        "TIME is a time as in RFC 3339, such as 2026-11-21T10:30:00.5+01:00; a date, such as\n"
        "2026-11-21, which means its midnight in UTC; now; or a distance from now in s, m, h, d or\n"
        "w, such as -1h. LAYOUT is a preset, TIME:PID:SEQ[/UNIT][@EPOCH_MS], or one of 128 bits:\n"
        "flake, flake-go, awsflake[@EPOCH_MS], uuid7. Bounds are written as IDs of the\n"
        "layout are; those of awsflake have all 13 digits.\n",
    .options = options,
    .run = run_range,
};
