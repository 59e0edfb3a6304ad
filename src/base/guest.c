/* SPDX-License-Identifier: MIT */
#include "base/guest.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int signals[SFID__GUEST_SIGNALS] = {SIGXFSZ, SIGPIPE};

void sfid__guest_enter(struct sfid__guest *guest) {
    sigset_t set, pending;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guest->cancel);
    sigemptyset(&set);
    for (int i = 0; i < SFID__GUEST_SIGNALS; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, &guest->before);
    sigemptyset(&pending);
    sigpending(&pending);
    for (int i = 0; i < SFID__GUEST_SIGNALS; i++)
        guest->pending[i] = sigismember(&pending, signals[i]) == 1;
}

/* Consumes a signal that our call caused. */
static void take_back(int number) {
    static const struct timespec at_once;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR)
        ;
}

void sfid__guest_leave(const struct sfid__guest *guest) {
    const int errnum = errno;
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    /* one that was pending before belongs to the host, and stays pending */
    for (int i = 0; i < SFID__GUEST_SIGNALS; i++)
        if (!guest->pending[i] && sigismember(&pending, signals[i]) == 1)
            take_back(signals[i]);
    pthread_sigmask(SIG_SETMASK, &guest->before, NULL);
    pthread_setcancelstate(guest->cancel, NULL); /* last: sigtimedwait is a cancellation point */
    errno = errnum;
}
