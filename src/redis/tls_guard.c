/* SPDX-License-Identifier: MIT */
#include "redis/tls_guard.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

/* The door guards all of these. */
static bool begun, works;
static bool ending;     /* exit() was called */
static pthread_t ender; /* by this thread */

/* ---- fork and exit -------------------------------------------------------- */

static void before_fork(void) { pthread_mutex_lock(&door); }

static void after_fork(void) { pthread_mutex_unlock(&door); }

static void set_up_fork(void) { pthread_atfork(before_fork, after_fork, after_fork); }

void sfid__tls_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_fork);
}

/* Registered later than OpenSSL's exit functions, it runs before them. A thread inside leaves
 * first, and no other enters. */
static void at_exit(void) {
    pthread_mutex_lock(&door);
    ending = true;
    ender = pthread_self();
    pthread_mutex_unlock(&door);
}

/* If we use OpenSSL first, it does not clear up at exit(), so a host that closes its generator that
 * late can release its pid. */
static void guard_begin(void) {
    begun = true;
    works = OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1 && atexit(at_exit) == 0;
}

static bool may_enter(void) {
    if (!begun)
        guard_begin();
    if (ending && !pthread_equal(ender, pthread_self()))
        return false;
    /* OpenSSL promises 0 once it has cleared up. */
    return works && (!ending || OPENSSL_init_crypto(0, NULL) == 1);
}

/* ---- errors of the host ---------------------------------------------------- */

static void keep_errors(struct sfid__tls_guard *g) {
    const char *file, *function, *data;
    int line, flags;
    unsigned long code;
    g->errors = 0;
    while (g->errors < SFID__TLS_ERRORS &&
           (code = ERR_get_error_all(&file, &line, &function, &data, &flags)) != 0) {
        struct sfid__tls_error *e = &g->error[g->errors++];
        e->code = code;
        e->line = line;
        snprintf(e->file, sizeof e->file, "%s", file);
        snprintf(e->function, sizeof e->function, "%s", function);
        snprintf(e->data, sizeof e->data, "%s", flags & ERR_TXT_STRING ? data : "");
    }
    ERR_clear_error();
}

static void put_errors_back(const struct sfid__tls_guard *g) {
    ERR_clear_error();
    for (unsigned i = 0; i < g->errors; i++) {
        const struct sfid__tls_error *e = &g->error[i];
        ERR_new();
        ERR_set_debug(e->file, e->line, e->function);
        ERR_set_error(ERR_GET_LIB(e->code), ERR_GET_REASON(e->code), e->data[0] ? "%s" : NULL,
                      e->data);
    }
}

/* ---- signals ---------------------------------------------------------------- */

static void block_signals(struct sfid__tls_guard *g) {
    sigset_t all, pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &g->signals);
    sigemptyset(&pending);
    sigpending(&pending);
    g->pipe_pending = sigismember(&pending, SIGPIPE) == 1;
}

static void unblock_signals(const struct sfid__tls_guard *g) {
    const int errnum = errno;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!g->pipe_pending && sigtimedwait(&pipe, NULL, &(const struct timespec){0, 0}) < 0 &&
           errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
    errno = errnum;
}

/* ---- in and out ------------------------------------------------------------- */

bool sfid__tls_enter(struct sfid__tls_guard *g) {
    block_signals(g);
    pthread_mutex_lock(&door);
    if (!may_enter()) {
        pthread_mutex_unlock(&door);
        unblock_signals(g);
        return false;
    }
    keep_errors(g);
    return true;
}

void sfid__tls_leave(const struct sfid__tls_guard *g) {
    put_errors_back(g);
    pthread_mutex_unlock(&door);
    unblock_signals(g);
}
