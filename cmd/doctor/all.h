/* SPDX-License-Identifier: MIT */
/* all.h - sfid doctor and its parts: what each file of this folder offers. */
#ifndef CMD_DOCTOR_ALL_H
#define CMD_DOCTOR_ALL_H

#include "layout/all.h"
#include "lease/all.h"

#include <sys/types.h>

/* ---- doctor.c: sfid doctor ----------------------------------------------- */

/*
 * The doctor only reads. It takes and tries no lock, makes and writes nothing,
 * maps nothing for writing, and keeps access times if it can. Findings give
 * cause and cure.
 */
extern const struct command command_doctor;

/* ---- dirs.c: the host ---------------------------------------------------- */

void doctor_run_dir(struct report *report, const char *path);

/* leased: pids come from a server, and generators need no state directory. Returns false if it cannot be used. */
bool doctor_state_dir(struct report *report, const char *path, bool leased);
void doctor_machine_id(struct report *report, const char *state);

/* ---- clock.c -------------------------------------------------------------- */

void doctor_clock_source(struct report *report);
void doctor_clock(struct report *report);
void doctor_clock_steps(struct report *report);

/* ---- apps.c: apps and their pids -------------------------------------------- */

/* opt names an app, or none: all. leased: its pids come from a server, so it may have no files here. store: else where from, or NULL. */
void doctor_apps(struct report *report, const char *run, const char *state, const sfid_options *opt, const char *store);

/* ---- server.c: where an app leases its pids --------------------------------- */

void doctor_server(struct report *report, const sfid_options *opt);

/* ---- trust.c: checks type, owner and mode of a directory or file of libsfid --- */

struct stat;

/* Reports what makes a directory or file unusable for a generator. Returns true if there is nothing to report. */
bool doctor_trust(struct report *report, const char *path, const struct stat *st, bool directory);

/* ---- logind.c: finds out what systemd-logind removes --------------------- */

/* Returns whether systemd-logind, according to its files, removes a user's files below /dev/shm at the last logout. */
bool logind_removes(uid_t user);

#endif
