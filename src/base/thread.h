/* SPDX-License-Identifier: MIT */
/* thread.h - makes the library's background threads. */
#ifndef SFID_BASE_THREAD_H
#define SFID_BASE_THREAD_H

#include <pthread.h>

/* Makes a thread with a small stack, and all signals blocked. thread NULL: nobody joins it. 0 or an
 * errno. */
int sfid__thread_start(pthread_t *thread, void *(*main)(void *), void *arg);

/* For a thread that waits for somebody else, before it waits for long. Calls what its owner wants
 * to have called, if anything. */
void sfid__thread_hangs(void);

/* For the owner, in that thread. */
void sfid__thread_on_hang(void (*call)(void *), void *arg);

#endif
