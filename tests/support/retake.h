/* SPDX-License-Identifier: MIT */
/**
 * retake.h - scenes that exist only on a machine that runs: a window of seconds is renewed in time
 * all through it, or ends between two of its steps.
 *
 * Such a scene runs as a process of its own. Each process of it notes for how long it was kept
 * waiting, and the witness of the system for how long a sync or the start of a process took. If a
 * check fails, and one of these is longer than the scene bears, the scene did not exist: it is made
 * again, up to RETAKES times, and the log says so. What the checker finds in the IDs stays found,
 * however late the machine was.
 */
#ifndef SFID_TESTS_RETAKE_H
#define SFID_TESTS_RETAKE_H

#include "support/proc.h"

enum { RETAKES = 12 };

/* Makes the scene. `again`, unless NULL, is called before each time but the first: nothing of the
 * last time may be left. */
void retake(void (*scene)(void *arg), void *arg, int64_t bears_ms, void (*again)(void));

/* In any process of the scene: a thread that wanted to run was kept waiting for so long. */
void retake_note(int64_t stood_ms);

#endif
