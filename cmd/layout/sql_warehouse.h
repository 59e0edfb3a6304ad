/* SPDX-License-Identifier: MIT */
/* sql_warehouse.h - the same for databases that no test runs. */
#ifndef CMD_LAYOUT_SQL_WAREHOUSE_H
#define CMD_LAYOUT_SQL_WAREHOUSE_H

#include "layout/show.h"

/* As layout_sql(). which: from 0. */
void sql_warehouse(const struct shown *shown, unsigned which, const char *id, bool json);

#endif
