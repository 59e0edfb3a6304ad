/* SPDX-License-Identifier: MIT */
/* parts.h - the parts of `sfid doctor`. */
#ifndef CMD_DOCTOR_PARTS_H
#define CMD_DOCTOR_PARTS_H

#include "io/report.h"

#include <sfid.h>
#include <stdbool.h>

/* ---- dirs.c: the host ------------------------------------------------------- */

void doctor_run_dir(struct report *report, const char *path);

/* leased: pids come from a server, and generators need no state directory. Returns false if it cannot be used. */
bool doctor_state_dir(struct report *report, const char *path, bool leased);
void doctor_machine_id(struct report *report, const char *state);

/* ---- clock.c ------------------------------------------------------------------ */

void doctor_clock_source(struct report *report);
void doctor_clock(struct report *report);
void doctor_clock_steps(struct report *report);

/* ---- apps.c: apps and their pids -------------------------------------------- */

/* leased: the app's pids come from a server, so it may have no files here. */
void doctor_apps(struct report *report, const char *run, const char *state, const char *app, bool leased);

/* ---- server.c: where an app leases its pids --------------------------------- */

void doctor_server(struct report *report, const sfid_options *opt);

#endif
