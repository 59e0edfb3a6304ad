/* SPDX-License-Identifier: MIT */
/* show.h - IDs taken apart, as text. */
#ifndef CMD_TEXT_SHOW_H
#define CMD_TEXT_SHOW_H

#include "text/view.h"

/* The names of the columns, where the format has such: of a table, TSV and CSV. */
void view_header(const struct view *view);
void view_show(struct view *view, const struct taken *taken);

/* Takes apart and shows one ID of 64 bits. False, and nothing shown, when it is not of the layout. */
bool view_id(struct view *view, int64_t id);

#endif
