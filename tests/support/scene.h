/* SPDX-License-Identifier: MIT */
/* scene.h - shared by unit tests of files and processes. */
#ifndef SFID_TESTS_SCENE_H
#define SFID_TESTS_SCENE_H

#include "support/tap.h"

#include <dirent.h>
#include <sys/mman.h>

/* Counts the entries of a directory, with "." and "..". */
int entries(const char *dir);

/* Runs body in a forked child, which ends with its result. */
pid_t spawn(int (*body)(void *), void *arg);

/* Waits for a child. Returns its exit status, or minus the signal that ended it. */
int status_of(pid_t child);

/* From here on the kernel answers a call of the system with this error, in this process. */
void refuse_call(uint32_t number, uint32_t error);

/* Count this process's threads with the name, or those that sleep: sanitizers have threads of their
 * own. */
int threads_named(const char *name);
int threads_asleep(const char *name);

#endif
