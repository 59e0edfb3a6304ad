/* SPDX-License-Identifier: MIT */
/*
 * connection.c - connections, their requests and deadlines.
 *
 * A connection is always in one queue, by what it waits for. An idle one has no
 * buffer. Bytes of a request that is not complete, or not yet answered, are kept
 * in `in`; `used` of them belong to the request whose job is under way.
 */
#include "serve/connection.h"

#include "io/say.h"
#include "serve/answer.h"
#include "serve/frame_serve.h"
#include "serve/http_serve.h"
#include "serve/log.h"
#include "serve/queue.h"
#include "serve/request.h"
#include "serve/settings.h"
#include "serve/socket.h"
#include "serve/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    /* the most bytes that are read and not yet answered: longer than any request */
    IN_ROOM = 9 * 1024,
    LINGER_MS = 1000, /* how long a rejected client may go on sending */
    /* at the stop: how long after it was accepted a client may begin its first request */
    NEW_MS = 1000,
    RETRY_MOST_MS = 50, /* how often waiters try again at least */
    MEMORY_RETRY_MS = 5 /* the same, of those that wait for memory */
};

static struct {
    uv_timer_t retry;
    uv_idle_t turns;
    uint64_t id;
    bool dry; /* there are no IDs for now: new requests join the waiters */
    void (*on_empty)(void);
    char room[IN_ROOM];
} all;

/* ---- requests ------------------------------------------------------------------------ */

static size_t serve_one(struct connection *c, const char *bytes, size_t len) {
    struct client *client = &c->client;
    if (client->protocol == PROTOCOL_NONE) {
        client->protocol = protocol_of(bytes[0]);
        if (client->protocol == PROTOCOL_NONE || !(settings.protocols & 1U << client->protocol)) {
            state.rejected[REJECTED_PROTOCOL]++;
            client->closing = client->linger = true;
            return len;
        }
    }
    return client->protocol == PROTOCOL_HTTP   ? http_serve(client, bytes, len)
           : client->protocol == PROTOCOL_RESP ? resp_serve(client, bytes, len)
                                               : flakeid_serve(client, bytes, len);
}

/* A request has its answer, or none. */
static void answered(struct connection *c, const char *bytes, size_t used) {
    const struct client *client = &c->client;
    c->since = queues_now();
    if (state.stopping)
        c->client.closing = c->client.linger = true; /* further requests may be there, unread */
    if (!settings.access_log || client->protocol == PROTOCOL_NONE)
        return;
    const char *end = client->protocol == PROTOCOL_HTTP ? memchr(bytes, '\r', used) : NULL;
    log_access("%s %" PRIu64 " %s %d", protocol_names[client->protocol], client->id,
               quote(bytes, end ? (size_t)(end - bytes) : used).text, client->status);
}

/* Keeps bytes that are not answered yet. They may be part of c->in. */
static void keep_rest(struct connection *c, const char *bytes, size_t len) {
    char *in = NULL;
    if (len > 0) {
        in = malloc(len);
        if (in == NULL) {
            say("out of memory for %zu bytes of a request", len);
            exit(STATUS_INTERNAL);
        }
        memcpy(in, bytes, len);
    }
    free(c->in);
    c->in = in;
    c->in_len = (uint32_t)len;
}

static void on_retry(uv_timer_t *timer);
static void on_turn(uv_idle_t *idle);

static void retry_in(uint64_t ms) {
    if (!uv_is_active((uv_handle_t *)&all.retry))
        uv_timer_start(&all.retry, on_retry, ms, 0);
}

static uint64_t retry_ms(void) {
    const int ms = source_retry_ms();
    return ms < 1 ? 1 : ms > RETRY_MOST_MS ? RETRY_MOST_MS : (uint64_t)ms;
}

/* The job goes on later, from the end of a queue. A job that finds no IDs waits behind those in
 * turn, which came before. */
static void park(struct connection *c, enum progress progress) {
    if (progress == PROGRESS_TURN ||
        (c->place.queue != QUEUE_TURN && queue_length(QUEUE_TURN) > 0)) {
        if (c->place.queue != QUEUE_TURN)
            queue_move(&c->place, QUEUE_TURN, DEADLINE_NONE);
        uv_idle_start(&all.turns, on_turn);
        return;
    }
    all.dry = all.dry || progress == PROGRESS_DRY;
    if (c->place.queue == QUEUE_WAIT)
        return; /* it keeps its place */
    if (!c->waited)
        state.waits++;
    c->waited = true;
    queue_move(&c->place, QUEUE_WAIT, queues_now() + settings.wait_ms);
    retry_in(progress == PROGRESS_DRY ? retry_ms() : MEMORY_RETRY_MS);
}

/* Goes on with a job. Returns whether it has ended; else the connection is parked. */
static bool go_on(struct connection *c, bool may_draw, struct slice request) {
    const enum progress progress = may_draw ? answer_go(&c->client) : PROGRESS_DRY;
    if (progress == PROGRESS_LEASE || progress == PROGRESS_CLOCK)
        answer_refuse(&c->client, progress == PROGRESS_LEASE ? REFUSED_LEASE : REFUSED_CLOCK,
                      request);
    else if (progress != PROGRESS_DONE && !queue_is_wait(c->place.queue) &&
             !origin_may_wait(c->place.origin))
        answer_refuse(&c->client, REFUSED_CONNECTIONS, request);
    else if (progress != PROGRESS_DONE)
        park(c, progress);
    return !connection_has_job(c);
}

/* Answers the requests among the bytes, and keeps the rest. Returns false if the client is gone. */
static bool take_request(struct connection *c, const char *bytes, size_t len) {
    size_t at = 0;
    bool full = false; /* too much waits to be sent; the rest is taken up when it is */
    while (at < len && !c->client.closing) {
        if (connection_is_full(c) && !connection_flush(c))
            return false;
        full = connection_is_full(c);
        if (full)
            break;
        const size_t used = serve_one(c, bytes + at, len - at);
        if (used == 0)
            break;
        if (connection_has_job(c) && !go_on(c, !all.dry, (struct slice){bytes + at, used})) {
            c->used = (uint32_t)used;
            break;
        }
        answered(c, bytes + at, used);
        at += used;
    }
    keep_rest(c, bytes + at, c->client.closing ? 0 : len - at);
    return full || connection_flush(c);
}

/* ---- between requests ------------------------------------------------------------------ */

/* All answers are sent, and no further request is taken. */
static void finish_request(struct connection *c) {
    if (!c->client.linger || c->eof || shutdown(c->fd, SHUT_WR) < 0) {
        connection_drop(c);
        return;
    }
    /* A close with bytes unread is a reset, and the client would lose the answer. */
    if (c->place.queue != QUEUE_LINGER)
        queue_move(&c->place, QUEUE_LINGER, queues_now() + LINGER_MS);
    connection_watch(c);
}

/* Chooses what to wait for. */
static void settle(struct connection *c) {
    const bool pending = client_pending(&c->client) > 0;
    if (connection_has_job(c)) {
        connection_watch(c);
        return;
    }
    if (c->eof && !pending)
        c->client.closing = true; /* what is left is no whole request */
    if (c->client.closing && !pending) {
        finish_request(c);
        return;
    }
    c->waited = false;
    if (!pending && c->in_len > 0)
        queue_move(&c->place, QUEUE_REQUEST, c->since + settings.request_ms);
    else
        queue_move(&c->place, QUEUE_IDLE, queues_now() + settings.idle_ms);
    connection_watch(c);
}

/* Takes up bytes that were kept, from `skip` on. */
static void resume(struct connection *c, size_t skip) {
    const size_t len = c->in_len - skip;
    memcpy(all.room, c->in ? c->in + skip : all.room, len);
    c->used = 0;
    if (take_request(c, all.room, len))
        settle(c);
    else
        connection_drop(c);
}

/* The job of a parked connection has ended. */
static void unpark(struct connection *c) {
    answered(c, c->in, c->used);
    queue_leave(&c->place);
    resume(c, c->used);
}

static struct slice request_of(const struct connection *c) {
    return (struct slice){c->in, c->used};
}

static void refuse_request(struct connection *c, enum refusal why) {
    answer_refuse(&c->client, why, request_of(c));
    unpark(c);
}

/* ---- waiters -------------------------------------------------------------------------- */

/* Drops a waiter whose client has reset the connection: it is not read meanwhile, and would be
 * given IDs. */
static bool drop_gone(struct connection *c) {
    if (recv(c->fd, all.room, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno == EAGAIN || errno == EINTR)
        return false;
    connection_drop(c);
    return true;
}

/*
 * The first of those with large requests draws some IDs; then others' events
 * have their turn. If all drew by turns, none would have its answer in time when
 * IDs are short, and what they drew would be thrown away.
 */
static void on_turn(uv_idle_t *idle) {
    struct place *place = queue_first(QUEUE_TURN);
    struct connection *c = place ? connection_of(place) : NULL;
    if (c && !drop_gone(c) && go_on(c, !all.dry, request_of(c)))
        unpark(c);
    if (queue_length(QUEUE_TURN) == 0)
        uv_idle_stop(idle);
}

/*
 * The first waiter draws until it has all, or there are none. One that waits for
 * memory is passed over. While this goes on, requests that follow join the end.
 */
static void on_retry(uv_timer_t *timer) {
    struct place *next;
    size_t passed_over = 0;
    (void)timer;
    all.dry = true;
    for (struct place *place = queue_first(QUEUE_WAIT); place; place = next) {
        struct connection *c = connection_of(place);
        next = queue_next(place);
        if (drop_gone(c))
            continue;
        const enum progress progress = answer_go(&c->client);
        if (progress == PROGRESS_TURN || progress == PROGRESS_DRY) {
            retry_in(progress == PROGRESS_TURN ? 0 : retry_ms());
            return;
        }
        if (progress == PROGRESS_DONE)
            unpark(c);
        else if (progress == PROGRESS_MEMORY)
            passed_over++;
        else
            refuse_request(c, progress == PROGRESS_LEASE ? REFUSED_LEASE : REFUSED_CLOCK);
    }
    all.dry = false;
    if (queue_length(QUEUE_WAIT) > 0)
        uv_timer_start(&all.retry, on_retry,
                       queue_length(QUEUE_WAIT) > passed_over ? 0 : MEMORY_RETRY_MS, 0);
}

static void on_deadline(struct place *place) {
    struct connection *c = connection_of(place);
    if (place->queue == QUEUE_UNREAD) {
        connection_look(c);
    } else if (place->queue == QUEUE_WAIT) {
        refuse_request(c, c->client.job.begun || all.dry ? REFUSED_AGAIN : REFUSED_MEMORY);
    } else if (place->queue == QUEUE_IDLE && connection_has_unread(c)) {
        /* not idle: connection_look() watches it */
        queue_move(place, QUEUE_IDLE, queues_now() + settings.idle_ms);
    } else {
        state.rejected[REJECTED_TIMEOUT] += place->queue == QUEUE_REQUEST;
        connection_drop(c);
    }
}

/* ---- events ----------------------------------------------------------------------------- */

/* A rejected client may go on sending for a while; none of it counts. */
static void discard(struct connection *c) {
    const ssize_t n = recv(c->fd, all.room, sizeof all.room, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        connection_drop(c);
}

/* Returns false if the client is gone. */
static bool receive(struct connection *c) {
    const size_t kept = c->in_len;
    if (kept == sizeof all.room)
        return true; /* what is there comes first */
    if (kept > 0)
        memcpy(all.room, c->in, kept);
    const ssize_t n = recv(c->fd, all.room + kept, sizeof all.room - kept, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0) {
        c->eof = true;
        return true;
    }
    if (kept == 0)
        c->since = queues_now();
    return take_request(c, all.room, kept + (size_t)n);
}

static void on_events(uv_poll_t *poll, int status, int events) {
    struct connection *c = poll->data;
    if (status < 0) {
        connection_drop(c);
        return;
    }
    if (c->place.queue == QUEUE_LINGER) {
        discard(c);
        return;
    }
    if (((events & UV_WRITABLE) && !connection_flush(c)) ||
        ((events & UV_READABLE) && !receive(c))) {
        connection_drop(c);
        return;
    }
    if (!(events & UV_READABLE) && c->in_len > 0 && !connection_has_job(c) && !c->client.closing)
        resume(c, 0); /* answers were sent, so there is room for more */
    else
        settle(c);
}

/* ---- all --------------------------------------------------------------------------------- */

/* Closes the longest idle connection; one whose request has come meanwhile is none. Returns false
 * if all wait for IDs. */
static bool make_room(const struct origin *origin) {
    for (struct place *place; (place = queue_longest_idle(origin)) != NULL;) {
        struct connection *c = connection_of(place);
        const uint64_t open = state.connections;
        int n = 0;
        const bool looks = place->queue != QUEUE_LINGER && client_pending(&c->client) == 0 &&
                           ioctl(c->fd, FIONREAD, &n) == 0;
        if (looks && n > 0 && receive(c))
            settle(c);
        else
            connection_cut(c);
        if (state.connections < open)
            return true;
    }
    return false;
}

/* Returns whether there is a place for a new connection, which its origin has counted already. */
static bool has_room(const struct origin *origin, const struct listen_address *from) {
    const bool crowd = origin && origin->open > settings.max_per_address &&
                       settings.max_per_address < settings.max_connections;
    char name[ADDRESS_ROOM];
    if (!crowd && state.connections < settings.max_connections)
        return true;
    state.rejected[crowd ? REJECTED_ADDRESS : REJECTED_CONNECTIONS]++;
    if (crowd) {
        listen_address_show(from, name);
        log_line(
            LOG_WARNING,
            "%s is one more than --max-per-address %u: the longest idle connection of its address is closed",
            name, (unsigned)settings.max_per_address);
    } else {
        log_line(LOG_WARNING, "over --max-connections %u: the longest idle one is closed",
                 (unsigned)settings.max_connections);
    }
    return make_room(crowd ? origin : NULL);
}

void connection_open(int fd, const struct listen_address *from, bool local) {
    struct origin *origin = origin_enter(from);
    const bool room = has_room(origin, from);
    struct connection *c = room ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        if (room)
            log_line(LOG_WARNING, "a connection was closed: out of memory");
        origin_leave(origin);
        close(fd);
        return;
    }
    c->fd = fd;
    c->place.queue = c->unread.queue = QUEUES;
    c->place.origin = origin;
    c->client.protocol = PROTOCOL_NONE;
    c->client.local = local;
    c->client.id = ++all.id;
    c->poll.data = c;
    state.connections++;
    queue_move(&c->place, QUEUE_IDLE, queues_now() + settings.idle_ms);
    if (receive(c)) /* the request is often there already */
        settle(c);
    else
        connection_drop(c);
}

void connections_begin(uv_loop_t *loop, void (*on_empty)(void)) {
    all.on_empty = on_empty;
    queues_begin(loop, on_deadline);
    sockets_begin(loop, on_events, on_empty);
    uv_timer_init(loop, &all.retry);
    uv_idle_init(loop, &all.turns);
}

/*
 * An idle connection is read once more before it is closed: a request may have come.
 * A client that has just connected is about to send one.
 */
static void finish_idle(struct connection *c) {
    const uint64_t until =
        c->place.deadline - (settings.idle_ms > NEW_MS ? settings.idle_ms - NEW_MS : 0);
    if (client_pending(&c->client) > 0)
        c->client.closing = c->client.linger = c->client.closing || c->in_len == 0;
    else if (!receive(c))
        connection_drop(c);
    else if (c->place.queue != QUEUE_IDLE || c->in_len > 0 || connection_has_job(c) ||
             client_pending(&c->client) > 0 || c->eof)
        settle(c);
    else if (c->client.protocol != PROTOCOL_NONE || until <= queues_now())
        connection_drop(c);
    else if (until < c->place.deadline)
        queue_move(&c->place, QUEUE_IDLE, until);
}

void connections_finish(void) {
    for (size_t n = queue_length(QUEUE_WAIT); n > 0; n--)
        refuse_request(connection_of(queue_first(QUEUE_WAIT)), REFUSED_STOPPING);
    for (struct place *next, *place = queue_first(QUEUE_IDLE); place; place = next) {
        next = queue_next(place);
        finish_idle(connection_of(place));
    }
    if (state.connections == 0)
        all.on_empty();
}

void connections_drop(void) {
    for (enum queue queue = 0; queue < QUEUES; queue++)
        for (struct place *place; (place = queue_first(queue)) != NULL;)
            connection_drop(connection_of(place));
}
