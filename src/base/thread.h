/* SPDX-License-Identifier: MIT */
/* thread.h - makes the library's background threads. */
#ifndef SFID_BASE_THREAD_H
#define SFID_BASE_THREAD_H

#include <pthread.h>

/* Makes a thread with a small stack, and all signals blocked. 0 or an errno. */
int sfid__thread_start(pthread_t *thread, void *(*main)(void *), void *arg);

#endif
