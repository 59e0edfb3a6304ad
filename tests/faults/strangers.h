/* SPDX-License-Identifier: MIT */
/* strangers.h - what servers do that are none. */
#ifndef SFID_TESTS_STRANGERS_H
#define SFID_TESTS_STRANGERS_H

#include "holders.h"
#include "peer.h"

/* What the test has set, as the answer to each command but those of the greeting. */
static inline void serve_words(int fd, FILE *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name))
        say(fd, s->send, s->send_len);
}

/* As an answer to anything. */
static inline void serve_words_at_once(int fd, FILE *in, struct peer_shared *s) {
    (void)in;
    say(fd, s->send, s->send_len);
    wait_for_end(fd);
}

/* A byte each second, of a reply that would take minutes. */
static inline void serve_drip(int fd, FILE *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "$250\r\n");
    do
        nap_us(1000000);
    while (say_text(fd, "x"));
}

static inline void serve_nothing(int fd, FILE *in, struct peer_shared *s) {
    (void)in, (void)s;
    wait_for_end(fd);
}

/* Once; then nothing any more. */
static inline void serve_words_once(int fd, FILE *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    if (atomic_load(&s->commands) == 1)
        say(fd, s->send, s->send_len);
    wait_for_end(fd);
}

static inline void serve_end(int fd, FILE *in, struct peer_shared *s) {
    char name[256];
    (void)fd;
    next_command(in, fd, s, name, sizeof name);
}

static inline void serve_reset(int fd, FILE *in, struct peer_shared *s) {
    const struct linger reset = {1, 0};
    serve_end(fd, in, s);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

/* Arrays nested a million deep. */
static inline void serve_nested(int fd, FILE *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    for (int i = 0; i < 1000000 && say_text(fd, "*1\r\n"); i++)
        ;
    wait_for_end(fd);
}

#endif
