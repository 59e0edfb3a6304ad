/* SPDX-License-Identifier: MIT */
/* kept.h - what an ID is made of, to be added to a record that is kept. */
#ifndef CMD_TEXT_KEPT_H
#define CMD_TEXT_KEPT_H

#include "text/view.h"

/* All at p, OUT_ROOM bytes at most. Columns: each with the separator before it; without taken they are empty. */
char *view_put_names(const struct view *view, char *p, const char *prefix, char separator);
char *view_put_columns(struct view *view, char *p, const struct taken *taken, char separator);

/* Members of a JSON object: "time" and what follows. */
char *view_put_members(struct view *view, char *p, const struct taken *taken);

/* " [2026-11-21T10:30:00.000Z pid 1 seq 2]" */
char *view_put_note(struct view *view, char *p, const struct taken *taken);

/* The bits of a field. */
uint64_t view_part(const sfid_field *field, sfid_wide id);

/* What people know the pid of a wide ID by: a MAC address, a region. False where there is no such thing. */
#define VIEW_PID_NAME 32
bool view_pid_name(const struct view *view, const struct taken *taken, char name[VIEW_PID_NAME]);
const char *view_pid_label(const struct view *view);

/* Days, hours, minutes and seconds from a time to now. */
char *view_put_age(char *p, int64_t ms);

#endif
