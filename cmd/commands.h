/* SPDX-License-Identifier: MIT */
/* commands.h - the list of commands, from which they are declared. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include <stddef.h>

struct command;

/* The commands, in the order of the help. Each is an object of its own source, command_gen of
 * text/gen.c and so on, which declares it in no header. */
/* clang-format off */
#define COMMAND_LIST(X) \
    X(gen) X(decode) X(encode) X(convert) X(range) X(layout) X(init) X(lease) X(keep) X(exec) \
    COMMAND_IF_SERVE(X) X(get) X(bench) X(doctor) X(help)
/* clang-format on */
#ifdef HAVE_SERVE
#define COMMAND_IF_SERVE(X) X(serve)
#else
#define COMMAND_IF_SERVE(X)
#endif
#define DECLARE_COMMAND(name) extern const struct command command_##name;
COMMAND_LIST(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* Return a command by its place in the list, or by its name or alias; NULL if there is none. */
const struct command *command_at(size_t i);
const struct command *command_of(const char *name);

/* Runs the command, or shows the help, that the program's arguments ask for. Returns the exit
 * status. */
int command_run(int argc, char **argv);

#endif
