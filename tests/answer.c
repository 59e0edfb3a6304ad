/* SPDX-License-Identifier: MIT */
/*
 * answer - a server for scripts about clients: it gives answers that a directory holds.
 *
 *   answer DIRECTORY [SOCKET]    listens on a free port of 127.0.0.1, which it prints, or on a Unix
 *                                socket
 *   answer DIRECTORY --closed    keeps such a port for itself and does not listen there:
 *                                connections are refused
 *
 * The request of connection I, counted from 1, becomes the file I.got. Then the file I is sent,
 * else the file `all`, in two pieces, and the connection is closed; without one it is closed at
 * once. If there is I.hang or all.hang, it stays silent until the client closes. The server ends on
 * SIGTERM or when its parent ends.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 20];

static int listen_on(const char *path, bool closed) {
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    const int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    snprintf(local.sun_path, sizeof local.sun_path, "%s", path ? path : "");
    const int rc = path ? bind(fd, (const struct sockaddr *)&local, sizeof local)
                        : bind(fd, (const struct sockaddr *)&any, sizeof any);
    if (rc < 0 || (!closed && listen(fd, 16) < 0)) {
        perror("answer");
        exit(1);
    }
    return fd;
}

/* A request of flakeid, RESP or HTTP. */
static bool is_whole(size_t len) {
    bytes[len] = '\0';
    if (len > 0 && bytes[0] == '\0')
        return len >= 4;
    if (bytes[0] == '*') /* an array of two */
        return len > 22 && memcmp(bytes + len - 2, "\r\n", 2) == 0;
    return len >= 4 && memcmp(bytes + len - 4, "\r\n\r\n", 4) == 0;
}

/* Opens the file NUMBER or `all`, with a suffix. */
static int file_of(unsigned number, const char *suffix) {
    char name[40];
    snprintf(name, sizeof name, "%u%s", number, suffix);
    const int fd = open(name, O_RDONLY);
    snprintf(name, sizeof name, "all%s", suffix);
    return fd >= 0 ? fd : open(name, O_RDONLY);
}

static void keep_request(unsigned number, size_t len) {
    char name[40];
    snprintf(name, sizeof name, "%u.got", number);
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        perror(name);
    close(fd);
}

static void serve(int fd, unsigned number) {
    size_t len = 0;
    for (ssize_t n = 1; n > 0 && !is_whole(len); len += n > 0 ? (size_t)n : 0)
        n = recv(fd, bytes + len, sizeof bytes - 1 - len, 0);
    keep_request(number, len);
    const int silent = file_of(number, ".hang"), file = file_of(number, "");
    if (silent >= 0) {
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            ;
        close(silent);
    } else if (file >= 0) {
        const ssize_t size = read(file, bytes, sizeof bytes);
        const ssize_t half = size / 2;
        send(fd, bytes, (size_t)half, MSG_NOSIGNAL);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        send(fd, bytes + half, (size_t)(size - half), MSG_NOSIGNAL);
    }
    if (file >= 0)
        close(file);
}

int main(int argc, char **argv) {
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (argc < 2 || chdir(argv[1]) < 0) {
        fputs("usage: answer DIRECTORY [SOCKET | --closed]\n", stderr);
        return 2;
    }
    const bool closed = argc > 2 && strcmp(argv[2], "--closed") == 0;
    const bool tcp = argc == 2 || closed;
    const int listener = listen_on(tcp ? NULL : argv[2], closed);
    if (tcp && getsockname(listener, (struct sockaddr *)&at, &size) == 0)
        printf("%d\n", ntohs(at.sin_port));
    else
        puts(argv[2]);
    fflush(stdout);
    while (closed)
        pause();
    for (unsigned number = 1;; number++) {
        const int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            return 1;
        serve(fd, number);
        close(fd);
    }
}
