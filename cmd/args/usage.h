/* SPDX-License-Identifier: MIT */
/* usage.h - usage and help, from the same table that reads the options. */
#ifndef CMD_ARGS_USAGE_H
#define CMD_ARGS_USAGE_H

#include "args/command.h"

/* Prints the usage line of a command on standard error. Returns STATUS_USAGE. */
int usage(const struct command *command);

/* Prints the full help of a command on standard output. */
void help_command(const struct command *command);

#endif
