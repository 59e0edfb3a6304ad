/* SPDX-License-Identifier: MIT */
/* check.c - sfid layout check: whether a layout is suitable, and for how long. */
#include "layout/check.h"

#include "io/say.h"
#include "layout/crossings.h"

#include <inttypes.h>

#define END_IS_NEAR_MS (5 * YEAR)

void layout_find_end(struct report *report, const struct shown *shown, struct moment now,
                     int status) {
    char span[32];
    const int64_t begins_in = shown->layout.epoch_ms - now.unix_ms;
    const int64_t left = shown->facts.last_ms - now.unix_ms;
    if (begins_in > 0)
        report_problem(report, status, "correct the clock, or use an epoch in the past",
                       "it begins at %s, in %s: no ID can be generated before that", shown->epoch,
                       layout_span(span, sizeof span, begins_in));
    else if (left <= 0)
        report_problem(report, status, "use a layout that lasts longer, under another app name",
                       "its last tick began at %s, %s ago: IDs can be decoded, but not generated",
                       shown->last, layout_span(span, sizeof span, -left));
    else if (left < END_IS_NEAR_MS)
        report_problem(report, STATUS_GOOD, "plan to use another layout, under another app name",
                       "its last tick begins at %s, in %s: no ID can be generated after that",
                       shown->last, layout_span(span, sizeof span, left));
    else
        report_fine(report, "its last tick begins at %s, in %s", shown->last,
                    layout_span(span, sizeof span, left));
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
