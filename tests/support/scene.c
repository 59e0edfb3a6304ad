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

/* state: as in /proc/PID/stat; 0: any. */
static int count_named(const char *name, char state) {
    int n = 0;
    char path[300], text[32], is;
    DIR *dir = opendir("/proc/self/task");
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
        FILE *in = fopen(path, "re");
        n += in && fscanf(in, "%*d (%31[^)]) %c", text, &is) == 2 && strcmp(text, name) == 0 && (state == 0 || is == state);
        if (in)
            fclose(in);
    }
    if (dir)
        closedir(dir);
    return n;
}

int threads_named(const char *name) { return count_named(name, 0); }

int threads_asleep(const char *name) { return count_named(name, 'S'); }
