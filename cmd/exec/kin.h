/* SPDX-License-Identifier: MIT */
/* kin.h - signals the descendants of this process. */
#ifndef CMD_EXEC_KIN_H
#define CMD_EXEC_KIN_H

/* Sends a signal to every current descendant of this process, as listed in /proc. */
void kin_signal(int signal);

#endif
