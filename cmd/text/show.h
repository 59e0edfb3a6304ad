/* SPDX-License-Identifier: MIT */
/* show.h - shows the parts of IDs. */
#ifndef CMD_TEXT_SHOW_H
#define CMD_TEXT_SHOW_H

#include "text/view.h"

/* Writes the column names, if the format has any: a table, TSV or CSV. */
void view_header(const struct view *view);
void view_show(struct view *view, const struct taken *taken);

/* Shows the parts of a 64-bit ID. Returns false, and shows nothing, if it is not of the layout. */
bool view_id(struct view *view, int64_t id);

#endif
