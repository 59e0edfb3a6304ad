/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

int entries(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    if (d == NULL)
        bail("cannot read %s", dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

pid_t spawn(int (*body)(void *), void *arg) {
    const pid_t child = fork();
    if (child < 0)
        bail("fork: %s", strerror(errno));
    if (child == 0)
        _exit(body(arg));
    return child;
}

int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
