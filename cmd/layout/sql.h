/* SPDX-License-Identifier: MIT */
/* sql.h - writes what SQL has to say of an ID. */
#ifndef CMD_LAYOUT_SQL_H
#define CMD_LAYOUT_SQL_H

#include "layout/show.h"
#include "layout/sql_forms.h"

#define SQL_COLUMN 64 /* a name, and its end */

/* Writes expressions over a column of IDs: lines of name, TAB, expression; or one JSON object. */
void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json);

#endif
