/* SPDX-License-Identifier: MIT */
/* scene.h - what unit tests of files and processes share. */
#ifndef SFID_TESTS_SCENE_H
#define SFID_TESTS_SCENE_H

#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Entries of a directory, "." and ".." counted. */
static inline int entries(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    if (d == NULL)
        bail("cannot read %s", dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Runs body in a forked child, which ends with what it returns. */
static inline pid_t spawn(int (*body)(void *), void *arg) {
    const pid_t child = fork();
    if (child < 0)
        bail("fork: %s", strerror(errno));
    if (child == 0)
        _exit(body(arg));
    return child;
}

/* Waits for a child: its exit status, or minus the signal that ended it. */
static inline int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#endif
