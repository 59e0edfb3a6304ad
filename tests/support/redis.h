/* SPDX-License-Identifier: MIT */
/**
 * redis.h - servers of the test's own: Redis and Valkey as installed here.
 *
 *     struct redis r;
 *     redis_start(&r, "redis-server", "one", 0, NULL);
 *     reply_free(redis_ask(&r, "SET", "a", "b", NULL));
 *     redis_kill(&r);
 *
 * Each has a directory below tap_tmpdir(), listens on a unix socket there and,
 * if told to, on a free port of the loopback interface, and saves nothing
 * unless asked to. It ends with the test, however that ends. What goes wrong
 * with a server gives the whole test up, with the end of the server's log.
 *
 * Start servers from the main thread: they end with the thread that started
 * them.
 */
#ifndef SFID_TESTS_REDIS_H
#define SFID_TESTS_REDIS_H

#include "support/resp.h"
#include "support/shim.h"

#include <sys/types.h>

enum {
    REDIS_PORT = 1,     /* listens on a port, too: replicas want one */
    REDIS_CLOCK = 2,    /* its wall clock can be set */
    REDIS_LOADING = 4,  /* up is also one that is loading */
    REDIS_SENTINEL = 8, /* watches others, and notes in its directory what it learns; wants REDIS_PORT */
    REDIS_ARGS = 16
};

struct redis {
    const char *program;
    pid_t pid; /* 0: not running */
    int port;  /* 0: none */
    unsigned flags;
    char dir[96], socket[108];
    char args[REDIS_ARGS][64]; /* further ones, of the start */
    struct resp *conn;
    struct shim_control *clock; /* with REDIS_CLOCK */
};

/**
 * The servers to test against: those of $SFID_TEST_SERVERS (names or paths, spaces between), else redis-server and
 * valkey-server. NULL behind the last.
 */
const char *const *redis_programs(void);
bool redis_installed(const char *program);

/** Those that are there; the others are skipped. Returns how many. */
size_t redis_installed_ones(const char *found[], size_t room);

/** Starts a server and waits until it answers. More arguments ("--maxmemory", "2mb", …, NULL) go to its command line. */
void redis_start(struct redis *r, const char *program, const char *name, unsigned flags, ...) __attribute__((sentinel));
void redis_start_n(struct redis *r, const char *program, const char *name, unsigned flags, size_t n, const char *const *args);

/** A free port of the loopback interface; the one 10000 higher, for a cluster's bus, may be one, too. */
int redis_free_port(void);

/** Its port as text, for commands. Good until the fourth call after this one. */
const char *redis_port_text(const struct redis *r);

/** Ends it by SIGKILL. What it has saved stays in its directory. */
void redis_kill(struct redis *r);

/** Starts it again, same directory, socket, port and clock; with what was saved last (redis_ask "SAVE"), or empty. */
void redis_restart(struct redis *r, bool empty);

/** SIGSTOP and SIGCONT. */
void redis_pause(struct redis *r);
void redis_resume(struct redis *r);

/** Makes it a replica that has all its master has, or a master. Both have to have ports. */
void redis_replicate(struct redis *r, const struct redis *master);
void redis_promote(struct redis *r);

/** Promotes a paused replica as the first thing that it does: its master, where that is alive, does not reach it before. */
void redis_resume_promoted(struct redis *r);

/** Sets the clock to a moment and holds it there; or lets it go on, by so much ahead of the real one. */
void redis_clock_fix(struct redis *r, int64_t unix_ms);
void redis_clock_offset(struct redis *r, int64_t ms);

/** Whether a replica has all that its master has. */
bool redis_in_step(struct redis *r, struct redis *master);

/** Asks on the server's connection, made when there is none. Ends with NULL. Gives up when there is no reply in 10 s. */
struct reply *redis_ask(struct redis *r, const char *arg, ...) __attribute__((sentinel));
struct reply *redis_ask_n(struct redis *r, size_t n, const char *const *args, const size_t *sizes);

/** The same, for a reply that is OK or a number; anything else gives the test up. Returns the number, 0 for OK. */
int64_t redis_do(struct redis *r, const char *arg, ...) __attribute__((sentinel));

/** Of an INFO section, the value of a field: up to the end of its line. Returns value. */
char *redis_info(struct redis *r, const char *section, const char *field, char *value, size_t size);

#endif
