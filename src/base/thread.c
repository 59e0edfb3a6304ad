/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/compiler.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#define STACK_BYTES (256 * 1024) /* the user's callbacks run on it; untouched pages cost nothing */

int sfid__thread_start(pthread_t *thread, void *(*main)(void *), void *arg) {
    pthread_attr_t attr;
    sigset_t all, before;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return rc;
    pthread_attr_setstacksize(&attr, SFID__MAX((size_t)STACK_BYTES, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
    sigfillset(&all); /* the thread inherits the mask: no signal of the program arrives there */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, &attr, main, arg);
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
