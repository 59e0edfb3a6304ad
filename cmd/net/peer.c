/* SPDX-License-Identifier: MIT */
/* peer.c - connections to an address, over which no call waits for longer than the deadline. */
#include "net/peer.h"

#include "io/date.h"
#include "io/digits.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- addresses ------------------------------------------------------------- */

static bool copy(char *to, size_t size, const char *from, size_t len) {
    if (len == 0 || len >= size || memchr(from, '\0', len))
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

/* Nothing that would end a name in a URL, a header or a message. */
static bool is_host(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] == 0x7f || strchr("/@?#", text[i]))
            return false;
    return true;
}

static bool read_port(const char *text, size_t len, char port[6]) {
    uint64_t number;
    return copy(port, 6, text, len) && read_u64(port, 65535, &number) && number > 0;
}

bool address_read(const char *text, size_t len, const char *default_port, struct address *address) {
    static const char scheme[] = "unix:/";
    if (len >= sizeof scheme && memcmp(text, scheme, sizeof scheme - 1) == 0) {
        address->port[0] = '\0';
        return len - 5 < sizeof((struct sockaddr_un *)0)->sun_path &&
               copy(address->host, sizeof address->host, text + 5, len - 5);
    }
    const bool brackets = len > 0 && text[0] == '[';
    const char *end = memchr(text, brackets ? ']' : ':', len);
    const size_t host = end ? (size_t)(end - text) : len;
    if (brackets && end == NULL)
        return false;
    const char *rest = text + host + brackets, *all = text + len;
    if (!is_host(text, host) ||
        !copy(address->host, sizeof address->host, text + brackets, host - brackets))
        return false;
    if (rest == all)
        return read_port(default_port, strlen(default_port), address->port);
    return *rest == ':' && read_port(rest + 1, (size_t)(all - rest - 1), address->port);
}

/* ---- waiting ---------------------------------------------------------------- */

static bool failed(struct peer *peer, const char *what, const char *why) {
    snprintf(peer->why, sizeof peer->why, "%s: %s", what, why);
    return false;
}

/* Waits until the socket can be read or written. */
static bool await(struct peer *peer, short events, const char *what) {
    for (;;) {
        const int64_t left = peer->deadline - monotonic_ms();
        struct pollfd p = {.fd = peer->fd, .events = events};
        const int n = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (n > 0)
            return true;
        if (n == 0)
            return failed(peer, what, "no answer in time");
        if (errno != EINTR)
            return failed(peer, what, strerror(errno));
    }
}

static bool may_wait(int error) { return error == EAGAIN || error == EINTR; }

/* ---- names ------------------------------------------------------------------- */

struct lookup {
    struct address address;
    int rc, error, done[2]; /* a pipe, whose end is the answer */
    struct addrinfo *found;
};

static void look_up(struct lookup *l, int flags) {
    const struct addrinfo hints = {.ai_flags = flags, .ai_socktype = SOCK_STREAM};
    l->rc = getaddrinfo(l->address.host, l->address.port, &hints, &l->found);
    l->error = errno;
}

static void *look_up_name(void *lookup) {
    struct lookup *l = lookup;
    look_up(l, 0);
    close(l->done[1]);
    return NULL;
}

/* The system's resolver knows no time limit, so it has a thread. If it is late, the thread and its
 * memory are left behind. */
static bool resolve(struct peer *peer, const struct address *address, struct addrinfo **found) {
    static const char what[] = "look-up of the name";
    pthread_t thread;
    struct lookup *l = malloc(sizeof *l);
    if (l == NULL)
        return failed(peer, what, strerror(errno));
    l->address = *address;
    look_up(l, AI_NUMERICHOST); /* asks nobody */
    if (l->rc == EAI_NONAME) {
        const bool piped = pipe(l->done) == 0;
        const int error = piped ? pthread_create(&thread, NULL, look_up_name, l) : errno;
        if (error) {
            if (piped)
                close(l->done[0]), close(l->done[1]);
            free(l);
            return failed(peer, what, strerror(error));
        }
        peer->fd = l->done[0];
        const bool answered = await(peer, POLLIN, what);
        peer_close(peer);
        if (!answered) {
            pthread_detach(thread);
            return false;
        }
        pthread_join(thread, NULL);
    }
    const bool good =
        l->rc == 0 ||
        failed(peer, what, l->rc == EAI_SYSTEM ? strerror(l->error) : gai_strerror(l->rc));
    *found = l->found;
    free(l);
    return good;
}

/* ---- connecting -------------------------------------------------------------- */

static bool connect_to(struct peer *peer, const struct sockaddr *to, socklen_t size) {
    int error = 0;
    socklen_t len = sizeof error;
    peer->fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (peer->fd < 0)
        return failed(peer, "socket", strerror(errno));
    bool good = connect(peer->fd, to, size) == 0;
    if (!good && errno != EINPROGRESS)
        failed(peer, "connect", strerror(errno));
    else if (!good && await(peer, POLLOUT, "connect"))
        good = getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0
                   ? true
                   : failed(peer, "connect", strerror(error));
    if (!good)
        peer_close(peer);
    return good;
}

bool peer_open(struct peer *peer, const struct address *address, int timeout_ms) {
    peer->deadline = monotonic_ms() + timeout_ms;
    if (address->port[0] == '\0') {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        snprintf(to.sun_path, sizeof to.sun_path, "%.*s", (int)sizeof to.sun_path - 1,
                 address->host);
        return connect_to(peer, (const struct sockaddr *)&to, sizeof to);
    }
    struct addrinfo *found = NULL;
    if (!resolve(peer, address, &found))
        return false;
    bool good = false;
    for (const struct addrinfo *at = found; at && !good; at = at->ai_next)
        good = connect_to(peer, at->ai_addr, at->ai_addrlen);
    freeaddrinfo(found);
    return good;
}

void peer_close(struct peer *peer) { close(peer->fd); }

/* ---- bytes ------------------------------------------------------------------- */

bool peer_send(struct peer *peer, const void *bytes, size_t len) {
    const char *p = bytes;
    while (len > 0) {
        const ssize_t n = send(peer->fd, p, len, MSG_NOSIGNAL);
        if (n < 0 && !may_wait(errno))
            return failed(peer, "send", strerror(errno));
        if (n < 0 && !await(peer, POLLOUT, "send"))
            return false;
        p += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

int64_t peer_receive(struct peer *peer, void *room, size_t size) {
    for (;;) {
        if (!await(peer, POLLIN, "receive"))
            return -1;
        const ssize_t n = recv(peer->fd, room, size, 0);
        if (n >= 0)
            return n;
        if (!may_wait(errno)) {
            failed(peer, "receive", strerror(errno));
            return -1;
        }
    }
}
