/* SPDX-License-Identifier: MIT */
/* help.h - the list of commands. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "args/all.h"

/* Finds a command by name or alias. Returns NULL if there is none. */
const struct command *command_of(const char *name);

/* Reports an unknown command and suggests a known one. Returns STATUS_USAGE. */
int command_unknown(const char *name);

void help_all(void);

/* Prints the usage line of all commands on standard error. Returns STATUS_USAGE. */
int usage_all(void);

#endif
