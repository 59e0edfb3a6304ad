/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/compiler.h"

#include <limits.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

/* The user's callbacks and modules of the system's resolver run on it. Pages that nobody touches
 * cost nothing. */
#define STACK_BYTES (256 * 1024)
#define TLS_SPARE (16 * 1024) /* the C library's own part, and what it loads later */

/* Of all modules that the program began with, counted before main(). What is loaded later has its
 * own outside of stacks. */
static size_t tls_bytes;

static int add_tls(struct dl_phdr_info *module, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_TLS)
            tls_bytes += module->dlpi_phdr[i].p_memsz + module->dlpi_phdr[i].p_align;
    return 0;
}

/*
 * The C library takes thread-local storage out of a thread's stack. It is counted when this library
 * is loaded, not when a thread starts: the look takes the loader's lock, which in a child of fork()
 * stays held for ever if another thread had it.
 */
__attribute__((constructor)) static void count_tls(void) { dl_iterate_phdr(add_tls, NULL); }

static size_t stack_bytes(void) {
    return SFID__MAX(STACK_BYTES + TLS_SPARE + tls_bytes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
}

int sfid__thread_start(pthread_t *thread, void *(*main)(void *), void *arg) {
    pthread_attr_t attr;
    pthread_t own;
    sigset_t all, before;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return rc;
    pthread_attr_setstacksize(&attr, stack_bytes());
    pthread_attr_setdetachstate(&attr, thread ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the thread inherits the mask: no signal of the program arrives there */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread ? thread : &own, &attr, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

static _Thread_local struct {
    void (*call)(void *);
    void *arg;
} owner;

void sfid__thread_on_hang(void (*call)(void *), void *arg) {
    owner.call = call;
    owner.arg = arg;
}

void sfid__thread_hangs(void) {
    if (owner.call)
        owner.call(owner.arg);
}
