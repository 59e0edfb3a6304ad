/* SPDX-License-Identifier: MIT */
/* dirs.h - the host. */
#ifndef CMD_DOCTOR_DIRS_H
#define CMD_DOCTOR_DIRS_H

#include "io/report.h"

void doctor_run_dir(struct report *report, const char *path);

/* leased: pids come from a server, and generators need no state directory. Returns false if it
 * cannot be used. */
bool doctor_state_dir(struct report *report, const char *path, bool leased);
void doctor_machine_id(struct report *report, const char *state);

struct stat;

/* Reports what makes a directory or file unusable for a generator. Returns true if there is nothing
 * to report. */
bool doctor_trust(struct report *report, const char *path, const struct stat *st, bool directory);

/* The same for a file, which is opened as a generator does, to write as well if `writes`. One that
 * is missing is nothing to report. */
bool doctor_file(struct report *report, const char *path, bool writes);

#endif
