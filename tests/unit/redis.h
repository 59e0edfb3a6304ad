/* SPDX-License-Identifier: MIT */
/* redis.h - real servers, each started for one test on a Unix socket and a free port of the loopback, and ended with it. */
#ifndef SFID_TESTS_REDIS_H
#define SFID_TESTS_REDIS_H

#include "peer.h"

#include <sys/stat.h>

struct redis {
    pid_t pid;
    char program[64];
    char dir[200];
    int port;
    char unix_url[300], tcp_url[100];
};

/* Is there a program of that name? */
static inline bool installed(const char *name) {
    char path[4096];
    const char *dirs = getenv("PATH");
    for (const char *dir = dirs ? dirs : ""; *dir; dir += strcspn(dir, ":"), dir += *dir == ':') {
        snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(dir, ":"), dir, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A port that nobody listens at, for now. */
static inline int free_port(void) {
    struct peer p = {.listener = -1};
    close(listen_tcp(&p, 1));
    return p.port;
}

static inline void exec_redis(const struct redis *r, const char *const extra[]) {
    const char *argv[40] = {r->program, "--dir", r->dir, "--unixsocket"};
    char path[256], port[16];
    int n = 4;
    snprintf(path, sizeof path, "%s/sock", r->dir);
    snprintf(port, sizeof port, "%d", r->port);
    const char *const rest[] = {path, "--port",       port, "--bind",    "127.0.0.1", "--save",
                                "",   "--appendonly", "no", "--logfile", "log"};
    for (size_t i = 0; i < COUNT(rest); i++)
        argv[n++] = rest[i];
    for (; extra && *extra; extra++)
        argv[n++] = *extra;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen("/dev/null", "w", stdout) == NULL) /* TAP stands there */
        _exit(126);
    /* The server's own threads and signals, not those of a test under a sanitizer or valgrind. */
    unsetenv("LD_PRELOAD");
    execvp(r->program, (char *const *)(uintptr_t)argv);
    _exit(127);
}

static inline bool is_there(void *redis) {
    struct redis *r = redis;
    struct sfid__connection *c = new_connection(r->unix_url);
    /* NOAUTH and LOADING are signs of life as well. */
    const bool there = ping(c, 1000) == 0 || strstr(err.text, "NOAUTH") || strstr(err.text, "AUTH:") || strstr(err.text, "LOADING");
    sfid__connection_drop(c);
    return there;
}

/* Starts it again in the same directory, with other options. */
static inline void start_again(struct redis *r, const char *const extra[]) {
    for (int attempt = 0; attempt < 5; attempt++) { /* the port may have been taken since */
        r->port = free_port();
        snprintf(r->tcp_url, sizeof r->tcp_url, "redis://127.0.0.1:%d", r->port);
        r->pid = fork();
        if (r->pid < 0)
            bail("fork: %s", strerror(errno));
        if (r->pid == 0)
            exec_redis(r, extra);
        if (tap_wait_until(is_there, r, 10000))
            return;
        kill(r->pid, SIGKILL);
        waitpid(r->pid, NULL, 0);
    }
    bail("%s does not start: %s", r->program, err.text);
}

static inline struct redis start_redis(const char *program, const char *const extra[]) {
    static int number;
    struct redis r = {.pid = -1};
    snprintf(r.program, sizeof r.program, "%s", program);
    snprintf(r.dir, sizeof r.dir, "%.80s/redis%d", tap_tmpdir(), number++);
    if (mkdir(r.dir, 0700) < 0)
        bail("cannot make %s: %s", r.dir, strerror(errno));
    snprintf(r.unix_url, sizeof r.unix_url, "unix://%s/sock", r.dir);
    start_again(&r, extra);
    return r;
}

static inline void stop_redis(struct redis *r) {
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    r->pid = -1;
}

/* Sends an inline command over a connection of its own; all that comes until the server closes that. */
static inline const char *raw(const struct redis *r, const char *command) {
    static char text[1 << 16];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", r->unix_url + strlen("unix://"));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        bail("cannot connect to %s: %s", at.sun_path, strerror(errno));
    say_text(fd, command);
    say_text(fd, "\r\nQUIT\r\n");
    size_t n = 0;
    for (ssize_t got; n + 1 < sizeof text && (got = recv(fd, text + n, sizeof text - 1 - n, 0)) > 0; n += (size_t)got)
        ;
    text[n] = '\0';
    close(fd);
    return text;
}

static inline void set_config(const struct redis *r, const char *name, const char *value) {
    char command[200];
    snprintf(command, sizeof command, "CONFIG SET %s %s", name, value);
    const char *answer = raw(r, command);
    if (strncmp(answer, "+OK", 3) != 0)
        bail("%s: %s", command, answer);
}

#endif
