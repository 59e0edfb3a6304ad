/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

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
        n += in && fscanf(in, "%*d (%31[^)]) %c", text, &is) == 2 && strcmp(text, name) == 0 &&
             (state == 0 || is == state);
        if (in)
            fclose(in);
    }
    if (dir)
        closedir(dir);
    return n;
}

int threads_named(const char *name) { return count_named(name, 0); }

int threads_asleep(const char *name) { return count_named(name, 'S'); }

void refuse_call(uint32_t number, uint32_t error) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        diag("no filter here: as the kernel has it");
}
