/* SPDX-License-Identifier: MIT */
/*
 * peer.h - servers of a test's own that misbehave.
 *
 * A fake server is a forked process that forks once more for each connection;
 * what it does there is a function of the test. It ends with the test.
 */
#ifndef SFID_TESTS_PEER_H
#define SFID_TESTS_PEER_H

#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct peer_shared {
    _Atomic int accepted, commands, step; /* commands: other than those of the greeting */
    _Atomic int greeted_name;             /* CLIENT SETNAME sfid-orders came */
    char send[1 << 16];                   /* what a peer says, where the test sets it */
    size_t send_len;
};

struct peer {
    pid_t pid;
    char url[200];
    char path[108];
    int port;
    struct peer_shared *s;
    int listener; /* the parent's, where it keeps it */
};

/* Reads one command; its first argument in name. False at the end. */
static inline bool read_command(FILE *in, char *name, size_t size) {
    char line[64], skipped[1 << 12];
    int argc, arg = 0;
    if (!fgets(line, sizeof line, in) || sscanf(line, "*%d", &argc) != 1)
        return false;
    name[0] = '\0';
    for (int i = 0; i < argc; i++) {
        long len;
        if (!fgets(line, sizeof line, in) || sscanf(line, "$%ld", &len) != 1)
            return false;
        for (long left = len + 2; left > 0;) {
            const size_t n = fread(skipped, 1, left < (long)sizeof skipped ? (size_t)left : sizeof skipped, in);
            if (n == 0)
                return false;
            if (left == len + 2)
                snprintf(name + arg, size - (size_t)arg, "%s%.*s", i ? " " : "", (int)(len < 60 ? len : 60), skipped);
            left -= (long)n;
        }
        arg = (int)strlen(name);
    }
    return true;
}

static inline bool say(int fd, const void *bytes, size_t n) {
    for (const char *at = bytes; n > 0;) {
        const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static inline bool say_text(int fd, const char *text) { return say(fd, text, strlen(text)); }

/* Answers the greeting; the first other command in name. False at the end. */
static inline bool next_command(FILE *in, int fd, struct peer_shared *s, char *name, size_t size) {
    while (read_command(in, name, size)) {
        if (strncmp(name, "AUTH", 4) != 0 && strncmp(name, "CLIENT", 6) != 0 && strncmp(name, "SELECT", 6) != 0) {
            atomic_fetch_add(&s->commands, 1);
            return true;
        }
        if (strcmp(name, "CLIENT SETNAME sfid-orders") == 0)
            atomic_store(&s->greeted_name, 1);
        say_text(fd, "+OK\r\n");
    }
    return false;
}

/* Until the other side is gone. */
static inline void wait_for_end(int fd) {
    char skipped[4096];
    while (recv(fd, skipped, sizeof skipped, 0) > 0)
        ;
}

typedef void serve_function(int fd, FILE *in, struct peer_shared *s);

static inline void serve_all(int listener, serve_function *serve, struct peer_shared *s) {
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        atomic_fetch_add(&s->accepted, 1);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(listener);
            FILE *in = fdopen(dup(fd), "r");
            serve(fd, in, s);
            _exit(0);
        }
        close(fd);
    }
}

static inline int listen_unix(struct peer *p, int backlog) {
    static int number;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(p->path, sizeof p->path, "%.90s/s%d", tap_tmpdir(), number++);
    memcpy(at.sun_path, p->path, sizeof at.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, backlog) < 0)
        bail("cannot listen at %s: %s", p->path, strerror(errno));
    snprintf(p->url, sizeof p->url, "unix://%s", p->path);
    return fd;
}

static inline int listen_tcp(struct peer *p, int backlog) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, backlog) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        bail("cannot listen on the loopback: %s", strerror(errno));
    p->port = ntohs(at.sin_port);
    snprintf(p->url, sizeof p->url, "redis://127.0.0.1:%d", p->port);
    return fd;
}

static inline struct peer start_peer(bool tcp, serve_function *serve) {
    struct peer p = {.pid = -1, .listener = -1};
    const int fd = tcp ? listen_tcp(&p, 64) : listen_unix(&p, 64);
    p.s = mmap(NULL, sizeof *p.s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p.s == MAP_FAILED)
        bail("no shared memory");
    p.pid = fork();
    if (p.pid < 0)
        bail("fork: %s", strerror(errno));
    if (p.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_all(fd, serve, p.s);
    }
    close(fd);
    return p;
}

static inline void stop_peer(struct peer *p) {
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    munmap(p->s, sizeof *p->s);
    if (p->path[0])
        unlink(p->path);
}

static inline void set_words(struct peer *p, const void *bytes, size_t n) {
    memcpy(p->s->send, bytes, n);
    p->s->send_len = n;
}

#endif
