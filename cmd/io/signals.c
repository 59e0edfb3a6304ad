/* SPDX-License-Identifier: MIT */
/* signals.c - signals of this process and of programs that it starts. */
#include "io/signals.h"

#include <signal.h>

static void (*broken_pipe)(int) = SIG_DFL; /* the action when this program began */

void signals_begin(void) { broken_pipe = signal(SIGPIPE, SIG_IGN); }

void signals_restore(void) { signal(SIGPIPE, broken_pipe); }
