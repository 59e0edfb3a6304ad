/* SPDX-License-Identifier: MIT */
/* all.h - sfid layout and its parts: what each file of this folder offers. */
#ifndef CMD_LAYOUT_ALL_H
#define CMD_LAYOUT_ALL_H

#include "args/all.h"

/* ---- layout.c: sfid layout ----------------------------------------------- */

extern const struct command command_layout;

/* ---- show.c: a layout and its properties --------------------------------- */

struct shown {
    bool wide;           /* more than 64 bits: of layout, only epoch_ms, unit_ms and the widths are valid */
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

/* Writes "time 36, pid 11, seq 17", from the top. */
#define LAYOUT_WIDTHS 160
void layout_widths(const struct shown *shown, char text[LAYOUT_WIDTHS]);

/* Write the layout as text, and as members of an open JSON object. */
void layout_text(const struct shown *shown);
void layout_json(const struct shown *shown);

/* Lists all presets. */
bool layout_list(enum view_format format, bool header);

/* ---- sql.c: writes the parts of an ID as SQL ----------------------------- */

enum sql_dialect { SQL_POSTGRES, SQL_MYSQL, SQL_SQLITE, SQL_DUCKDB, SQL_CLICKHOUSE };
#define SQL_WAREHOUSES 5 /* the indexes from here on are those of sql_warehouse.c, and of layouts of 64 bits alone */
extern const char *const sql_dialects[]; /* for args_choice() */

/* Writes expressions over a column of IDs: lines of name, TAB, expression; or one JSON object. */
#define SQL_COLUMN 64
void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json);
void sql_put(bool json, const char *name, const char *expression);

/* ---- sql_bound.c: writes the lowest ID of a time as SQL ------------------- */

/* Writes the lowest ID whose tick does not begin before a time, which is an SQL expression. */
#define SQL_EXPRESSION 2560
void sql_bound(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect, const char *moment);

/* Writes the tick of `moment`, and the ID of `moment`, `pid` and `n`, for rows of earlier times. Of layouts of 64 bits. */
void sql_tick(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect);
void sql_import(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect);

/* Writes a condition for the IDs from "since" to before "until". */
#define SQL_RANGE (2 * SQL_EXPRESSION + 4 * SQL_COLUMN)
void sql_range(char text[SQL_RANGE], const struct shown *shown, enum sql_dialect dialect, const char *id);

/* ---- sql_warehouse.c: the same for databases that no test runs ------------- */

/* As layout_sql(). which: from 0. */
void sql_warehouse(const struct shown *shown, unsigned which, const char *id, bool json);

/* ---- compare.c: whether one layout can take over from another --------------- */

/* Its options, of which layout_compare() wants the first. */
#define COMPARE_OPTIONS(first) \
    [first] = {"old-since", 0, "TIME", NULL, "with compare: when OLD has begun (its epoch)"}, \
    [(first) + 1] = {"old-until", 0, "TIME", NULL, "with compare: when OLD ends (now)"}, \
    [(first) + 2] = {"old-pids", 0, "MIN-MAX", NULL, "with compare: the pids of OLD (all)"}, \
    [(first) + 3] = {"new-since", 0, "TIME", NULL, "with compare: when NEW begins (when OLD ends)"}, \
    [(first) + 4] = {"new-until", 0, "TIME", NULL, "with compare: when NEW ends (at its last tick)"}, \
    [(first) + 5] = {"new-pids", 0, "MIN-MAX", NULL, "with compare: the pids of NEW (all)"}
#define COMPARE_COUNT 6

/* Compares the IDs of two layouts. Returns the exit status. */
int layout_compare(const struct args *args, int first, const struct shown *old_shown, const struct shown *next_shown, bool json);

/* ---- check.c: checks whether a layout is suitable ------------------------ */

/* Checks a layout and whether it can generate IDs now. Returns the exit status. */
int layout_check(const struct shown *shown, bool json, struct moment now);

/* Reports how far off the end is. A layout that has ended or not begun is a fault with this status. */
void layout_find_end(struct report *report, const struct shown *shown, struct moment now, int status);

/* ---- crossings.c: the dates on which IDs outgrow something ---------------- */

/* Writes "68 years", "412 days" or "3 hours". */
const char *layout_span(char *text, size_t size, int64_t ms);

/* Unix milliseconds; INT64_MAX: that never comes. */
struct layout_crossings {
    int64_t inexact_ms; /* IDs reach 2^53 */
    int64_t digit_ms;   /* they get the next decimal digit, or got the last one */
    int64_t signed_ms;  /* they would reach 2^63; the layout ends */
    unsigned digits;    /* of an ID from digit_ms on */
};
void layout_get_crossings(const sfid_layout *layout, int64_t now_ms, struct layout_crossings *crossings);

/*
 * Reports when IDs reach 2^53 and get another digit, from a year before as a warning. all: also what is no concern of those
 * whose IDs never reach 2^53.
 */
void layout_find_crossings(struct report *report, const sfid_layout *layout, struct moment now, bool all);

/* Milliseconds that are left; INT64_MAX: that never comes, or has been. */
struct layout_left {
    int64_t end_ms;     /* until the layout's end; 0: it has ended */
    int64_t inexact_ms; /* until IDs reach 2^53 */
    int64_t digit_ms;   /* until they get another decimal digit */
};
void layout_time_left(const sfid_options *opt, int64_t now_ms, struct layout_left *left);

#endif
