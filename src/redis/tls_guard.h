/* SPDX-License-Identifier: MIT */
/*
 * tls_guard.h - the way into OpenSSL, and out again.
 *
 * A guest shares OpenSSL with its host. Whatever is done with it here, and with
 * what of hiredis calls it, happens between entering and leaving. None of it
 * waits for a peer. In between
 *
 * - there is one thread of ours at most, and a fork waits until it is out: a
 *   child finds nothing half done, and no lock of OpenSSL held by us;
 * - all signals are blocked: no handler of the host's comes in between, which
 *   might fork or exit; and the SIGPIPE that a write of OpenSSL's raises is
 *   taken back;
 * - this thread's queue of OpenSSL errors is empty, which what is asked of it
 *   rests on; the host's own errors are put back at the end.
 *
 * Once the process exits OpenSSL may be gone: then only the thread that ends
 * it is let in, as long as OpenSSL is there.
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
    sigset_t signals; /* the mask before */
    bool pipe_pending;
    unsigned errors;
    struct sfid__tls_error error[SFID__TLS_ERRORS];
};

/* Before the first use, from where no other thread forks yet: sets up what a fork does. */
void sfid__tls_prepare(void);

/* False: the process is ending, or OpenSSL does not work here; then there is nothing to leave. */
bool sfid__tls_enter(struct sfid__tls_guard *g);
void sfid__tls_leave(const struct sfid__tls_guard *g);

#endif
