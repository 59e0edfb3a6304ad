/* SPDX-License-Identifier: MIT */
/* sql_bound.h - writes the lowest ID of a time as SQL. */
#ifndef CMD_LAYOUT_SQL_BOUND_H
#define CMD_LAYOUT_SQL_BOUND_H

#include "layout/show.h"

enum sql_dialect { SQL_POSTGRES, SQL_MYSQL, SQL_SQLITE, SQL_DUCKDB, SQL_CLICKHOUSE };
#define SQL_COLUMN 64

/* Writes the lowest ID whose tick does not begin before a time, which is an SQL expression. */
#define SQL_EXPRESSION 2560
void sql_bound(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect,
               const char *moment);

/* Writes the tick of `moment`, and the ID of `moment`, `pid` and `n`, for rows of earlier times. Of
 * layouts of 64 bits. */
void sql_tick(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect);
void sql_import(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect);

/* Writes a condition for the IDs from "since" to before "until". */
#define SQL_RANGE (2 * SQL_EXPRESSION + 4 * SQL_COLUMN)
void sql_range(char text[SQL_RANGE], const struct shown *shown, enum sql_dialect dialect,
               const char *id);

#endif
