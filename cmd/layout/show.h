/* SPDX-License-Identifier: MIT */
/* show.h - what the actions of `sfid layout` share, and others that tell of layouts. */
#ifndef CLI_LAYOUTS_H
#define CLI_LAYOUTS_H

#include "cli.h"

/* A layout with all that follows from it. */
struct shown {
    bool wide;           /* more than 64 bits: of layout only epoch_ms, unit_ms and the widths mean anything */
    sfid_wide_kind kind; /* when wide */
    sfid_layout layout;
    sfid_layout_facts facts;
    char name[SFID_LAYOUT_STR_LEN];
    char epoch[DATE_ROOM], last[DATE_ROOM]; /* when the first and the last tick begin */
    sfid_field fields[SFID_LAYOUT_FIELDS];
    int count;
};

/* ---- layout_show.c -------------------------------------------------------- */

/* False for a layout without a text form. */
bool layout_look_at(struct shown *shown, const sfid_layout *layout);
bool layout_look_at_wide(struct shown *shown, const sfid_wide_layout *layout);

/* "time 36, pid 11, seq 17", from the top. */
#define LAYOUT_WIDTHS 160
void layout_widths(const struct shown *shown, char text[LAYOUT_WIDTHS]);

/* As text; and as members of a JSON object that is open. */
void layout_text(const struct shown *shown);
void layout_json(const struct shown *shown);

/* All presets. */
bool layout_list(enum view_format format, bool header);

/* ---- layout_sql.c --------------------------------------------------------- */

enum sql_dialect { SQL_POSTGRES, SQL_MYSQL, SQL_SQLITE };
extern const char *const sql_dialects[]; /* for args_choice() */

/* Expressions over a column of IDs: a line each, name, TAB, expression; or one JSON object. */
#define SQL_COLUMN 64
void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json);

/* ---- layout_check.c ------------------------------------------------------- */

/* What follows from a layout, and whether it can be drawn from now. Returns the exit status. */
int layout_check(const struct shown *shown, bool json, struct moment now);

/* Finds how far off its end is. A layout that has ended or not begun is a fault with this status. */
void layout_find_end(struct report *report, const struct shown *shown, struct moment now, int status);

#endif
