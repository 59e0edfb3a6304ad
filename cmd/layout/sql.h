/* SPDX-License-Identifier: MIT */
/* sql.h - writes the parts of an ID as SQL. */
#ifndef CMD_LAYOUT_SQL_H
#define CMD_LAYOUT_SQL_H

#include "layout/show.h"
#include "layout/sql_bound.h"

/* the indexes from here on are those of sql_warehouse.c, and of layouts of 64 bits alone */
#define SQL_WAREHOUSES 5
extern const char *const sql_dialects[]; /* for args_choice() */

/* Writes expressions over a column of IDs: lines of name, TAB, expression; or one JSON object. */
void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json);
void sql_put(bool json, const char *name, const char *expression);

#endif
