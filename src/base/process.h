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

/* Installs the fork handler. Call it before the first fork that matters. */
void sfid__process_prepare(void);

/* Asks the kernel to zero private memory in forked children. False if it will not, or if the system only claims to. */
bool sfid__process_wipes(void *at, size_t size);

#endif
