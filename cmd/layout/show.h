/* SPDX-License-Identifier: MIT */
/* show.h - a layout, what follows from it, and whether it is suitable. */
#ifndef CMD_LAYOUT_SHOW_H
#define CMD_LAYOUT_SHOW_H

#include "io/date.h"
#include "io/out.h"
#include "io/report.h"

struct shown {
    /* more than 64 bits: of layout, only epoch_ms, unit_ms and the widths are valid */
    bool wide;
    sfid_wide_kind kind; /* if wide */
    sfid_layout layout;
    sfid_layout_facts facts;
    char name[SFID_LAYOUT_STR_LEN];
    char epoch[DATE_ROOM], last[DATE_ROOM]; /* begin of the first and the last tick */
    sfid_field fields[SFID_LAYOUT_FIELDS];
    int count;
};

/* Returns false if the layout has no text form. */
bool layout_look_at(struct shown *shown, const sfid_layout *layout);
bool layout_look_at_wide(struct shown *shown, const sfid_wide_layout *layout);

/* Milliseconds that are left; INT64_MAX: that never comes, or has been. */
struct layout_left {
    int64_t end_ms;     /* until the layout's end; 0: it has ended */
    int64_t inexact_ms; /* until IDs reach 2^53 */
    int64_t digit_ms;   /* until they get another decimal digit */
};
void layout_time_left(const sfid_options *opt, int64_t now_ms, struct layout_left *left);

/* Writes "time 36, pid 11, seq 17", from the top, and returns it. */
#define LAYOUT_WIDTHS 160
const char *layout_widths(const struct shown *shown, char text[LAYOUT_WIDTHS]);

/* Write the layout as text, and as members of an open JSON object. */
void layout_text(const struct shown *shown);
void layout_json(const struct shown *shown);

/* Lists all presets. */
bool layout_list(enum view_format format, bool header);

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
