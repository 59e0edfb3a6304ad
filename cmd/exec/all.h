/* SPDX-License-Identifier: MIT */
/* all.h - sfid exec and its parts: what each file of this folder offers. */
#ifndef CMD_EXEC_ALL_H
#define CMD_EXEC_ALL_H

#include "args/all.h"

#include <sys/types.h>

/* ---- exec.c: sfid exec --------------------------------------------------- */

extern const struct command command_exec;

/* ---- kin.c: signals the descendants of this process ---------------------- */

/* Sends a signal to every current descendant of this process, as listed in /proc. */
void kin_signal(int signal);

#endif
