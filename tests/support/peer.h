/* SPDX-License-Identifier: MIT */
/*
 * peer.h - a test's own servers that misbehave.
 *
 * A fake server is a forked process, which forks again for each connection.
 * There it runs a function of the test. It ends with the test.
 */
#ifndef SFID_TESTS_PEER_H
#define SFID_TESTS_PEER_H

#include "support/resp.h"
#include "support/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

struct peer_shared {
    _Atomic int accepted, commands, step; /* commands: without those of the greeting */
    _Atomic int greeted_name;             /* CLIENT SETNAME sfid-orders was received */
    char send[1 << 16];                   /* what a peer sends, if the test sets it */
    size_t send_len;
};

struct peer {
    pid_t pid;
    char url[200];
    char path[108];
    int port;
    struct peer_shared *s;
    int listener; /* the parent's, if it keeps it */
};

/* Reads one command. name gets as many of its arguments as fit, 60 characters of each. Returns
 * false at the end. */
bool read_command(struct resp *in, char *name, size_t size);
bool say(int fd, const void *bytes, size_t n);
bool say_text(int fd, const char *text);

/* Answers the greeting, and reads the first other command into name. Returns false at the end. */
bool next_command(struct resp *in, int fd, struct peer_shared *s, char *name, size_t size);

/* Waits until the other side is gone. */
void wait_for_end(int fd);

typedef void serve_function(int fd, struct resp *in, struct peer_shared *s);

int listen_unix(struct peer *p, int backlog);
int listen_tcp(struct peer *p, int backlog);

/* Binds a port of the loopback and does not listen: it refuses, and nobody else gets it while the
 * descriptor is open. */
int bind_tcp(struct peer *p);
struct peer start_peer(bool tcp, serve_function *serve);
void stop_peer(struct peer *p);
void set_words(struct peer *p, const void *bytes, size_t n);

/* Connects until the queue of a listener that accepts nothing is full. Returns the number of
 * connections. */
int fill_backlog(const struct sockaddr *at, socklen_t len, int fds[], int most);

/* ---- behaviours ---------------------------------------------------------- */

/* Answers each command after the greeting with the test's words. */
void serve_words(int fd, struct resp *in, struct peer_shared *s);

/* Answers any command with them. */
void serve_words_at_once(int fd, struct resp *in, struct peer_shared *s);

/* Sends a byte each 100 ms, of a reply that would take half a minute. */
void serve_drip(int fd, struct resp *in, struct peer_shared *s);
void serve_nothing(int fd, struct resp *in, struct peer_shared *s);

/* Answers once, then no more. */
void serve_words_once(int fd, struct resp *in, struct peer_shared *s);
void serve_end(int fd, struct resp *in, struct peer_shared *s);
void serve_reset(int fd, struct resp *in, struct peer_shared *s);

/* Sends arrays nested a million deep. */
void serve_nested(int fd, struct resp *in, struct peer_shared *s);

#endif
