/* SPDX-License-Identifier: MIT */
/*
 * tls_guard.h - the door into OpenSSL, and out again.
 *
 * A guest shares OpenSSL with its host. So every call of OpenSSL lies between
 * entering and leaving. None of them waits for a peer. In between
 *
 * - there is at most one thread of ours, and fork() waits until it has left: a
 *   child finds nothing half done, and no lock of OpenSSL that we hold;
 * - all signals are blocked, so no handler of the host's can fork or exit here;
 *   the SIGPIPE that a write of OpenSSL's raises is taken back;
 * - this thread's queue of OpenSSL errors starts empty, as OpenSSL's answers
 *   require; the host's own errors are put back at the end.
 *
 * Once the process exits OpenSSL may be gone. Then only the thread that called
 * exit() may enter, as long as OpenSSL is there.
 */
#ifndef SFID_REDIS_TLS_GUARD_H
#define SFID_REDIS_TLS_GUARD_H

#include "base/compiler.h"

#include <signal.h>

enum { SFID__TLS_ERRORS = 16 }; /* as many as OpenSSL's queue has */

/* One of the host's errors. */
struct sfid__tls_error {
    unsigned long code;
    int line;
    char file[96], function[64], data[160];
};

struct sfid__tls_guard {
    sigset_t signals; /* the mask before entering */
    bool pipe_pending;
    unsigned errors;
    struct sfid__tls_error error[SFID__TLS_ERRORS];
};

/* Call before the first use, while no other thread forks: registers what fork() has to do. */
void sfid__tls_prepare(void);

/* False if the process is ending or OpenSSL does not work here; then do not leave. */
bool sfid__tls_enter(struct sfid__tls_guard *g);
void sfid__tls_leave(const struct sfid__tls_guard *g);

#endif
