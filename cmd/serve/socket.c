/* SPDX-License-Identifier: MIT */
/* socket.c - a connection's socket: what the loop waits for, what is sent, and whether it
 * arrives. */
#include "serve/socket.h"

#include "serve/queue.h"
#include "serve/settings.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    PENDING_MOST = 65536, /* with more to send, nothing is read */
    PENDING_LEAST = 4096, /* the same while the memory for answers is used up */
    LOOKS = 4             /* in --request-ms: whether a client takes its answers */
};

static struct {
    uv_loop_t *loop;
    uv_poll_cb on_events;
    void (*on_empty)(void);
} sockets;

void sockets_begin(uv_loop_t *loop, uv_poll_cb on_events, void (*on_empty)(void)) {
    sockets.loop = loop;
    sockets.on_events = on_events;
    sockets.on_empty = on_empty;
}

struct connection *connection_of(struct place *place) {
    const size_t at = place->queue == QUEUE_UNREAD ? offsetof(struct connection, unread)
                                                   : offsetof(struct connection, place);
    return (struct connection *)(void *)((char *)place - at);
}

bool connection_has_job(const struct connection *c) { return c->client.job.answer != ANSWER_NONE; }

static void on_closed(uv_handle_t *handle) { free(handle->data); }

void connection_drop(struct connection *c) {
    queue_leave(&c->place);
    queue_leave(&c->unread);
    origin_leave(c->place.origin);
    if (c->polled)
        uv_poll_stop(&c->poll);
    close(c->fd);
    client_free(&c->client);
    free(c->in);
    state.connections--;
    if (c->polled)
        uv_close((uv_handle_t *)&c->poll, on_closed);
    else
        free(c);
    if (state.connections == 0 && state.stopping)
        sockets.on_empty();
}

bool connection_is_full(const struct connection *c) {
    return client_pending(&c->client) >
           (state.memory > settings.max_memory ? PENDING_LEAST : PENDING_MOST);
}

void connection_watch(struct connection *c) {
    const size_t pending = client_pending(&c->client);
    const bool lingers = c->place.queue == QUEUE_LINGER;
    const bool reads = lingers || (!c->eof && !connection_has_job(c) && !c->client.closing &&
                                   !connection_is_full(c));
    const int events = (reads ? UV_READABLE : 0) | (pending > 0 ? UV_WRITABLE : 0);
    if (events == c->events)
        return;
    if (!c->polled && uv_poll_init(sockets.loop, &c->poll, c->fd) < 0) {
        connection_drop(c);
        return;
    }
    c->polled = true;
    c->events = events;
    if (events)
        uv_poll_start(&c->poll, events, sockets.on_events);
    else
        uv_poll_stop(&c->poll);
}

static uint64_t look_ms(void) {
    return settings.request_ms < LOOKS ? 1 : settings.request_ms / LOOKS;
}

static void look_later(struct connection *c) {
    queue_move(&c->unread, QUEUE_UNREAD, queues_now() + look_ms());
}

/* Returns how many bytes of what was sent the client's host has not; of a Unix socket the kernel
 * says a little more. */
static int on_the_way(const struct connection *c) {
    int n = 0;
    return ioctl(c->fd, SIOCOUTQ, &n) < 0 || n < 0 ? 0 : n;
}

bool connection_has_unread(const struct connection *c) {
    return client_pending(&c->client) > 0 || on_the_way(c) > 0;
}

/*
 * What the kernel has for a client that does not take it would stay there for
 * minutes, were the connection not reset. An answer that was just sent arrives.
 */
void connection_cut(struct connection *c) {
    const struct linger none = {.l_onoff = 1};
    if (connection_has_unread(c) && queues_now() - c->got_at >= look_ms())
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    connection_drop(c);
}

void connection_look(struct connection *c) {
    const int64_t got = c->sent - on_the_way(c);
    if (!connection_has_unread(c)) {
        queue_leave(&c->unread);
        return;
    }
    if (got > c->got) {
        c->got = got;
        c->got_at = queues_now();
    }
    if (queues_now() - c->got_at < settings.request_ms) {
        look_later(c);
        return;
    }
    state.rejected[REJECTED_TIMEOUT]++;
    connection_cut(c);
}

bool connection_flush(struct connection *c) {
    for (size_t pending; (pending = client_pending(&c->client)) > 0;) {
        const ssize_t n = send(c->fd, c->client.out.at + c->client.out.sent, pending,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        client_sent(&c->client, (size_t)n);
        if (c->unread.queue == QUEUES) {
            c->got = c->sent;
            c->got_at = queues_now();
            look_later(c);
        }
        c->sent += n;
    }
    return true;
}
