/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

int entries(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    need(d != NULL, "cannot read %s", dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

pid_t spawn(int (*body)(void *), void *arg) {
    const pid_t child = fork();
    need(child >= 0, "fork: %s", strerror(errno));
    if (child == 0)
        _exit(body(arg));
    return child;
}

int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int threads_named(const char *name) {
    int n = 0;
    char path[300], text[32];
    DIR *dir = opendir("/proc/self/task");
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *in = fopen(path, "re");
        n += in && fgets(text, sizeof text, in) && strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == '\n';
        if (in)
            fclose(in);
    }
    if (dir)
        closedir(dir);
    return n;
}
