/* SPDX-License-Identifier: MIT */
/* remove.h - removes what a benchmark has made. */
#ifndef BENCH_REMOVE_H
#define BENCH_REMOVE_H

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static inline void remove_all(const char *path) {
    char *const args[] = {(char *)"rm", (char *)"-rf", (char *)path, NULL};
    pid_t rm;
    if (posix_spawnp(&rm, "rm", NULL, NULL, args, environ) == 0)
        waitpid(rm, NULL, 0);
}

#endif
