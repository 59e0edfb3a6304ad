/* SPDX-License-Identifier: MIT */
/* scene.h - what unit tests of files and processes share. */
#ifndef SFID_TESTS_SCENE_H
#define SFID_TESTS_SCENE_H

#include "support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Entries of a directory, "." and ".." counted. */
int entries(const char *dir);

/* Runs body in a forked child, which ends with what it returns. */
pid_t spawn(int (*body)(void *), void *arg);

/* Waits for a child: its exit status, or minus the signal that ended it. */
int status_of(pid_t child);

/* Threads of this process that bear the name: sanitizers have some of their own. */
int threads_named(const char *name);

#endif
