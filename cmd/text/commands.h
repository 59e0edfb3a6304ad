/* SPDX-License-Identifier: MIT */
/* commands.h - commands that generate, write and convert IDs. */
#ifndef CMD_TEXT_COMMANDS_H
#define CMD_TEXT_COMMANDS_H

#include "args/command.h"

extern const struct command command_bench, command_convert, command_encode, command_gen, command_range;

#endif
