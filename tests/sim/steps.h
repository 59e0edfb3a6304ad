/* SPDX-License-Identifier: MIT */
/* steps.h - what befalls processes inside steps of the library (steps.c). */
#ifndef SIM_STEPS_H
#define SIM_STEPS_H

#include <stdint.h>

void end_in_step(void);
void end_in_close(void);
void end_in_open(void);
void end_in_exchange(void);
void kill_for_successor(void);
/* The process whose turn it is has opened: with what the one before it had, if that was killed. */
void check_successor(int64_t pid);
/* It has opened, and may share a page with one that is stopped. */
void meets_stopped(void);
/* The process whose turn it is asks a server something. */
void step_asks(void);
/* The process whose turn it is has made the last of its calls. */
void step_ends(void);

#endif
