/* SPDX-License-Identifier: MIT */
/* apps.h - apps and their pids. */
#ifndef CMD_DOCTOR_APPS_H
#define CMD_DOCTOR_APPS_H

#include "io/report.h"

/* opt names an app, or none: all. leased: its pids come from a server, so it may have no files
 * here. store: else where from, or NULL. */
void doctor_apps(struct report *report, const char *run, const char *state, const sfid_options *opt,
                 const char *store);

#endif
