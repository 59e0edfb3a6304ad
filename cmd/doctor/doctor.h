/* SPDX-License-Identifier: MIT */
/* doctor.h - sfid doctor. */
#ifndef CMD_DOCTOR_DOCTOR_H
#define CMD_DOCTOR_DOCTOR_H

#include "args/command.h"

/*
 * All of it only looks: no lock is taken or tried, nothing is made, written or
 * mapped for writing, and no time of access is changed where that can be
 * helped. Findings tell cause and cure.
 */
extern const struct command command_doctor;

#endif
