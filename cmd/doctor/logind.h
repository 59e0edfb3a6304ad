/* SPDX-License-Identifier: MIT */
/* logind.h - what systemd-logind removes. */
#ifndef CMD_DOCTOR_LOGIND_H
#define CMD_DOCTOR_LOGIND_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether systemd-logind removes what a user has below /dev/shm at the last logout, as far as its files tell. */
bool logind_removes(uid_t user);

#endif
