/* SPDX-License-Identifier: MIT */
/*
 * show.c - what follows from a layout: as text, JSON and TSV, and whether it is suitable.
 *
 * Programs that read IDs are tested with those of their day, and break on the
 * date on which IDs outgrow something, 2^53, a decimal digit or 2^63, which may
 * be years later.
 */
#include "layout/show.h"

#include "io/json.h"
#include "io/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool layout_look_at(struct shown *shown, const sfid_layout *layout) {
    shown->wide = false;
    shown->layout = *layout;
    shown->count = sfid_layout_fields(&shown->layout, shown->fields, COUNT_OF(shown->fields));
    if (shown->count < 0 || sfid_layout_describe(&shown->layout, &shown->facts) < 0 ||
        sfid_layout_format(&shown->layout, shown->name, sizeof shown->name) < 0)
        return false;
    date_text(shown->epoch, shown->layout.epoch_ms);
    date_text(shown->last, shown->facts.last_ms - shown->layout.unit_ms);
    return true;
}

static uint8_t width_of(const struct shown *shown, sfid_field_kind kind) {
    unsigned bits = 0;
    for (int i = 0; i < shown->count; i++)
        bits += shown->fields[i].kind == kind ? shown->fields[i].bits : 0;
    return (uint8_t)bits;
}

bool layout_look_at_wide(struct shown *shown, const sfid_wide_layout *layout) {
    sfid_wide_facts facts;
    shown->wide = true;
    shown->kind = layout->kind;
    shown->count = sfid_wide_layout_fields(layout, shown->fields, COUNT_OF(shown->fields));
    if (shown->count < 0 || sfid_wide_layout_describe(layout, &facts) < 0 ||
        sfid_wide_layout_format(layout, shown->name, sizeof shown->name) < 0)
        return false;
    shown->facts = facts.facts;
    shown->layout = (sfid_layout){.epoch_ms = layout->epoch_ms,
                                  .unit_ms = 1,
                                  .time_bits = width_of(shown, SFID_FIELD_TIME),
                                  .pid_bits = width_of(shown, SFID_FIELD_PID),
                                  .seq_bits = width_of(shown, SFID_FIELD_SEQ)};
    date_text(shown->epoch, layout->epoch_ms);
    date_text(shown->last, shown->facts.last_ms - 1);
    return true;
}

/* ---- dates on which IDs outgrow something ---------------------------------- */

#define EXACT (INT64_C(1) << 53)
#define MOST_DIGITS 19

/* Unix milliseconds; INT64_MAX: that never comes. */
struct crossings {
    int64_t inexact_ms; /* IDs reach 2^53 */
    int64_t digit_ms;   /* they get the next decimal digit, or got the last one */
    int64_t signed_ms;  /* they would reach 2^63; the layout ends */
    unsigned digits;    /* of an ID from digit_ms on */
};

/* When IDs first reach a number; INT64_MAX: never. */
static int64_t reached_ms(const sfid_layout *layout, int64_t id) {
    sfid_parts at;
    return id > sfid_max_at(layout, INT64_MAX) || sfid_parse(layout, id, &at) < 0 ? INT64_MAX
                                                                                  : at.unix_ms;
}

static void get_crossings(const sfid_layout *layout, int64_t now_ms, struct crossings *crossings) {
    sfid_layout_facts facts;
    int64_t id = 10, at_ms;
    *crossings = (struct crossings){reached_ms(layout, EXACT), INT64_MAX, INT64_MAX, 1};
    for (unsigned digits = 2; digits <= MOST_DIGITS && (at_ms = reached_ms(layout, id)) < INT64_MAX;
         digits++) {
        crossings->digit_ms = at_ms;
        crossings->digits = digits;
        if (at_ms > now_ms)
            break;
        id = digits < MOST_DIGITS ? id * 10 : id;
    }
    if (layout->time_shift + layout->time_bits >= 63 && sfid_layout_describe(layout, &facts) == 0)
        crossings->signed_ms = facts.last_ms;
}

static int64_t until(int64_t at_ms, int64_t now_ms) {
    return at_ms > now_ms && at_ms < INT64_MAX ? at_ms - now_ms : INT64_MAX;
}

void layout_time_left(const sfid_options *opt, int64_t now_ms, struct layout_left *left) {
    struct crossings crossings;
    sfid_wide_facts wide;
    sfid_layout_facts *facts = &wide.facts;
    *left = (struct layout_left){INT64_MAX, INT64_MAX, INT64_MAX};
    if ((opt->wide ? sfid_wide_layout_describe(opt->wide, &wide)
                   : sfid_layout_describe(opt->layout, facts)) < 0)
        return;
    left->end_ms = facts->last_ms > now_ms ? until(facts->last_ms, now_ms) : 0;
    if (opt->wide)
        return;
    get_crossings(opt->layout, now_ms, &crossings);
    left->inexact_ms = until(crossings.inexact_ms, now_ms);
    left->digit_ms = until(crossings.digit_ms, now_ms);
}

/* ---- parts of the text ------------------------------------------------------ */

/* Reserved bits, version and variant are the same in all IDs. */
static bool is_constant(const sfid_field *field) {
    return field->kind == SFID_FIELD_RESERVED || field->kind == SFID_FIELD_FIXED;
}

static void unit_text(const sfid_layout *layout, char *text, size_t size) {
    const bool seconds = layout->unit_ms % 1000 == 0;
    snprintf(text, size, "%" PRIu32 " %s", seconds ? layout->unit_ms / 1000 : layout->unit_ms,
             seconds ? "s" : "ms");
}

/* Writes the names of the fields that set the order, highest first. */
static void order_text(const struct shown *shown, char *text, size_t size) {
    text[0] = '\0';
    for (int i = 0; i < shown->count; i++) {
        const size_t len = strlen(text);
        if (!is_constant(&shown->fields[i]))
            snprintf(text + len, size - len, "%s%s", len ? ", then by " : "",
                     shown->fields[i].name);
    }
}

const char *layout_widths(const struct shown *shown, char text[LAYOUT_WIDTHS]) {
    text[0] = '\0';
    for (int i = 0; i < shown->count; i++) {
        const size_t len = strlen(text);
        if (!is_constant(&shown->fields[i]))
            snprintf(text + len, LAYOUT_WIDTHS - len, "%s%s %u", len ? ", " : "",
                     shown->fields[i].name, shown->fields[i].bits);
    }
    return text;
}

/* ---- text ---------------------------------------------------------------- */

static void show_fields(const struct shown *shown) {
    out_print("field           bits  place\n");
    for (int i = 0; i < shown->count; i++) {
        const sfid_field *field = &shown->fields[i];
        const unsigned top = field->shift + field->bits - 1;
        out_print("%-14s  %4u  ", field->name, field->bits);
        if (top == field->shift)
            out_print("%u", top);
        else
            out_print("%u-%u", top, field->shift);
        out_print("%s\n", top == 63 && field->shift == shown->layout.time_shift && !shown->wide
                              ? " (the top bit stays 0)"
                              : "");
    }
}

/* Writes a number and its rough size: 2^41 says more than the digits. */
static void show_amount(const char *label, uint64_t value) {
    const bool power = value >= 1024 && (value & (value - 1)) == 0;
    if (value == UINT64_MAX)
        out_print("%-14s  over %" PRIu64 "\n", label, value);
    else if (power)
        out_print("%-14s  %" PRIu64 " (2^%d)\n", label, value, __builtin_ctzll(value));
    else
        out_print("%-14s  %" PRIu64 "\n", label, value);
}

static void show_crossing(const char *label, const char *before, int64_t at_ms) {
    if (at_ms < INT64_MAX)
        out_print("%-14s  %s%s\n", label, before, DATED(at_ms));
    else
        out_print("%-14s  never\n", label);
}

/* When IDs outgrow something. Those of 128 bits are no numbers for those who read them. */
static void show_crossings(const struct shown *shown) {
    struct crossings crossings;
    char digits[32];
    get_crossings(&shown->layout, moment_now().unix_ms, &crossings);
    snprintf(digits, sizeof digits, "%u from ", crossings.digits);
    show_crossing("2^53", "from ", crossings.inexact_ms);
    show_crossing("digits", digits, crossings.digit_ms);
    show_crossing("2^63", "its end, ", crossings.signed_ms);
}

void layout_text(const struct shown *shown) {
    char order[160], unit[16];
    order_text(shown, order, sizeof order);
    unit_text(&shown->layout, unit, sizeof unit);
    out_print("%-14s  %s\n", "layout", shown->name);
    out_print("%-14s  %s\n", "unit", unit);
    out_print("%-14s  %s (%" PRId64 " ms)\n", "epoch", shown->epoch, shown->layout.epoch_ms);
    out_print("%-14s  %s\n", "last date", shown->last);
    if (!shown->wide)
        show_crossings(shown);
    show_amount("processes", shown->facts.processes);
    show_amount("IDs per tick", shown->facts.ids_per_tick);
    show_amount("IDs per second", shown->facts.ids_per_second);
    show_amount("fleet per s", shown->facts.fleet_per_second);
    out_print("%-14s  IDs sort by %s\n", "order", order);
    out_print("%-14s  %016" PRIx64 "\n\n", "fingerprint", shown->facts.fingerprint);
    show_fields(shown);
}

/* ---- JSON ---------------------------------------------------------------- */

static void put_fields(const struct shown *shown) {
    json_open("fields", '[');
    for (int i = 0; i < shown->count; i++) {
        json_open(NULL, '{');
        json_text("name", shown->fields[i].name);
        json_uint("shift", shown->fields[i].shift);
        json_uint("bits", shown->fields[i].bits);
        json_close('}');
    }
    json_close(']');
}

static void put_crossing(const char *name, int64_t at_ms) {
    if (at_ms < INT64_MAX)
        json_text(name, DATED(at_ms));
}

/* What never comes is left out. */
static void put_crossings(const struct shown *shown) {
    struct crossings crossings;
    get_crossings(&shown->layout, moment_now().unix_ms, &crossings);
    put_crossing("past_2_53_from", crossings.inexact_ms);
    json_uint("digits", crossings.digits);
    put_crossing("digits_from", crossings.digit_ms);
    put_crossing("past_2_63_from", crossings.signed_ms);
}

void layout_json(const struct shown *shown) {
    char fingerprint[20];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, shown->facts.fingerprint);
    json_text("layout", shown->name);
    json_uint("unit_ms", shown->layout.unit_ms);
    json_text("epoch", shown->epoch);
    json_int("epoch_ms", shown->layout.epoch_ms);
    json_text("last", shown->last);
    json_int("last_ms", shown->facts.last_ms - shown->layout.unit_ms);
    if (!shown->wide)
        put_crossings(shown);
    json_uint("processes", shown->facts.processes);
    json_uint("ids_per_tick", shown->facts.ids_per_tick);
    json_uint("ids_per_second", shown->facts.ids_per_second);
    json_uint("fleet_per_second", shown->facts.fleet_per_second);
    json_open("order", '[');
    for (int i = 0; i < shown->count; i++)
        if (!is_constant(&shown->fields[i]))
            json_text(NULL, shown->fields[i].name);
    json_close(']');
    json_text("fingerprint", fingerprint);
    put_fields(shown);
}

/* ---- the list ------------------------------------------------------------ */

static void list_one(const struct shown *shown, enum view_format format) {
    char unit[16], widths[LAYOUT_WIDTHS];
    if (format == VIEW_JSON) {
        json_open(NULL, '{');
        layout_json(shown);
        json_end();
    } else if (format == VIEW_TSV) {
        out_print("%s\t%u\t%u\t%u\t%" PRIu32 "\t%s\t%s\n", shown->name, shown->layout.time_bits,
                  shown->layout.pid_bits, shown->layout.seq_bits, shown->layout.unit_ms,
                  shown->epoch, shown->last);
    } else {
        unit_text(&shown->layout, unit, sizeof unit);
        out_print("%-11s  %-6s  %s  %s  %s\n", shown->name, unit, shown->epoch, shown->last,
                  layout_widths(shown, widths));
    }
}

bool layout_list(enum view_format format, bool header) {
    struct shown shown;
    sfid_layout layout;
    sfid_wide_layout wide;
    if (format == VIEW_TEXT)
        out_print("%-11s  %-6s  %-24s  %-24s  %s\n", "layout", "unit", "epoch", "last date",
                  "bits, from the top");
    else if (header)
        out_print("layout\ttime_bits\tpid_bits\tseq_bits\tunit_ms\tepoch\tlast\n");
    for (size_t i = 0; sfid_layout_preset(i); i++) {
        if (sfid_layout_parse(sfid_layout_preset(i), &layout) < 0 ||
            !layout_look_at(&shown, &layout))
            return false;
        list_one(&shown, format);
    }
    for (size_t i = 0; sfid_wide_layout_preset(i); i++) {
        if (sfid_wide_layout_parse(sfid_wide_layout_preset(i), &wide) < 0 ||
            !layout_look_at_wide(&shown, &wide))
            return false;
        list_one(&shown, format);
    }
    return true;
}

/* ---- whether it is suitable, and for how long ------------------------------------- */

#define END_IS_NEAR_MS (5 * YEAR)

/* Writes "68 years", "412 days" or "3 hours". */
static const char *span_text(char *text, size_t size, int64_t ms) {
    if (ms >= 2 * YEAR)
        snprintf(text, size, "%" PRId64 " years", ms / YEAR);
    else if (ms >= 2 * DAY)
        snprintf(text, size, "%" PRId64 " days", ms / DAY);
    else
        snprintf(text, size, "%" PRId64 " hours", ms / HOUR);
    return text;
}

void layout_find_end(struct report *report, const struct shown *shown, struct moment now,
                     int status) {
    char span[32];
    const int64_t begins_in = shown->layout.epoch_ms - now.unix_ms;
    const int64_t left = shown->facts.last_ms - now.unix_ms;
    if (begins_in > 0)
        report_problem(report, status, "correct the clock, or use an epoch in the past",
                       "it begins at %s, in %s: no ID can be generated before that", shown->epoch,
                       span_text(span, sizeof span, begins_in));
    else if (left <= 0)
        report_problem(report, status, "use a layout that lasts longer, under another app name",
                       "its last tick began at %s, %s ago: IDs can be decoded, but not generated",
                       shown->last, span_text(span, sizeof span, -left));
    else if (left < END_IS_NEAR_MS)
        report_problem(report, STATUS_GOOD, "plan to use another layout, under another app name",
                       "its last tick begins at %s, in %s: no ID can be generated after that",
                       shown->last, span_text(span, sizeof span, left));
    else
        report_fine(report, "its last tick begins at %s, in %s", shown->last,
                    span_text(span, sizeof span, left));
}

/* Reports "IDs reach 2^53 at DATE, in 44 days: after that, THEN", from a year before as a
 * warning. */
static void find_crossing(struct report *report, const char *to_come, const char *past,
                          int64_t at_ms, struct moment now, const char *then, const char *cure) {
    char date[DATE_ROOM], span[32];
    const int64_t left = at_ms - now.unix_ms;
    date_text(date, at_ms);
    if (left <= 0)
        report_fine(report, "IDs %s at %s: after that, %s", past, date, then);
    else if (left > YEAR)
        report_fine(report, "IDs %s at %s, in %s: after that, %s", to_come, date,
                    span_text(span, sizeof span, left), then);
    else
        report_problem(report, STATUS_GOOD, cure, "IDs %s at %s, in %s: after that, %s", to_come,
                       date, span_text(span, sizeof span, left), then);
}

/* As a word: "a 17th", "an 18th". */
static void nth(char *text, size_t size, unsigned n) {
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    snprintf(text, size, "%s %u%s", n == 8 || n == 11 || n == 18 ? "an" : "a", n,
             n < 4 ? ends[n] : "th");
}

static void find_digit(struct report *report, const struct crossings *c, struct moment now) {
    char digit[16], to_come[32], past[32], cure[200];
    nth(digit, sizeof digit, c->digits);
    snprintf(to_come, sizeof to_come, "get %s digit", digit);
    snprintf(past, sizeof past, "got %s digit", digit);
    snprintf(
        cure, sizeof cure,
        "sort them as numbers, base32 or decimals padded with zeros to 19 digits; let patterns for %u digits match %u to 19",
        c->digits - 1, c->digits - 1);
    find_crossing(report, to_come, past, c->digit_ms, now,
                  "shorter and longer ones do not sort as decimal text", cure);
}

void layout_find_crossings(struct report *report, const sfid_layout *layout, struct moment now,
                           bool all) {
    struct crossings c;
    get_crossings(layout, now.unix_ms, &c);
    if (c.inexact_ms < INT64_MAX)
        find_crossing(
            report, "reach 2^53", "reached 2^53", c.inexact_ms, now,
            "only text and 64-bit numbers hold them exactly",
            "write IDs as strings in JSON, since JavaScript, jq 1.6 and every double round larger numbers; for a new "
            "app, js53 stays below");
    else if (all)
        report_fine(report, "no ID reaches 2^53: JavaScript numbers hold them exactly");
    const bool soon = c.digit_ms > now.unix_ms && c.digit_ms - now.unix_ms <= YEAR;
    if (c.digit_ms < INT64_MAX && (all || soon || c.inexact_ms < INT64_MAX))
        find_digit(report, &c, now);
}

static void find_rate(struct report *report, const sfid_layout_facts *facts) {
    report_fine(report, "one process: %" PRIu64 " IDs per tick, %" PRIu64 " per second",
                facts->ids_per_tick, facts->ids_per_second);
}

static void find_processes(struct report *report, const sfid_layout_facts *facts) {
    if (facts->processes == 1)
        report_problem(report, STATUS_GOOD,
                       "give the pid some bits if there may be more than one process",
                       "there is no pid: only one process can generate IDs");
    else
        report_fine(report, "%" PRIu64 " processes at a time", facts->processes);
}

int layout_check(const struct shown *shown, bool json, struct moment now) {
    struct report report;
    char widths[LAYOUT_WIDTHS];
    report_begin(&report, json);
    report_topic(&report, "layout");
    if (json)
        layout_json(shown);
    report_fine(&report, "%s: bits from the top are %s", shown->name, layout_widths(shown, widths));
    report_topic(&report, "time");
    layout_find_end(&report, shown, now, STATUS_CONFIG);
    report_topic(&report, "rate");
    find_rate(&report, &shown->facts);
    report_topic(&report, "processes");
    find_processes(&report, &shown->facts);
    report_topic(&report, "numbers");
    layout_find_crossings(&report, &shown->layout, now, true);
    return report_end(&report);
}
