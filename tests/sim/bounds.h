/* SPDX-License-Identifier: MIT */
/* bounds.h - what the checks hold by the default settings, for the numbers of doc/safety.md (sim
 * --bounds); part of sim.h. */
#ifndef SIM_BOUNDS_H
#define SIM_BOUNDS_H

#include <stdint.h>

void bounds_print(void);
void bound_print(const char *name, int64_t ns);
void causes_bounds(void), outages_bounds(void), steps_bounds(void), silent_bounds(void),
    host_faults_bounds(void);

#endif
