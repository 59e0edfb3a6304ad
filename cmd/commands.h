/* SPDX-License-Identifier: MIT */
/* commands.h - the list of commands. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

/* Runs the command, or shows the help, that the program's arguments ask for. Returns the exit status. */
int command_run(int argc, char **argv);

#endif
