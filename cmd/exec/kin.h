/* SPDX-License-Identifier: MIT */
/* kin.h - signals the descendants of this process. */
#ifndef CMD_EXEC_KIN_H
#define CMD_EXEC_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends a signal to every current descendant of this process, as listed in /proc. Returns how many there are. */
size_t kin_signal(int signal);

#endif
