/* SPDX-License-Identifier: MIT */
/* show.h - a layout and its properties. */
#ifndef CMD_LAYOUT_SHOW_H
#define CMD_LAYOUT_SHOW_H

#include "io/date.h"
#include "io/out.h"

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

/* Unix milliseconds; INT64_MAX: that never comes. */
struct layout_crossings {
    int64_t inexact_ms; /* IDs reach 2^53 */
    int64_t digit_ms;   /* they get the next decimal digit, or got the last one */
    int64_t signed_ms;  /* they would reach 2^63; the layout ends */
    unsigned digits;    /* of an ID from digit_ms on */
};
void layout_get_crossings(const sfid_layout *layout, int64_t now_ms,
                          struct layout_crossings *crossings);

/* Milliseconds that are left; INT64_MAX: that never comes, or has been. */
struct layout_left {
    int64_t end_ms;     /* until the layout's end; 0: it has ended */
    int64_t inexact_ms; /* until IDs reach 2^53 */
    int64_t digit_ms;   /* until they get another decimal digit */
};
void layout_time_left(const sfid_options *opt, int64_t now_ms, struct layout_left *left);

/* Writes "time 36, pid 11, seq 17", from the top. */
#define LAYOUT_WIDTHS 160
void layout_widths(const struct shown *shown, char text[LAYOUT_WIDTHS]);

/* Write the layout as text, and as members of an open JSON object. */
void layout_text(const struct shown *shown);
void layout_json(const struct shown *shown);

/* Lists all presets. */
bool layout_list(enum view_format format, bool header);

#endif
