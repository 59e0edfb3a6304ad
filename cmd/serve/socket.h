/* SPDX-License-Identifier: MIT */
/* socket.h - a connection's socket. */
#ifndef CMD_SERVE_SOCKET_H
#define CMD_SERVE_SOCKET_H

#include "serve/answer.h"
#include "serve/queue.h"

#include <uv.h>

/* Until its client has all that was sent, a connection is in QUEUE_UNREAD as well. */
struct connection {
    struct place place, unread;
    uv_poll_t poll;
    struct client client;
    char *in;
    uint32_t in_len, used;
    uint64_t since;    /* when the current request's first byte came */
    int64_t sent, got; /* bytes: to the kernel; of these the client's host had at the last look */
    uint64_t got_at;
    int fd, events; /* what poll waits for */
    bool eof, waited;
    /* poll is in the loop; a client that sends at once and closes never comes that far */
    bool polled;
};

void sockets_begin(uv_loop_t *loop, uv_poll_cb on_events, void (*on_empty)(void));
struct connection *connection_of(struct place *place);
bool connection_has_job(const struct connection *c);
void connection_drop(struct connection *c);

/* The same, before the client has all. */
void connection_cut(struct connection *c);

/* Does so much wait to be sent that no further request is taken? */
bool connection_is_full(const struct connection *c);

/* Tells the loop what to wait for. The last call on a connection, which it may close. */
void connection_watch(struct connection *c);

/* Sends what may be sent. Returns false if the client is gone. */
bool connection_flush(struct connection *c);

/* Is there anything that the client's host has not got? */
bool connection_has_unread(const struct connection *c);

/* Cuts a client that has taken no byte for --request-ms, whatever it has asked for besides. */
void connection_look(struct connection *c);

#endif
