/* SPDX-License-Identifier: MIT */
/* clock.h - the host's clocks. */
#ifndef CMD_DOCTOR_CLOCK_H
#define CMD_DOCTOR_CLOCK_H

#include "io/report.h"

void doctor_clock_source(struct report *report);
void doctor_clock(struct report *report);
void doctor_clock_steps(struct report *report);

#endif
