/* SPDX-License-Identifier: MIT */
#include "support/system.h"

#include "support/tap.h"

#include <arpa/inet.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>

/* ---- children ------------------------------------------------------------- */

int task_begin(void) {
    fflush(NULL);
    const pid_t pid = fork();
    need(pid >= 0, "fork: %s", strerror(errno));
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

void task_end(void) { _exit(0); }

void task_wait(int pid) { need(waitpid(pid, NULL, 0) == pid, "no such child"); }

void task_kill(int pid) {
    kill(pid, SIGKILL);
    task_wait(pid);
}

/* One that has ended by then is left to task_wait(). */
void task_stop(int pid, int ms) {
    siginfo_t how;
    (void)ms;
    kill(pid, SIGSTOP);
    need(waitid(P_PID, (id_t)pid, &how, WSTOPPED | WEXITED | WNOWAIT) == 0,
         "the child does not stop: %s", strerror(errno));
}

void task_go_on(int pid) { kill(pid, SIGCONT); }

const char *system_dir(void) { return tap_tmpdir(); }

bool system_is_layered(void) {
    struct statfs fs;
    return statfs(system_dir(), &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* ---- servers --------------------------------------------------------------- */

static void serve(int fd) {
    char said[64];
    size_t n = 0;
    for (ssize_t got; (got = recv(fd, said + n, sizeof said - n, 0)) > 0; n = 0) {
        const bool quits = memmem(said, (size_t)got, "QUIT", 4) != NULL;
        send(fd, "+OK\r\n", 5, MSG_NOSIGNAL);
        if (quits)
            shutdown(fd, SHUT_WR);
    }
    close(fd);
}

static int bound(struct sockaddr_in *at) {
    socklen_t len = sizeof *at;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0 && bind(fd, (struct sockaddr *)at, len) == 0 &&
             getsockname(fd, (struct sockaddr *)at, &len) == 0,
         "no port: %s", strerror(errno));
    return fd;
}

/* A queue of none takes one connection; whoever comes next is not heard. */
static void fill_queue(const struct sockaddr_in *at) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(connect(fd, (const struct sockaddr *)at, sizeof *at) == 0, "connect: %s", strerror(errno));
}

struct sockaddr_in system_server(enum serving how) {
    struct sockaddr_in at;
    const int fd = bound(&at);
    need(how == REFUSES || listen(fd, how == HANGS ? 0 : 8) == 0, "listen: %s", strerror(errno));
    if (how == HANGS)
        fill_queue(&at);
    if (how == SERVES && task_begin() == 0)
        for (;;)
            serve(accept(fd, NULL, NULL));
    return at;
}
