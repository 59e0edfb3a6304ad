/* SPDX-License-Identifier: MIT */
/* kept.h - writes the parts of an ID, to add them to a record. */
#ifndef CMD_TEXT_KEPT_H
#define CMD_TEXT_KEPT_H

#include "text/view.h"

/* Each writes at most OUT_ROOM bytes at p. A separator precedes each column; with taken NULL, columns are empty. */
char *view_put_names(const struct view *view, char *p, const char *prefix, char separator);
char *view_put_columns(struct view *view, char *p, const struct taken *taken, char separator);

/* Writes members of a JSON object: "time" and so on. */
char *view_put_members(struct view *view, char *p, const struct taken *taken);

/* Writes " [2026-11-21T10:30:00.000Z pid 1 seq 2]". */
char *view_put_note(struct view *view, char *p, const struct taken *taken);

/* Returns the bits of a field. */
uint64_t view_part(const sfid_field *field, sfid_wide id);

/* Writes the common name of a wide ID's pid: a MAC address or a region. Returns false if it has none. */
#define VIEW_PID_NAME 32
bool view_pid_name(const struct view *view, const struct taken *taken, char name[VIEW_PID_NAME]);
const char *view_pid_label(const struct view *view);

/* Writes days, hours, minutes and seconds from a time until now. */
char *view_put_age(char *p, int64_t ms);

#endif
