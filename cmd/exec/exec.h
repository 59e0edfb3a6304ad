/* SPDX-License-Identifier: MIT */
/* exec.h - sfid exec. */
#ifndef CMD_EXEC_EXEC_H
#define CMD_EXEC_EXEC_H

extern const struct command command_exec;

#endif
