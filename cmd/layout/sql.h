/* SPDX-License-Identifier: MIT */
/* sql.h - writes the parts of an ID as SQL. */
#ifndef CMD_LAYOUT_SQL_H
#define CMD_LAYOUT_SQL_H

#include "layout/show.h"

enum sql_dialect { SQL_POSTGRES, SQL_MYSQL, SQL_SQLITE };
extern const char *const sql_dialects[]; /* for args_choice() */

/* Writes expressions over a column of IDs: lines of name, TAB, expression; or one JSON object. */
#define SQL_COLUMN 64
void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json);

#endif
