/* SPDX-License-Identifier: MIT */
/* check.c - sfid layout check: whether a layout is suitable, and for how long. */
#include "layout/all.h"

#define DAY_MS INT64_C(86400000)
#define YEAR_MS (DAY_MS * 146097 / 400)
#define END_IS_NEAR_MS (5 * YEAR_MS)

/* IDs with which something changes for the programs that read them, in rising order. */
static const struct crossing {
    int64_t id;
    const char *to_come, *past, *then, *cure;
} crossings[] = {
    {INT64_C(1) << 53, "reach 2^53", "reached 2^53", "only text and 64-bit numbers hold them exactly",
     "write IDs as strings in JSON, since JavaScript, jq 1.6 and every double round larger numbers; for a new app, js53 stays below"},
    {INT64_C(10000000000000000), "get a 17th digit", "got a 17th digit", "shorter and longer ones do not sort as decimal text",
     "sort them as numbers, base32 or decimals padded with zeros to 19 digits; let patterns for 16 digits match 16 to 19"},
};

/* Writes "68 years", "412 days" or "3 hours". */
static const char *span_text(char *text, size_t size, int64_t ms) {
    if (ms >= 2 * YEAR_MS)
        snprintf(text, size, "%" PRId64 " years", ms / YEAR_MS);
    else if (ms >= 2 * DAY_MS)
        snprintf(text, size, "%" PRId64 " days", ms / DAY_MS);
    else
        snprintf(text, size, "%" PRId64 " hours", ms / (DAY_MS / 24));
    return text;
}

void layout_find_end(struct report *report, const struct shown *shown, struct moment now, int status) {
    char span[32];
    const int64_t begins_in = shown->layout.epoch_ms - now.unix_ms;
    const int64_t left = shown->facts.last_ms - now.unix_ms;
    if (begins_in > 0)
        report_problem(report, status, "correct the clock, or use an epoch in the past",
                       "it begins at %s, in %s: no ID can be generated before that", shown->epoch,
                       span_text(span, sizeof span, begins_in));
    else if (left <= 0)
        report_problem(report, status, "use a layout that lasts longer, under another app name",
                       "its last tick began at %s, %s ago: IDs can be decoded, but not generated", shown->last,
                       span_text(span, sizeof span, -left));
    else if (left < END_IS_NEAR_MS)
        report_problem(report, STATUS_GOOD, "plan to use another layout, under another app name",
                       "its last tick begins at %s, in %s: no ID can be generated after that", shown->last,
                       span_text(span, sizeof span, left));
    else
        report_fine(report, "its last tick begins at %s, in %s", shown->last, span_text(span, sizeof span, left));
}

static void find_rate(struct report *report, const sfid_layout_facts *facts) {
    report_fine(report, "one process: %" PRIu64 " IDs per tick, %" PRIu64 " per second", facts->ids_per_tick,
                facts->ids_per_second);
}

static void find_processes(struct report *report, const sfid_layout_facts *facts) {
    if (facts->processes == 1)
        report_problem(report, STATUS_GOOD, "give the pid some bits if there may be more than one process",
                       "there is no pid: only one process can generate IDs");
    else
        report_fine(report, "%" PRIu64 " processes at a time", facts->processes);
}

static void find_crossing(struct report *report, const struct crossing *c, int64_t at_ms, struct moment now) {
    char date[DATE_ROOM], span[32];
    const int64_t left = at_ms - now.unix_ms;
    date_text(date, at_ms);
    if (left <= 0)
        report_fine(report, "IDs %s at %s: after that, %s", c->past, date, c->then);
    else if (left > YEAR_MS)
        report_fine(report, "IDs %s at %s, in %s: after that, %s", c->to_come, date, span_text(span, sizeof span, left), c->then);
    else
        report_problem(report, STATUS_GOOD, c->cure, "IDs %s at %s, in %s: after that, %s", c->to_come, date,
                       span_text(span, sizeof span, left), c->then);
}

/* When IDs first reach a number; INT64_MAX: never. */
static int64_t reached_ms(const sfid_layout *layout, int64_t id) {
    sfid_parts at;
    return id > sfid_max_at(layout, INT64_MAX) || sfid_parse(layout, id, &at) < 0 ? INT64_MAX : at.unix_ms;
}

bool layout_find_crossings(struct report *report, const sfid_layout *layout, struct moment now) {
    size_t i = 0;
    for (int64_t at_ms; i < COUNT_OF(crossings) && (at_ms = reached_ms(layout, crossings[i].id)) < INT64_MAX; i++)
        find_crossing(report, &crossings[i], at_ms, now);
    return i > 0;
}

static int64_t until(int64_t at_ms, int64_t now_ms) { return at_ms > now_ms && at_ms < INT64_MAX ? at_ms - now_ms : INT64_MAX; }

void layout_time_left(const sfid_options *opt, int64_t now_ms, struct layout_left *left) {
    sfid_wide_facts wide;
    sfid_layout_facts *facts = &wide.facts;
    *left = (struct layout_left){INT64_MAX, INT64_MAX, INT64_MAX};
    if ((opt->wide ? sfid_wide_layout_describe(opt->wide, &wide) : sfid_layout_describe(opt->layout, facts)) < 0)
        return;
    left->end_ms = facts->last_ms > now_ms ? until(facts->last_ms, now_ms) : 0;
    if (opt->wide)
        return;
    left->inexact_ms = until(reached_ms(opt->layout, crossings[0].id), now_ms);
    for (int64_t id = 10; left->digit_ms == INT64_MAX; id *= 10) {
        left->digit_ms = until(reached_ms(opt->layout, id), now_ms);
        if (id > INT64_MAX / 10)
            return;
    }
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
    if (!layout_find_crossings(&report, &shown->layout, now))
        report_fine(&report, "no ID reaches 2^53: JavaScript numbers hold them exactly");
    return report_end(&report);
}
