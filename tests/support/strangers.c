/* SPDX-License-Identifier: MIT */
#include "support/strangers.h"

void serve_words(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    while (next_command(in, fd, s, name, sizeof name))
        say(fd, s->send, s->send_len);
}

void serve_words_at_once(int fd, struct resp *in, struct peer_shared *s) {
    (void)in;
    say(fd, s->send, s->send_len);
    wait_for_end(fd);
}

void serve_drip(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    say_text(fd, "$250\r\n");
    do
        nap_us(1000000);
    while (say_text(fd, "x"));
}

void serve_nothing(int fd, struct resp *in, struct peer_shared *s) {
    (void)in, (void)s;
    wait_for_end(fd);
}

void serve_words_once(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    if (atomic_load(&s->commands) == 1)
        say(fd, s->send, s->send_len);
    wait_for_end(fd);
}

void serve_end(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    (void)fd;
    next_command(in, fd, s, name, sizeof name);
}

void serve_reset(int fd, struct resp *in, struct peer_shared *s) {
    const struct linger reset = {1, 0};
    serve_end(fd, in, s);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

void serve_nested(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    next_command(in, fd, s, name, sizeof name);
    for (int i = 0; i < 1000000 && say_text(fd, "*1\r\n"); i++)
        ;
    wait_for_end(fd);
}
