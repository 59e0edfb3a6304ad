/* SPDX-License-Identifier: MIT */
/*
 * wire.c - sockets, and what happens on the way.
 *
 * A segment arrives later, in order within its connection. One in some is late, a host may be cut
 * off: then it arrives once the cut is over. Half answers, no answer, an answer in pieces, and a
 * request that is served after its client has gone come from here, not from a test.
 */
#include "sim.h"
#include "steps.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { ANSWER = 65536, WORDS = 64 };
enum { LATE = 15, STUCK = 6, HALF = 4, NONE = 6, PIECES = 50 }; /* of a thousand */

struct connection {
    unsigned refs, number;
    struct socket *client;
    int host;
    uint64_t generator; /* it is of */
    unsigned server, asked;
    bool known;
    char *in;
    size_t in_n;
    int64_t last_there, last_back;
    bool ended;
};
enum state { FRESH, TRYING, OPEN };
struct socket {
    struct connection *connection;
    enum state state;
    unsigned number;
    char *in;
    size_t in_n;
    struct sockaddr_in to;
    bool ended;
    int error;
};
struct segment {
    struct connection *connection;
    size_t n;
    bool ends;
    char bytes[];
};

enum faulty wire_faulty;
int64_t wire_good_till;
static unsigned connections, sockets;

bool wire_is_stated(void) { return now_ns < wire_good_till; }

static enum faulty is_faulty(void) { return wire_is_stated() ? WIRE_GOOD : wire_faulty; }

/* ---- the way --------------------------------------------------------------------------- */

static void spoil(int where, const char *how) {
    note("network, host %d: %s", where, how);
    cause_spoilt_try(where, now_ns);
}

/* A world whose network is good has no such events. */
static int64_t happens(int where, const char *kind, enum argument is, int64_t drawn) {
    return is_faulty() ? event_at_segment(where, kind, is, drawn) : -1;
}

static int64_t arrives(int from) {
    struct stream *s = &streams.network;
    const int64_t soon = now_ns + 100000 + up_to(s, 3 * MS);
    int64_t at = soon, late = 0;
    if (is_faulty() && chance(s, LATE))
        late += up_to(s, is_faulty() == WIRE_SHORT ? 2 * SECOND : 5 * SECOND);
    if (is_faulty() == WIRE_STUCK && chance(s, STUCK))
        late += up_to(s, 200 * SECOND);
    if ((late = happens(from, "late", ARGUMENT_SPAN, late ? late : -1)) > 0) {
        at += late;
        spoil(from, "something is late");
    }
    if (host[from].cut_till > at)
        at = host[from].cut_till + up_to(s, 2 * SECOND);
    return at;
}

/* No segment overtakes another one of its connection. */
static int64_t in_order(int64_t at, int64_t *last) {
    *last = at > *last ? at : *last;
    return *last;
}

static struct segment *segment_new(struct connection *c, const char *bytes, size_t n, bool ends) {
    struct segment *g = memory(sizeof *g + n);
    *g = (struct segment){.connection = c, .n = n, .ends = ends};
    memcpy(g->bytes, bytes, n);
    c->refs++;
    return g;
}

static void connection_put(struct connection *c) {
    if (--c->refs == 0) {
        free(c->in);
        free(c);
    }
}

static void segment_free(struct segment *g) {
    connection_put(g->connection);
    free(g);
}

static void append(char **to, size_t *len, const char *bytes, size_t n) {
    *to = realloc(*to, *len + n + 1);
    memcpy(*to + *len, bytes, n);
    *len += n;
}

static uint64_t socket_key(const struct socket *s) { return key_of(s->number, KEY_SOCKET); }

/* ---- back to the client ------------------------------------------------------------------- */

static void arrive_back(void *arg) {
    struct segment *g = arg;
    struct socket *s = g->connection->client;
    if (s == NULL) {
        counts.late += g->n != 0;
    } else if (!s->ended) {
        append(&s->in, &s->in_n, g->bytes, g->n);
        s->ended = g->ends;
        wake_on(socket_key(s), THREADS);
    }
    segment_free(g);
}

static void send_back(struct connection *c, const char *bytes, size_t n, bool ends) {
    at_time(in_order(arrives(c->host) + outage_delays(c->host), &c->last_back), arrive_back,
            segment_new(c, bytes, n, ends));
}

static void end(struct connection *c) {
    c->ended = true;
    send_back(c, "", 0, true);
}

static void answer(struct connection *c, const char *bytes, size_t n) {
    struct stream *s = &streams.network;
    const int64_t half = happens(c->host, "half_answer", ARGUMENT_COUNT,
                                 is_faulty() && chance(s, HALF) ? (int64_t)below(s, n) : -1);
    if (half >= 0) {
        spoil(c->host, "half an answer");
        send_back(c, bytes, (size_t)half < n ? (size_t)half : n, true);
        c->ended = true;
    } else if (happens(c->host, "no_answer", ARGUMENT_COIN,
                       is_faulty() && chance(s, NONE) ? 1 : -1) >= 0) {
        spoil(c->host, "no answer");
        c->ended = true;
    } else {
        send_back(c, bytes, n, false);
    }
}

/* ---- to the server
 * ---------------------------------------------------------------------------- */

/* The length of one whole command at the front of the buffer, or 0. */
static size_t command_take(char *from, size_t n, struct command *c) {
    char *p = from, *end = from + n, *line = n ? memchr(p, '\n', n) : NULL;
    if (line == NULL || *p != '*' || (c->argc = atoi(p + 1)) > WORDS)
        return 0;
    p = line + 1;
    for (int i = 0; i < c->argc; i++) {
        line = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (line == NULL)
            return 0;
        c->len[i] = (size_t)atol(p + 1);
        p = line + 1;
        if (c->len[i] + 2 > (size_t)(end - p))
            return 0;
        c->argv[i] = p;
        p += c->len[i] + 2;
    }
    for (int i = 0; i < c->argc; i++)
        c->argv[i][c->len[i]] = '\0';
    return (size_t)(p - from);
}

static void serve(struct connection *c) {
    static char out[ANSWER];
    char *argv[WORDS];
    size_t len[WORDS], used;
    struct command command = {.server = c->server,
                              .host = c->host,
                              .generator = c->generator,
                              .argv = argv,
                              .len = len,
                              .asked = &c->asked,
                              .known = &c->known};
    while (!c->ended && (used = command_take(c->in, c->in_n, &command)) != 0) {
        command.listened = c->client != NULL;
        answer(c, out, server_answer(&command, out, sizeof out));
        if (!c->ended && strcmp(argv[0], "QUIT") == 0)
            end(c);
        memmove(c->in, c->in + used, c->in_n -= used);
    }
}

static bool is_down(const struct connection *c) {
    return now_ns < server[c->server].down_till || now_ns < host[c->host].refused_till;
}

static bool is_gone(const struct connection *c) {
    return is_down(c) || c->number < server[c->server].first_connection ||
           c->number < host[c->host].first_connection;
}

static void arrive_there(void *arg) {
    struct segment *g = arg;
    struct connection *c = g->connection;
    if (outage_holds(c->host, g->bytes, g->n)) {
        at_time(host[c->host].cut_till, arrive_there, g);
        return;
    }
    if (!c->ended && is_gone(c)) {
        end(c);
    } else if (now_ns < server[c->server].silent_till) {
        c->ended = true;
    } else if (!c->ended) {
        append(&c->in, &c->in_n, g->bytes, g->n);
        serve(c);
    }
    segment_free(g);
}

unsigned connections_made(void) { return connections; }

/* ---- sockets
 * -------------------------------------------------------------------------------------- */

static struct socket *socket_new(void) {
    struct socket *s = memory(sizeof *s);
    s->number = ++sockets;
    return s;
}

struct socket *socket_ended(void) {
    struct socket *s = socket_new();
    s->state = OPEN;
    s->ended = true;
    return s;
}

static void leave(struct socket *s) {
    if (s->connection) {
        s->connection->client = NULL;
        connection_put(s->connection);
    }
    s->connection = NULL;
}

void socket_free(struct socket *s) {
    leave(s);
    free(s->in);
    free(s);
}

IMPORT(int, socket, int family, int type, int protocol) {
    (void)family, (void)type, (void)protocol;
    point(500);
    return descriptor_of_socket(socket_new());
}

static void connected(void *arg) {
    struct connection *c = arg;
    struct socket *s = c->client;
    if (s) {
        if (is_down(c))
            s->error = ECONNREFUSED;
        s->state = OPEN;
        wake_on(socket_key(s), THREADS);
    }
    connection_put(c);
}

/* The last number of the address says which server it is; where the servers are split, hosts reach
 * different ones there. */
static unsigned server_at(const struct sockaddr_in *to) {
    const unsigned which = (ntohl(to->sin_addr.s_addr) & 0xff) - 1;
    return which == 0 ? here()->server : which;
}

/* Of one generator of a process. */
static void note_ask(const struct socket *s) {
    step_asks();
    if (s == NULL || s->connection == NULL || !is_silent_one(s->connection->server))
        check_asks();
}

IMPORT(int, connect, int fd, const struct sockaddr *to, socklen_t n) {
    point(500);
    struct socket *s = socket_of(fd);
    if (s == NULL || n < sizeof s->to)
        broken("connect without a socket");
    memcpy(&s->to, to, sizeof s->to);
    s->state = TRYING;
    s->connection = memory(sizeof *s->connection);
    *s->connection = (struct connection){.refs = 2,
                                         .number = ++connections,
                                         .client = s,
                                         .host = me->process->host,
                                         .server = server_at(&s->to)};
    s->connection->generator = (uint64_t)me->process->born << 32 | me->process->opens;
    if (s->connection->server >= servers)
        broken("there is no such server");
    note_ask(s);
    at_time(arrives(me->process->host), connected, s->connection);
    errno = EINPROGRESS;
    return -1;
}

IMPORT(int, getsockopt, int fd, int level, int what, void *value, socklen_t *n) {
    (void)level, (void)what, (void)n;
    struct socket *s = socket_of(fd);
    memcpy(value, &s->error, sizeof s->error);
    s->error = 0; /* it is told once */
    return 0;
}

IMPORT(int, setsockopt, int fd, int level, int what, const void *value, socklen_t n) {
    (void)level, (void)what, (void)value, (void)n;
    return socket_of(fd) ? 0 : -1;
}

IMPORT(int, getsockname, int fd, struct sockaddr *to, socklen_t *n) {
    const struct socket *s = socket_of(fd);
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = (in_port_t)(s->connection ? s->connection->number : 1)};
    memcpy(to, &at, sizeof at);
    *n = sizeof at;
    return 0;
}

IMPORT(int, getpeername, int fd, struct sockaddr *to, socklen_t *n) {
    const struct socket *s = socket_of(fd);
    memcpy(to, &s->to, sizeof s->to);
    *n = sizeof s->to;
    return 0;
}

/* For all that have a descriptor of it. */
IMPORT(int, shutdown, int fd, int how) {
    struct socket *s = socket_of(fd);
    if (how != SHUT_RDWR)
        broken("to shut down half of a socket is not simulated");
    if (s == NULL)
        return -1;
    leave(s);
    s->ended = true;
    wake_on(socket_key(s), THREADS);
    return 0;
}

IMPORT(ssize_t, send, int fd, const void *bytes, size_t n, int flags) {
    (void)flags;
    point(1000);
    struct socket *s = socket_of(fd);
    note_ask(s);
    if (s == NULL || (s->state != OPEN && !s->ended)) {
        errno = ENOTCONN;
        return -1;
    }
    if (s->connection == NULL) { /* one that only the server has ended takes what nobody reads */
        errno = EPIPE;
        return -1;
    }
    at_time(in_order(arrives(me->process->host), &s->connection->last_there), arrive_there,
            segment_new(s->connection, bytes, n, false));
    return (ssize_t)n;
}

IMPORT(ssize_t, recv, int fd, void *to, size_t n, int flags) {
    (void)flags;
    point(500);
    struct socket *s = socket_of(fd);
    if (s == NULL)
        return -1;
    if (s->in_n == 0 && !s->ended) {
        errno = EAGAIN;
        return -1;
    }
    if (n > s->in_n)
        n = s->in_n;
    if (is_faulty() && n > 1 && chance(&streams.network, PIECES))
        n = 1 + below(&streams.network, n - 1);
    if (n == 0)
        return 0;
    memcpy(to, s->in, n);
    memmove(s->in, s->in + n, s->in_n -= n);
    return (ssize_t)n;
}

/* ---- poll
 * ---------------------------------------------------------------------------------------------- */

static short ready(const struct socket *s, short want) {
    short r = 0;
    if ((want & POLLOUT) && s->state == OPEN)
        r |= POLLOUT;
    if ((want & POLLIN) && (s->in_n || s->ended))
        r |= POLLIN;
    if ((want & POLLRDHUP) && s->ended)
        r |= POLLRDHUP;
    if (s->error)
        r |= POLLERR | POLLHUP;
    if (s->ended && s->connection == NULL)
        r |= POLLHUP;
    return r;
}

static int look(struct pollfd *p, nfds_t n) {
    int found = 0;
    for (nfds_t i = 0; i < n; i++) {
        const struct socket *s = socket_of(p[i].fd);
        p[i].revents = s ? ready(s, p[i].events) : POLLNVAL;
        found += p[i].revents != 0;
    }
    return found;
}

/* One socket wakes its thread. Of several only the first does, so the thread looks at the others
 * every few milliseconds. */
IMPORT(int, poll, struct pollfd *p, nfds_t n, int timeout) {
    point(500);
    const int64_t till = timeout < 0 ? FOREVER : now_ns + timeout * MS;
    for (;;) {
        const int found = look(p, n);
        if (found || now_ns >= till)
            return found;
        const struct socket *s = n ? socket_of(p[0].fd) : NULL;
        const bool looks = n > 1 && till > now_ns + 5 * MS;
        wait_on(s ? socket_key(s) : 0, looks ? now_ns + 5 * MS : till);
    }
}
