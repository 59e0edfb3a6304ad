/* SPDX-License-Identifier: MIT */
/* commands.h - commands about leases. */
#ifndef CMD_LEASE_COMMANDS_H
#define CMD_LEASE_COMMANDS_H

#include "args/command.h"

extern const struct command command_init, command_lease;

#endif
