/* SPDX-License-Identifier: MIT */
/* crossings.h - the dates on which IDs outgrow something. */
#ifndef CMD_LAYOUT_CROSSINGS_H
#define CMD_LAYOUT_CROSSINGS_H

#include "io/date.h"
#include "io/report.h"

/* Writes "68 years", "412 days" or "3 hours". */
const char *layout_span(char *text, size_t size, int64_t ms);

/* Unix milliseconds; INT64_MAX: that never comes. */
struct layout_crossings {
    int64_t inexact_ms; /* IDs reach 2^53 */
    int64_t digit_ms;   /* they get the next decimal digit, or got the last one */
    int64_t signed_ms;  /* they would reach 2^63; the layout ends */
    unsigned digits;    /* of an ID from digit_ms on */
};
void layout_get_crossings(const sfid_layout *layout, int64_t now_ms,
                          struct layout_crossings *crossings);

/*
 * Reports when IDs reach 2^53 and get another digit, from a year before as a warning. all: also
 * what is no concern of those whose IDs never reach 2^53.
 */
void layout_find_crossings(struct report *report, const sfid_layout *layout, struct moment now,
                           bool all);

/* Milliseconds that are left; INT64_MAX: that never comes, or has been. */
struct layout_left {
    int64_t end_ms;     /* until the layout's end; 0: it has ended */
    int64_t inexact_ms; /* until IDs reach 2^53 */
    int64_t digit_ms;   /* until they get another decimal digit */
};
void layout_time_left(const sfid_options *opt, int64_t now_ms, struct layout_left *left);

#endif
