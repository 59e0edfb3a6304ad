/* SPDX-License-Identifier: MIT */
/*
 * crossings.c - the dates on which IDs outgrow something: 2^53, a decimal digit, 2^63.
 *
 * Programs that read IDs are tested with those of their day, and break on such a date, which may be
 * years later.
 */
#include "layout/crossings.h"

#include "io/say.h"

#include <inttypes.h>
#include <stdio.h>

#define EXACT (INT64_C(1) << 53)
#define MOST_DIGITS 19

/* When IDs first reach a number; INT64_MAX: never. */
static int64_t reached_ms(const sfid_layout *layout, int64_t id) {
    sfid_parts at;
    return id > sfid_max_at(layout, INT64_MAX) || sfid_parse(layout, id, &at) < 0 ? INT64_MAX
                                                                                  : at.unix_ms;
}

void layout_get_crossings(const sfid_layout *layout, int64_t now_ms,
                          struct layout_crossings *crossings) {
    sfid_layout_facts facts;
    int64_t id = 10, at_ms;
    *crossings = (struct layout_crossings){reached_ms(layout, EXACT), INT64_MAX, INT64_MAX, 1};
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
    struct layout_crossings crossings;
    sfid_wide_facts wide;
    sfid_layout_facts *facts = &wide.facts;
    *left = (struct layout_left){INT64_MAX, INT64_MAX, INT64_MAX};
    if ((opt->wide ? sfid_wide_layout_describe(opt->wide, &wide)
                   : sfid_layout_describe(opt->layout, facts)) < 0)
        return;
    left->end_ms = facts->last_ms > now_ms ? until(facts->last_ms, now_ms) : 0;
    if (opt->wide)
        return;
    layout_get_crossings(opt->layout, now_ms, &crossings);
    left->inexact_ms = until(crossings.inexact_ms, now_ms);
    left->digit_ms = until(crossings.digit_ms, now_ms);
}

/* ---- findings ---------------------------------------------------------------- */

const char *layout_span(char *text, size_t size, int64_t ms) {
    if (ms >= 2 * YEAR)
        snprintf(text, size, "%" PRId64 " years", ms / YEAR);
    else if (ms >= 2 * DAY)
        snprintf(text, size, "%" PRId64 " days", ms / DAY);
    else
        snprintf(text, size, "%" PRId64 " hours", ms / (HOUR));
    return text;
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
                    layout_span(span, sizeof span, left), then);
    else
        report_problem(report, STATUS_GOOD, cure, "IDs %s at %s, in %s: after that, %s", to_come,
                       date, layout_span(span, sizeof span, left), then);
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
