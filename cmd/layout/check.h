/* SPDX-License-Identifier: MIT */
/* check.h - checks whether a layout is suitable. */
#ifndef CMD_LAYOUT_CHECK_H
#define CMD_LAYOUT_CHECK_H

#include "io/date.h"
#include "io/report.h"
#include "layout/show.h"

/* Checks a layout and whether it can generate IDs now. Returns the exit status. */
int layout_check(const struct shown *shown, bool json, struct moment now);

/* Reports how far off the end is. A layout that has ended or not begun is a fault with this
 * status. */
void layout_find_end(struct report *report, const struct shown *shown, struct moment now,
                     int status);

/*
 * Reports when IDs reach 2^53 and get another digit, from a year before as a warning. all: also
 * what is no concern of those whose IDs never reach 2^53.
 */
void layout_find_crossings(struct report *report, const sfid_layout *layout, struct moment now,
                           bool all);

#endif
