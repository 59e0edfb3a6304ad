/* SPDX-License-Identifier: MIT */
/* usage.h - what a command does, from the table that it is read by. */
#ifndef CMD_ARGS_USAGE_H
#define CMD_ARGS_USAGE_H

#include "args/command.h"

/* The usage line of a command on standard error. Returns STATUS_USAGE. */
int usage(const struct command *command);

/* All there is to say of a command, on standard output. */
void help_command(const struct command *command);

#endif
