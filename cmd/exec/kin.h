/* SPDX-License-Identifier: MIT */
/* kin.h - what a process has started, directly or not. */
#ifndef CMD_EXEC_KIN_H
#define CMD_EXEC_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends a signal to every process that descends from this one, as /proc has them now. Returns how many there were. */
size_t kin_signal(int signal);

#endif
