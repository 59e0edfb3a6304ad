/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include "dirs.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sfid.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define STAGGER_MS 250
#define BACKLOG_NAP_MS 10 /* a Unix socket whose queue is full cannot be polled for room */
#define IDLE_S 60         /* between heartbeats a dead peer is found, and a NAT kept awake */
#define PROBE_S 10
#define PROBES 3

/* ---- one socket ---------------------------------------------------------- */

static bool is_ours(const struct sfid__wire *w) {
    struct stat st;
    return w->fd >= 0 && fstat(w->fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == w->device && st.st_ino == w->inode;
}

static void close_if_ours(struct sfid__wire *w, bool for_all) {
    if (is_ours(w)) {
        if (for_all)
            shutdown(w->fd, SHUT_RDWR);
        close(w->fd);
    }
    *w = SFID__WIRE_NONE;
}

void sfid__wire_close(struct sfid__wire *w) { close_if_ours(w, true); }

void sfid__wire_leave(struct sfid__wire *w) { close_if_ours(w, false); }

/* 0 or an errno. */
static int new_socket(struct sfid__wire *w, int family) {
    struct stat st;
    w->fd = sfid__fd_above_standard(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (w->fd < 0 || fstat(w->fd, &st) < 0)
        return errno;
    w->device = st.st_dev;
    w->inode = st.st_ino;
    return 0;
}

static void set(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value); /* each a nicety */
}

static void set_tcp_options(int fd) {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}

static enum sfid__reply_class cannot_connect(int errnum, struct sfid__error *why) {
    sfid__fail_errno(why, SFID_EREDIS, errnum, "cannot connect");
    switch (errnum) {
    case EACCES:
    case EPERM:
    case EPROTOTYPE: /* a Unix socket that takes no streams */
    case ENOTSOCK:
        return SFID__REPLY_CONFIG;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ETIMEDOUT:
    case ECONNRESET: /* it was there, and has gone */
        return SFID__REPLY_RETRY;
    default: /* refused, unreachable, no such socket */
        return SFID__REPLY_RESOLVE;
    }
}

static enum sfid__reply_class too_late(struct sfid__error *why, const char *what) {
    sfid__fail(why, SFID_EREDIS, "%s", what);
    return SFID__REPLY_RETRY;
}

/* ---- Unix ---------------------------------------------------------------- */

static enum sfid__reply_class open_unix(struct sfid__wire *w, const char *path, struct sfid__deadline *deadline,
                                        struct sfid__error *why) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    static_assert(sizeof at.sun_path >= sizeof((struct sfid__uri *)0)->path, "a path that was read has to fit");
    memcpy(at.sun_path, path, strlen(path) + 1);
    int errnum = new_socket(w, AF_UNIX);
    while (errnum == 0 && connect(w->fd, (const struct sockaddr *)&at, sizeof at) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            errnum = errno;
            break;
        }
        const int left = sfid__deadline_left_ms(deadline);
        if (left == 0) {
            sfid__wire_close(w);
            return too_late(why, "cannot connect: too many wait for the server to accept them");
        }
        poll(NULL, 0, SFID__MIN(left, BACKLOG_NAP_MS));
    }
    if (errnum == 0)
        return SFID__REPLY_OK;
    sfid__wire_close(w);
    return cannot_connect(errnum, why);
}

/* ---- TCP ----------------------------------------------------------------- */

/* Connections under way to the addresses of one name. */
struct race {
    const struct sfid__address *addresses;
    unsigned count, first, begun; /* begun: so many addresses have had their turn */
    int64_t next_ms;              /* when the next one is due */
    unsigned running;
    struct sfid__wire wires[SFID__ADDRESSES];
    int errnum; /* of the last that failed */
};

static void lost(struct race *r, struct sfid__wire *w, int errnum) {
    sfid__wire_close(w);
    r->errnum = errnum;
    r->next_ms = 0; /* the next one at once */
}

/* A port of the loopback that nobody listens at can be given to a socket that connects to it: then it meets itself. */
static bool met_itself(int fd) {
    struct sockaddr_storage here, there;
    socklen_t here_len = sizeof here, there_len = sizeof there;
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    return getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 && here_len == there_len &&
           memcmp(&here, &there, here_len) == 0;
}

/* True when w is connected. */
static bool arrived(struct race *r, struct sfid__wire *w) {
    int errnum = 0;
    socklen_t len = sizeof errnum;
    if (!is_ours(w))
        errnum = EBADF;
    else if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
        errnum = errno;
    else if (errnum == 0 && met_itself(w->fd))
        errnum = ECONNREFUSED;
    if (errnum == 0)
        return true;
    lost(r, w, errnum);
    return false;
}

/* Gives the next address its turn. True when it is connected at once. */
static bool begin_next(struct race *r, struct sfid__deadline *deadline) {
    const struct sfid__address *a = &r->addresses[(r->first + r->begun++) % r->count];
    struct sfid__wire *w = &r->wires[r->running];
    const unsigned waiting = r->count - r->begun;
    int errnum = new_socket(w, a->at.ss_family);
    if (errnum == 0) {
        set_tcp_options(w->fd);
        if (connect(w->fd, (const struct sockaddr *)&a->at, a->len) == 0)
            return arrived(r, w);
        errnum = errno;
    }
    if (errnum != EINPROGRESS) {
        lost(r, w, errnum);
        return false;
    }
    r->running++;
    const int64_t now = sfid__deadline_now_ms();
    r->next_ms = now + SFID__MIN(STAGGER_MS, SFID__MAX(0, deadline->at_ms - now) / (waiting + 1));
    return false;
}

/* Takes the one that is connected out of the race; open_tcp ends the others. */
static void won(struct race *r, unsigned i, struct sfid__wire *w) {
    *w = r->wires[i];
    r->wires[i] = SFID__WIRE_NONE;
}

/* Waits for something to happen, at most ms. The number of the one that is connected, or -1. */
static int watch(struct race *r, int ms) {
    struct pollfd polled[SFID__ADDRESSES];
    for (unsigned i = 0; i < r->running; i++)
        polled[i] = (struct pollfd){.fd = r->wires[i].fd, .events = POLLOUT};
    if (poll(polled, r->running, ms) <= 0)
        return -1;
    unsigned kept = 0;
    for (unsigned i = 0; i < r->running; i++) {
        if (polled[i].revents && arrived(r, &r->wires[i]))
            return (int)i;
        if (r->wires[i].fd >= 0) { /* close the gap that a lost one left */
            const struct sfid__wire moved = r->wires[i];
            r->wires[i] = SFID__WIRE_NONE;
            r->wires[kept++] = moved;
        }
    }
    r->running = kept;
    return -1;
}

static enum sfid__reply_class run_race(struct race *r, struct sfid__wire *w, struct sfid__deadline *deadline,
                                       struct sfid__error *why) {
    for (;;) {
        int left = sfid__deadline_left_ms(deadline);
        if (left == 0)
            return too_late(why, r->errnum == 0 ? "cannot connect: no answer in time"
                                                : "cannot connect: some addresses fail, others do not answer in time");
        const int64_t next = r->next_ms - sfid__deadline_now_ms();
        const bool more = r->begun < r->count;
        if (more && (r->running == 0 || next <= 0)) {
            if (begin_next(r, deadline)) {
                won(r, r->running, w);
                return SFID__REPLY_OK;
            }
            continue;
        }
        if (r->running == 0)
            return cannot_connect(r->errnum, why);
        if (more)
            left = (int)SFID__MIN(left, next);
        const int winner = watch(r, left);
        if (winner >= 0) {
            won(r, (unsigned)winner, w);
            return SFID__REPLY_OK;
        }
    }
}

static enum sfid__reply_class open_tcp(struct sfid__wire *w, const struct sfid__uri *uri, struct sfid__resolver *resolver,
                                       unsigned turn, struct sfid__deadline *deadline, struct sfid__error *why) {
    struct sfid__address addresses[SFID__ADDRESSES];
    struct race r = {.addresses = addresses};
    enum sfid__reply_class class = sfid__resolve(resolver, uri->node[0].host, uri->node[0].port, deadline, addresses, &r.count, why);
    if (class != SFID__REPLY_OK)
        return class;
    r.first = turn % r.count;
    for (unsigned i = 0; i < SFID__ADDRESSES; i++)
        r.wires[i] = SFID__WIRE_NONE;
    class = run_race(&r, w, deadline, why);
    for (unsigned i = 0; i < SFID__ADDRESSES; i++)
        sfid__wire_close(&r.wires[i]);
    return class;
}

enum sfid__reply_class sfid__wire_open(struct sfid__wire *w, const struct sfid__uri *uri, struct sfid__resolver *resolver,
                                       unsigned turn, struct sfid__deadline *deadline, struct sfid__error *why) {
    return uri->path[0] ? open_unix(w, uri->path, deadline, why) : open_tcp(w, uri, resolver, turn, deadline, why);
}

/* ---- bytes --------------------------------------------------------------- */

/* Waits for the socket. SFID__REPLY_OK: try; it may have been closed by the server as well. */
static enum sfid__reply_class wait_for(const struct sfid__wire *w, short events, struct sfid__deadline *deadline,
                                       struct sfid__error *why) {
    for (;;) {
        struct pollfd polled = {.fd = w->fd, .events = events};
        const int left = sfid__deadline_left_ms(deadline);
        if (left == 0)
            return too_late(why, deadline->stop_at_ms ? "given up, as the generator is being closed" : "no answer in time");
        const int n = poll(&polled, 1, left);
        if (n < 0 && errno != EINTR)
            return too_late(why, "poll() failed");
        if (!is_ours(w))
            return too_late(why, "the connection was closed by this process");
        if (n > 0)
            return SFID__REPLY_OK;
    }
}

enum sfid__reply_class sfid__wire_send(const struct sfid__wire *w, const char *bytes, size_t n, struct sfid__deadline *deadline,
                                       struct sfid__error *why) {
    while (n > 0) {
        const enum sfid__reply_class class = wait_for(w, POLLOUT, deadline, why);
        if (class != SFID__REPLY_OK)
            return class;
        const ssize_t sent = send(w->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (errno != EAGAIN && errno != EINTR) {
            sfid__fail_errno(why, SFID_EREDIS, errno, "cannot send");
            return SFID__REPLY_RETRY;
        }
    }
    return SFID__REPLY_OK;
}

enum sfid__reply_class sfid__wire_receive(const struct sfid__wire *w, char *bytes, size_t size, size_t *n,
                                          struct sfid__deadline *deadline, struct sfid__error *why) {
    for (;;) {
        const enum sfid__reply_class class = wait_for(w, POLLIN, deadline, why);
        if (class != SFID__REPLY_OK)
            return class;
        const ssize_t got = recv(w->fd, bytes, size, MSG_DONTWAIT);
        if (got > 0) {
            *n = (size_t)got;
            return SFID__REPLY_OK;
        }
        if (got == 0)
            return too_late(why, "the server closed the connection");
        if (errno != EAGAIN && errno != EINTR) {
            sfid__fail_errno(why, SFID_EREDIS, errno, "cannot receive");
            return SFID__REPLY_RETRY;
        }
    }
}

bool sfid__wire_is_quiet(const struct sfid__wire *w) {
    struct pollfd polled = {.fd = w->fd, .events = POLLIN | POLLRDHUP};
    return is_ours(w) && poll(&polled, 1, 0) == 0;
}
