/* SPDX-License-Identifier: MIT */
/**
 * redis.h - private servers for a test: the installed Redis and Valkey.
 *
 *     struct redis r;
 *     redis_start(&r, "redis-server", "one", 0, NULL);
 *     reply_free(redis_ask(&r, "SET", "a", "b", NULL));
 *     redis_kill(&r);
 *
 * Each has a directory below socket_dir() and listens on a unix socket there.
 * With REDIS_PORT it also listens on a free port of the loopback interface. It
 * saves nothing unless asked, and ends with the test, however that ends. If a
 * server fails, the whole test fails and prints the end of the server's log.
 *
 * Start servers from the main thread: they end with the thread that did.
 */
#ifndef SFID_TESTS_REDIS_H
#define SFID_TESTS_REDIS_H

#include "support/resp.h"
#include "support/shim.h"
#include "support/tap.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    REDIS_PORT = 1,    /* also listens on a port; replicas need one */
    REDIS_CLOCK = 2,   /* its wall clock can be set */
    REDIS_LOADING = 4, /* a server that is loading counts as up */
    /* watches others and records in its directory what it learns; needs REDIS_PORT */
    REDIS_SENTINEL = 8,
    REDIS_ARGS = 16
};

/*
 * How long to wait for servers that have to agree: a sentinel that was late by seconds does nothing
 * for half a minute, and an election that nobody wins is repeated.
 */
enum { STACK_WAIT_MS = 4 * TAP_WAIT_MS };

struct redis {
    const char *program;
    pid_t pid; /* 0: not running */
    int port;  /* 0: none */
    unsigned flags;
    char dir[96], socket[108];
    char args[REDIS_ARGS][64]; /* further ones from the start */
    struct resp *conn;
    struct shim_control *clock; /* with REDIS_CLOCK */
};

/**
 * Returns the servers to test against, up to a NULL: those in $SFID_TEST_SERVERS (names or paths,
 * separated by spaces), or redis-server and valkey-server.
 */
const char *const *redis_programs(void);
bool redis_installed(const char *program);

/** Returns how many of them are installed; skips the others. */
size_t redis_installed_ones(const char *found[], size_t room);

/** Starts a server and waits until it answers. Further arguments ("--maxmemory", "2mb", …, NULL) go
 * to its command line. */
void redis_start(struct redis *r, const char *program, const char *name, unsigned flags, ...)
    __attribute__((sentinel));
void redis_start_n(struct redis *r, const char *program, const char *name, unsigned flags, size_t n,
                   const char *const *args);

/** Returns a free port of the loopback interface. The one 10000 higher, for a cluster's bus, is a
 * valid port, too. */
int redis_free_port(void);

/** Returns its port as text, for commands. Valid until the fourth call after this one. */
const char *redis_port_text(const struct redis *r);

/** Kills the server. What it saved stays in its directory. */
void redis_kill(struct redis *r);

/** Starts the server again with the same directory, socket, port and clock; with its last save
 * (redis_ask "SAVE"), or empty. */
void redis_restart(struct redis *r, bool empty);

/** Sends SIGSTOP and SIGCONT. */
void redis_pause(struct redis *r);
void redis_resume(struct redis *r);

/** Makes it a replica that has all its master has, or a master. Both need ports. */
void redis_replicate(struct redis *r, const struct redis *master);
void redis_promote(struct redis *r);

/** Resumes a paused replica, and promotes it before its master can reach it. */
void redis_resume_promoted(struct redis *r);

/** Stops the clock at a moment; or lets it run, this far ahead of the real one. */
void redis_clock_fix(struct redis *r, int64_t unix_ms);
void redis_clock_offset(struct redis *r, int64_t ms);

/** Returns whether a replica has all that its master has. */
bool redis_in_step(struct redis *r, struct redis *master);

/** Sends a command, which ends with NULL, on the server's connection. Ends the test if there is no
 * reply within TAP_WAIT_MS. */
struct reply *redis_ask(struct redis *r, const char *arg, ...) __attribute__((sentinel));
struct reply *redis_ask_n(struct redis *r, size_t n, const char *const *args, const size_t *sizes);

/** As redis_ask(), for replies that are OK or a number; others end the test. Returns the number, 0
 * for OK. */
int64_t redis_do(struct redis *r, const char *arg, ...) __attribute__((sentinel));

/** As redis_ask(), but returns the reply as one line (reply_line()), valid until the next call. */
const char *redis_text(struct redis *r, const char *arg, ...) __attribute__((sentinel));
const char *redis_text_n(struct redis *r, size_t n, const char *const *args, const size_t *sizes);

/** Copies a field of an INFO section, up to the end of its line. Returns value. */
char *redis_info(struct redis *r, const char *section, const char *field, char *value, size_t size);

#endif
