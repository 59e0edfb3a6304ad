/* SPDX-License-Identifier: MIT */
/*
 * process.h - which process this is.
 *
 * sfid__process() mixes three things. Each tells a forked child from its parent
 * in a case where another may not:
 *
 * - memory that the kernel wipes on fork (user-mode emulation may only claim to);
 * - the process ID (a child can have its parent's in another PID namespace, or
 *   when process IDs wrap around);
 * - a random value from a handler of fork() (clone(2) calls no handler).
 */
#ifndef SFID_BASE_PROCESS_H
#define SFID_BASE_PROCESS_H

#include "base/compiler.h"

#define SFID__PROCESS_BITS 40

/* A value that this process keeps and no relative of it shares; never 0. Async-signal-safe. */
uint64_t sfid__process(void);

/*
 * Memory of this process alone, for a secret: 0 at first, and in no core dump. A forked child finds
 * it zeroed. Where the kernel wipes no memory, a child of fork() finds the first word zeroed, an
 * _Atomic uint64_t, and a child of clone(2) finds a copy. NULL: there is no memory.
 * Async-signal-safe.
 */
#define SFID__PROCESS_ROOM 256
void *sfid__process_room(void);

/* Installs the fork handler. Call it before the first fork that matters. */
void sfid__process_prepare(void);

/* Asks the kernel to zero private memory in forked children. False if it will not, or if the system
 * only claims to. */
bool sfid__process_wipes(void *at, size_t size);

#endif
