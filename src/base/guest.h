/* SPDX-License-Identifier: MIT */
/*
 * guest.h - how a call behaves in a thread of its host program.
 *
 * A call that writes files, starts a thread or talks to a server does so
 * between enter and leave. In between:
 *
 * - The thread cannot be cancelled. pthread_cancel() takes effect at the host's
 *   next cancellation point, and no lock or descriptor is left behind.
 * - SIGXFSZ (RLIMIT_FSIZE) and SIGPIPE are blocked. A write fails, and
 *   leaving takes back the signal that the call caused.
 */
#ifndef SFID_BASE_GUEST_H
#define SFID_BASE_GUEST_H

#include "base/compiler.h"

#include <signal.h>

enum { SFID__GUEST_SIGNALS = 2 };

struct sfid__guest {
    sigset_t before; /* the thread's mask */
    bool pending[SFID__GUEST_SIGNALS];
    int cancel; /* the thread's cancelability */
};

void sfid__guest_enter(struct sfid__guest *guest);
void sfid__guest_leave(const struct sfid__guest *guest);

#endif
