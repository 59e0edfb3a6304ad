/* SPDX-License-Identifier: MIT */
/* help.h - the list of commands. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "args/command.h"

/* By name or alias; NULL when there is none. */
const struct command *command_of(const char *name);

/* Tells that there is no such command, and what may have been meant. Returns STATUS_USAGE. */
int command_unknown(const char *name);

void help_all(void);

/* The usage line of all commands on standard error. Returns STATUS_USAGE. */
int usage_all(void);

#endif
