/* SPDX-License-Identifier: MIT */
#include "support/peer.h"

#include <poll.h>

/* How long a peer waits for a command. */
enum { IDLE_MS = 3600000 };

bool read_command(struct resp *in, char *name, size_t size) {
    struct reply *command = resp_read(in, IDLE_MS);
    size_t n = 0;
    name[0] = '\0';
    for (size_t i = 0; command && i < command->count && n < size; i++)
        n += (size_t)snprintf(name + n, size - n, "%s%.60s", i ? " " : "", command->list[i].text);
    const bool good = command && command->type == '*';
    reply_free(command);
    return good;
}

bool say(int fd, const void *bytes, size_t n) {
    for (const char *at = bytes; n > 0;) {
        const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool say_text(int fd, const char *text) { return say(fd, text, strlen(text)); }

bool next_command(struct resp *in, int fd, struct peer_shared *s, char *name, size_t size) {
    while (read_command(in, name, size)) {
        if (strncmp(name, "AUTH", 4) != 0 && strncmp(name, "CLIENT", 6) != 0 &&
            strncmp(name, "SELECT", 6) != 0) {
            atomic_fetch_add(&s->commands, 1);
            return true;
        }
        if (strcmp(name, "CLIENT SETNAME sfid-orders") == 0)
            atomic_store(&s->greeted_name, 1);
        say_text(fd, "+OK\r\n");
    }
    return false;
}

void wait_for_end(int fd) {
    char skipped[4096];
    while (recv(fd, skipped, sizeof skipped, 0) > 0)
        ;
}

static void serve_all(int listener, serve_function *serve, struct peer_shared *s) {
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        atomic_fetch_add(&s->accepted, 1);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(listener);
            serve(fd, resp_on(fd), s);
            _exit(0);
        }
        close(fd);
    }
}

int listen_unix(struct peer *p, int backlog) {
    static int number;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(p->path, sizeof p->path, "%s/s%d", socket_dir(), number++);
    memcpy(at.sun_path, p->path, sizeof at.sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) >= 0 && listen(fd, backlog) >= 0,
         "cannot listen at %s: %s", p->path, strerror(errno));
    snprintf(p->url, sizeof p->url, "unix://%s", p->path);
    return fd;
}

int bind_tcp(struct peer *p) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) >= 0 &&
             getsockname(fd, (struct sockaddr *)&at, &len) >= 0,
         "no port on the loopback: %s", strerror(errno));
    p->port = ntohs(at.sin_port);
    snprintf(p->url, sizeof p->url, "redis://127.0.0.1:%d", p->port);
    return fd;
}

int listen_tcp(struct peer *p, int backlog) {
    const int fd = bind_tcp(p);
    need(listen(fd, backlog) >= 0, "cannot listen on the loopback: %s", strerror(errno));
    return fd;
}

struct peer start_peer(bool tcp, serve_function *serve) {
    struct peer p = {.pid = -1, .listener = -1};
    const int fd = tcp ? listen_tcp(&p, 64) : listen_unix(&p, 64);
    p.s = shared_memory(sizeof *p.s);
    p.pid = fork();
    need(p.pid >= 0, "fork: %s", strerror(errno));
    if (p.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_all(fd, serve, p.s);
    }
    close(fd);
    return p;
}

void stop_peer(struct peer *p) {
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    munmap(p->s, sizeof *p->s);
    if (p->path[0])
        unlink(p->path);
}

void set_words(struct peer *p, const void *bytes, size_t n) {
    memcpy(p->s->send, bytes, n);
    p->s->send_len = n;
}

/* ---- behaviours ---------------------------------------------------------- */

void serve_words(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name))
        say(fd, s->send, s->send_len);
}

void serve_words_at_once(int fd, struct resp *in, struct peer_shared *s) {
    (void)in;
    say(fd, s->send, s->send_len);
    wait_for_end(fd);
}

void serve_drip(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "$250\r\n");
    do
        poll(NULL, 0, 100);
    while (say_text(fd, "x"));
}

void serve_nothing(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    wait_for_end(fd);
}

void serve_words_once(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say(fd, s->send, s->send_len);
    wait_for_end(fd);
}

void serve_end(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    (void)fd;
    next_command(in, fd, s, name, sizeof name);
}

void serve_reset(int fd, struct resp *in, struct peer_shared *s) {
    const struct linger reset = {1, 0};
    serve_end(fd, in, s);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

void serve_nested(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    for (int i = 0; i < 1000000 && say_text(fd, "*1\r\n"); i++)
        ;
    wait_for_end(fd);
}

int fill_backlog(const struct sockaddr *at, socklen_t len, int fds[], int most) {
    int n = 0;
    for (; n < most; n++) {
        fds[n] = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        struct pollfd polled = {.fd = fds[n], .events = POLLOUT};
        if (connect(fds[n], at, len) < 0 &&
            (errno == EAGAIN || (errno == EINPROGRESS && poll(&polled, 1, 200) == 0)))
            return n + 1;
    }
    bail("a backlog that does not fill");
}
