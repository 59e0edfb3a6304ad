/* SPDX-License-Identifier: MIT */
/* check.c - sfid layout check: whether a layout is suitable, and for how long. */
#include "layout/check.h"

#include "io/say.h"

#include <inttypes.h>
#include <stdio.h>

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

static void find_digit(struct report *report, const struct layout_crossings *c, struct moment now) {
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
    struct layout_crossings c;
    layout_get_crossings(layout, now.unix_ms, &c);
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
    layout_widths(shown, widths);
    report_begin(&report, json);
    report_topic(&report, "layout");
    if (json)
        layout_json(shown);
    report_fine(&report, "%s: bits from the top are %s", shown->name, widths);
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
