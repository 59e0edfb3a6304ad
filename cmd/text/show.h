/* SPDX-License-Identifier: MIT */
/* show.h - shows the parts of IDs. */
#ifndef CMD_TEXT_SHOW_H
#define CMD_TEXT_SHOW_H

#include "text/reader.h"

/* Writes the ID as its layout usually does: at most DEC_ROOM or SFID_WIDE_TEXT_LEN bytes. */
char *view_put_id(const struct view *view, char *p, sfid_wide id);

/* Each writes at most OUT_ROOM bytes at p. A separator precedes each column; with taken NULL,
 * columns are empty. */
char *view_put_names(const struct view *view, char *p, const char *prefix, char separator);
char *view_put_columns(struct view *view, char *p, const struct taken *taken, char separator);

/* Chooses the columns by their names, with commas between them. Returns false after a message that
 * begins with the label. */
bool view_choose(struct view *view, const char *label, const char *names);

/* Writes the line of VIEW_JSON. */
char *view_put_json(struct view *view, char *p, const struct taken *taken);

/* Writes members of a JSON object: "time" and so on. */
char *view_put_members(struct view *view, char *p, const struct taken *taken);

/* Writes " [2026-11-21T10:30:00.000Z pid 1 seq 2]". */
char *view_put_note(struct view *view, char *p, const struct taken *taken);

/* Writes the common name of a wide ID's pid: a MAC address or a region. Returns false if it has
 * none. */
#define VIEW_PID_NAME 32
bool view_pid_name(const struct view *view, const struct taken *taken, char name[VIEW_PID_NAME]);
const char *view_pid_label(const struct view *view);

/* Writes days, hours, minutes and seconds from a time until now. */
char *view_put_age(char *p, int64_t ms);

/* Writes the column names, if the format has any: a table, TSV or CSV. */
void view_header(const struct view *view);
void view_show(struct view *view, const struct taken *taken);

/* Shows the parts of a 64-bit ID. Returns false, and shows nothing, if it is not of the layout. */
bool view_id(struct view *view, int64_t id);

#endif
