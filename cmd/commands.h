/* SPDX-License-Identifier: MIT */
/* commands.h - the list of commands. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include <stddef.h>

struct command;

/* Return a command by its place in the list, or by its name or alias; NULL if there is none. */
const struct command *command_at(size_t i);
const struct command *command_of(const char *name);

/* Runs the command, or shows the help, that the program's arguments ask for. Returns the exit
 * status. */
int command_run(int argc, char **argv);

#endif
