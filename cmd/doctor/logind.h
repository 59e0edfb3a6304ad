/* SPDX-License-Identifier: MIT */
/* logind.h - finds out what systemd-logind removes. */
#ifndef CMD_DOCTOR_LOGIND_H
#define CMD_DOCTOR_LOGIND_H

#include "io/base.h"

#include <sys/types.h>

/* Returns whether systemd-logind, according to its files, removes a user's files below /dev/shm at
 * the last logout. */
bool logind_removes(uid_t user);

#endif
