/* SPDX-License-Identifier: MIT */
#include "redis/wire.h"

#include "base/fd.h"
#include "base/thread.h"
#include "redis/allowed.h"
#include "redis/tcp.h"

#include <errno.h>
#include <poll.h>
#include <sfid.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define STAGGER_MS 250
#define BACKLOG_NAP_MS 10 /* a Unix socket with a full queue cannot be polled for room */

/* ---- one socket ---------------------------------------------------------- */

static bool is_ours(const struct sfid__wire *w) {
    struct stat st;
    return w->fd >= 0 && fstat(w->fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == w->device &&
           st.st_ino == w->inode;
}

static void close_if_ours(struct sfid__wire *w, bool for_all) {
    const bool ours = is_ours(w);
    struct sfid__tls *tls = w->tls;
    w->tls = NULL; /* first: a child that is forked now shall not free it again */
    sfid__tls_free(tls, ours && for_all);
    if (ours) {
        if (for_all)
            shutdown(w->fd, SHUT_RDWR);
        close(w->fd);
    }
    *w = SFID__WIRE_NONE;
}

void sfid__wire_close(struct sfid__wire *w) { close_if_ours(w, true); }

void sfid__wire_leave(struct sfid__wire *w) { close_if_ours(w, false); }

/* Makes a socket for an address. 0 or an errno. */
static int new_socket(struct sfid__wire *w, const struct sockaddr *at) {
    struct stat st;
    w->class = sfid__address_class(at);
    w->fd = sfid__fd_above_standard(
        socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (w->fd < 0 || fstat(w->fd, &st) < 0)
        return errno;
    w->device = st.st_dev;
    w->inode = st.st_ino;
    return 0;
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
    case ECONNRESET: /* the server was there, and has gone */
        return SFID__REPLY_RETRY;
    default: /* refused, unreachable, no such socket */
        return SFID__REPLY_RESOLVE;
    }
}

static enum sfid__reply_class too_late(struct sfid__error *why, const char *what) {
    sfid__fail(why, SFID_EREDIS, "%s", what);
    return SFID__REPLY_RETRY;
}

/* Returns how many are ready: 0 after ms, or interrupted before. -1: the system refuses to wait
 * (*why), and would again. */
static int wait_on(struct pollfd *polled, unsigned n, int ms, struct sfid__error *why) {
    const int ready = poll(polled, n, ms);
    if (ready == 0) /* a keeper looks up after SFID__STOP_LOOK_MS */
        sfid__thread_hangs();
    if (ready >= 0 || errno == EINTR)
        return SFID__MAX(ready, 0);
    sfid__fail_errno(why, SFID_EREDIS, errno, "cannot wait for the server");
    return -1;
}

/* ---- Unix ---------------------------------------------------------------- */

static enum sfid__reply_class open_unix(struct sfid__wire *w, const char *path,
                                        struct sfid__deadline *deadline, struct sfid__error *why) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    static_assert(sizeof at.sun_path >= sizeof((struct sfid__uri *)0)->path,
                  "a path that was read has to fit");
    memcpy(at.sun_path, path, strlen(path) + 1);
    int errnum = new_socket(w, (const struct sockaddr *)&at);
    while (errnum == 0 && connect(w->fd, (const struct sockaddr *)&at, sizeof at) < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            errnum = errno;
            break;
        }
        const int left = sfid__deadline_left_ms(deadline);
        if (left == 0) {
            sfid__wire_close(w);
            return too_late(
                why, "cannot connect: too many connections wait for the server to accept them");
        }
        if (wait_on(NULL, 0, SFID__MIN(left, BACKLOG_NAP_MS), why) < 0) {
            sfid__wire_close(w);
            return SFID__REPLY_RETRY;
        }
    }
    if (errnum == 0)
        return SFID__REPLY_OK;
    sfid__wire_close(w);
    return cannot_connect(errnum, why);
}

/* ---- TCP ----------------------------------------------------------------- */

/* Connections under way to the addresses of one name. */
struct race {
    struct sfid__addresses addresses;
    unsigned first, begun; /* begun: how many addresses have been tried */
    int64_t next_ms;       /* when the next address is due */
    unsigned running;
    struct sfid__wire wires[SFID__ADDRESSES];
    int errnum; /* of the last failure */
};

static void race_lost(struct race *r, struct sfid__wire *w, int errnum) {
    sfid__wire_close(w);
    r->errnum = errnum;
    r->next_ms = 0; /* the next address at once */
}

/* True if w is connected. */
static bool arrived(struct race *r, struct sfid__wire *w) {
    int errnum = 0;
    socklen_t len = sizeof errnum;
    if (!is_ours(w))
        errnum = EBADF;
    else if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
        errnum = errno;
    else if (errnum == 0 && sfid__tcp_met_itself(w->fd))
        errnum = ECONNREFUSED;
    if (errnum == 0)
        return true;
    race_lost(r, w, errnum);
    return false;
}

/* Tries the next address. True if it is connected at once. */
static bool begin_next(struct race *r, struct sfid__deadline *deadline) {
    const struct sfid__address *a =
        &r->addresses.list[(r->first + r->begun++) % r->addresses.count];
    struct sfid__wire *w = &r->wires[r->running];
    const unsigned waiting = r->addresses.count - r->begun;
    int errnum = new_socket(w, (const struct sockaddr *)&a->at);
    if (errnum == 0) {
        sfid__tcp_set_options(w->fd);
        if (connect(w->fd, (const struct sockaddr *)&a->at, a->len) == 0)
            return arrived(r, w);
        errnum = errno;
    }
    if (errnum != EINPROGRESS) {
        race_lost(r, w, errnum);
        return false;
    }
    r->running++;
    const int64_t now = sfid__deadline_now_ms();
    r->next_ms = now + SFID__MIN(STAGGER_MS, SFID__MAX(0, deadline->at_ms - now) / (waiting + 1));
    return false;
}

/* Takes the connected wire out of the race; open_tcp ends the others. */
static void won(struct race *r, unsigned i, struct sfid__wire *w) {
    *w = r->wires[i];
    r->wires[i] = SFID__WIRE_NONE;
}

/* Waits at most ms for something to happen. *w stays as it is, or is the connected wire. */
static enum sfid__reply_class watch(struct race *r, int ms, struct sfid__wire *w,
                                    struct sfid__error *why) {
    struct pollfd polled[SFID__ADDRESSES];
    for (unsigned i = 0; i < r->running; i++)
        polled[i] = (struct pollfd){.fd = r->wires[i].fd, .events = POLLOUT};
    const int ready = wait_on(polled, r->running, ms, why);
    if (ready <= 0)
        return ready < 0 ? SFID__REPLY_RETRY : SFID__REPLY_OK;
    unsigned kept = 0;
    for (unsigned i = 0; i < r->running; i++) {
        if (polled[i].revents && arrived(r, &r->wires[i])) {
            won(r, i, w);
            return SFID__REPLY_OK;
        }
        if (r->wires[i].fd >= 0) { /* close the gap of a lost one */
            const struct sfid__wire moved = r->wires[i];
            r->wires[i] = SFID__WIRE_NONE;
            r->wires[kept++] = moved;
        }
    }
    r->running = kept;
    return SFID__REPLY_OK;
}

static enum sfid__reply_class run_race(struct race *r, struct sfid__wire *w,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    for (;;) {
        int left = sfid__deadline_left_ms(deadline);
        if (left == 0)
            return too_late(
                why, r->errnum == 0
                         ? "cannot connect: no answer in time"
                         : "cannot connect: some addresses fail, others do not answer in time");
        const int64_t next = r->next_ms - sfid__deadline_now_ms();
        const bool more = r->begun < r->addresses.count;
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
        const enum sfid__reply_class class = watch(r, left, w, why);
        if (class != SFID__REPLY_OK || w->fd >= 0)
            return class;
    }
}

static enum sfid__reply_class open_tcp(struct sfid__wire *w, const struct sfid__uri *uri,
                                       struct sfid__resolver *resolver, unsigned first_try,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    struct race r = {.running = 0};
    enum sfid__reply_class class =
        sfid__resolve(resolver, uri->node[0].host, uri->node[0].port, deadline, &r.addresses, why);
    if (class == SFID__REPLY_OK)
        class = sfid__addresses_keep_allowed(uri, &r.addresses, why);
    if (class != SFID__REPLY_OK)
        return class;
    r.first = first_try % r.addresses.count;
    for (unsigned i = 0; i < SFID__ADDRESSES; i++)
        r.wires[i] = SFID__WIRE_NONE;
    class = run_race(&r, w, deadline, why);
    for (unsigned i = 0; i < r.running; i++)
        sfid__wire_close(&r.wires[i]);
    return class;
}

/* ---- bytes --------------------------------------------------------------- */

static enum sfid__reply_class check_is_ours(const struct sfid__wire *w, struct sfid__error *why) {
    return is_ours(w) ? SFID__REPLY_OK : too_late(why, "the connection was closed by this process");
}

/* Waits for the socket. SFID__REPLY_OK: try, although the server may have closed it. */
static enum sfid__reply_class wait_for(const struct sfid__wire *w, short events,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    for (;;) {
        struct pollfd polled = {.fd = w->fd, .events = events};
        const int left = deadline->sure_ms ? deadline->sure_ms : sfid__deadline_left_ms(deadline);
        deadline->sure_ms = 0;
        if (left == 0)
            return too_late(why, deadline->stop_at_ms
                                     ? "cancelled, because the generator is being closed"
                                     : "no answer in time");
        const int n = wait_on(&polled, 1, left, why);
        if (n < 0)
            return SFID__REPLY_RETRY;
        const enum sfid__reply_class class = check_is_ours(w, why);
        if (n > 0 || class != SFID__REPLY_OK)
            return class;
    }
}

/* Sends the first *sent bytes, maybe none. *waits: for what to wait before the rest; 0: for
 * nothing. */
static enum sfid__reply_class try_send(const struct sfid__wire *w, const char *bytes, size_t n,
                                       size_t *sent, short *waits, struct sfid__error *why) {
    if (w->tls)
        return sfid__tls_send(w->tls, bytes, n, sent, waits, why);
    const ssize_t done = send(w->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno != EAGAIN && errno != EINTR) {
        sfid__fail_errno(why, SFID_EREDIS, errno, "cannot send");
        return SFID__REPLY_RETRY;
    }
    *sent = (size_t)SFID__MAX(done, 0);
    *waits = POLLOUT; /* its buffer is full */
    return SFID__REPLY_OK;
}

enum sfid__reply_class sfid__wire_send(const struct sfid__wire *w, const char *bytes, size_t n,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    short waits = 0;
    for (;;) {
        size_t sent;
        enum sfid__reply_class class =
            waits ? wait_for(w, waits, deadline, why) : check_is_ours(w, why);
        if (class == SFID__REPLY_OK)
            class = try_send(w, bytes, n, &sent, &waits, why);
        if (class != SFID__REPLY_OK || sent == n)
            return class;
        bytes += sent;
        n -= sent;
    }
}

/* If *waits is 0, *n is at least 1. */
static enum sfid__reply_class try_receive(const struct sfid__wire *w, char *bytes, size_t size,
                                          size_t *n, short *waits, struct sfid__error *why) {
    if (w->tls)
        return sfid__tls_receive(w->tls, bytes, size, n, waits, why);
    const ssize_t got = recv(w->fd, bytes, size, MSG_DONTWAIT);
    if (got == 0)
        return too_late(why, "the server closed the connection");
    if (got < 0 && errno != EAGAIN && errno != EINTR) {
        sfid__fail_errno(why, SFID_EREDIS, errno, "cannot receive");
        return SFID__REPLY_RETRY;
    }
    *n = (size_t)SFID__MAX(got, 0);
    *waits = got > 0 ? 0 : POLLIN;
    return SFID__REPLY_OK;
}

enum sfid__reply_class sfid__wire_receive(const struct sfid__wire *w, char *bytes, size_t size,
                                          size_t *n, struct sfid__deadline *deadline,
                                          struct sfid__error *why) {
    /* a session may have the bytes already: they came with others */
    short waits = w->tls ? 0 : POLLIN;
    enum sfid__reply_class class;
    do {
        class = waits ? wait_for(w, waits, deadline, why) : check_is_ours(w, why);
        if (class == SFID__REPLY_OK)
            class = try_receive(w, bytes, size, n, &waits, why);
    } while (class == SFID__REPLY_OK && waits != 0);
    return class;
}

bool sfid__wire_is_quiet(const struct sfid__wire *w) {
    struct pollfd polled = {.fd = w->fd, .events = POLLIN | POLLRDHUP};
    if (!is_ours(w))
        return false;
    /* A session may hold bytes that the socket does not show. */
    return w->tls ? sfid__tls_is_quiet(w->tls) : poll(&polled, 1, 0) == 0;
}

/* ---- opening --------------------------------------------------------------- */

/* Asks on a connection of its own, without TLS. Returns how the answer begins; "" for none. */
static void ask_aside(const struct sfid__uri *uri, struct sfid__resolver *resolver,
                      unsigned first_try, struct sfid__deadline *deadline,
                      struct sfid__part question, char answer[2]) {
    struct sfid__wire w = SFID__WIRE_NONE;
    struct sfid__error why;
    size_t got;
    answer[0] = answer[1] = '\0';
    if (open_tcp(&w, uri, resolver, first_try, deadline, &why) == SFID__REPLY_OK &&
        sfid__wire_send(&w, question.at, question.len, deadline, &why) == SFID__REPLY_OK)
        sfid__wire_receive(&w, answer, 2, &got, deadline, &why);
    sfid__wire_close(&w);
}

bool sfid__wire_speaks_tls(const struct sfid__uri *uri, struct sfid__resolver *resolver,
                           unsigned first_try, struct sfid__deadline *deadline) {
    /* The shortest hello of TLS 1.2, with one cipher (0xc02f) and nothing else. */
    static const char hello[] = "\x16\x03\x01\0\x2d\x01\0\0\x29\x03\x03"
                                "32 bytes of no secret whatsoever"
                                "\0\0\x02\xc0\x2f\x01\0";
    char answer[2];
    static_assert(sizeof hello - 1 == 50, "a record of 45 bytes, as it says");
    if (uri->path[0])
        return false;
    ask_aside(uri, resolver, first_try, deadline, (struct sfid__part){hello, sizeof hello - 1},
              answer);
    /* a server's hello, or an alert */
    return (answer[0] == 0x16 || answer[0] == 0x15) && answer[1] == 3;
}

static bool speaks_plain(const struct sfid__uri *uri, struct sfid__resolver *resolver,
                         unsigned first_try, struct sfid__deadline *deadline) {
    char answer[2];
    ask_aside(uri, resolver, first_try, deadline, (struct sfid__part){"PING\r\n", 6}, answer);
    return answer[0] == '+' || answer[0] == '-';
}

static enum sfid__reply_class
shake_hands(const struct sfid__wire *w, struct sfid__deadline *deadline, struct sfid__error *why) {
    for (;;) {
        short waits;
        enum sfid__reply_class class = check_is_ours(w, why);
        if (class == SFID__REPLY_OK)
            class = sfid__tls_shake_hands(w->tls, &waits, why);
        if (class != SFID__REPLY_OK || waits == 0)
            return class;
        class = wait_for(w, waits, deadline, why);
        if (class != SFID__REPLY_OK)
            return class;
    }
}

/* Returns whether only the time is over. A handshake that has failed keeps its reason, however late
 * the failure is seen. */
static bool is_slow(const struct sfid__wire *w, enum sfid__reply_class class,
                    struct sfid__deadline *deadline) {
    return class == SFID__REPLY_RETRY && !sfid__tls_has_failed(w->tls) &&
           sfid__deadline_left_ms(deadline) == 0;
}

/* A server without TLS takes the handshake for an unfinished command, and waits. So it is asked
 * after half of the time. */
static enum sfid__reply_class secure(struct sfid__wire *w, const struct sfid__uri *uri,
                                     struct sfid__resolver *resolver, unsigned first_try,
                                     struct sfid__deadline *deadline, struct sfid__error *why) {
    const int64_t now = sfid__deadline_now_ms();
    struct sfid__deadline half = *deadline;
    half.at_ms = now + (deadline->at_ms - now) / 2;
    enum sfid__reply_class class = sfid__tls_new(&w->tls, uri, w->fd, why);
    if (class != SFID__REPLY_OK)
        return class;
    class = shake_hands(w, &half, why);
    if (is_slow(w, class, &half)) {
        if (sfid__tls_is_unanswered(w->tls) && speaks_plain(uri, resolver, first_try, deadline)) {
            sfid__fail(
                why, SFID_EREDIS,
                "the server does not speak TLS at this port; give its TLS port, or redis://");
            return SFID__REPLY_CONFIG;
        }
        class = shake_hands(w, deadline, why);
        if (deadline->stop_at_ms == 0 && is_slow(w, class, deadline))
            too_late(why, "cannot connect: no answer to the TLS handshake in time");
    }
    return class;
}

enum sfid__reply_class sfid__wire_open(struct sfid__wire *w, const struct sfid__uri *uri,
                                       struct sfid__resolver *resolver, unsigned first_try,
                                       struct sfid__deadline *deadline, struct sfid__error *why) {
    if (uri->path[0])
        return open_unix(w, uri->path, deadline, why);
    enum sfid__reply_class class = open_tcp(w, uri, resolver, first_try, deadline, why);
    if (class == SFID__REPLY_OK && uri->tls) {
        class = secure(w, uri, resolver, first_try, deadline, why);
        if (class != SFID__REPLY_OK)
            sfid__wire_close(w);
    }
    return class;
}
