/* SPDX-License-Identifier: MIT */
/*
 * process.h - which process this is.
 *
 * A number is mixed from three things, each of which tells a forked child from
 * its parent where another does not: memory that the kernel wipes on fork
 * (user-mode emulation may only say that it does), the process ID (a child can
 * have its parent's in another PID namespace, or when numbers come round), and
 * a random number that a handler of fork() draws (clone(2) calls none).
 */
#ifndef SFID_BASE_PROCESS_H
#define SFID_BASE_PROCESS_H

#include "base/compiler.h"

#define SFID__PROCESS_BITS 40

/* A number that this process keeps and no relative of it has; never 0. Async-signal-safe. */
uint64_t sfid__process(void);

/* Before the first fork that matters: fork() makes a difference from now on. */
void sfid__process_prepare(void);

/* Has private memory zeroed in forked children. False where it would not be, also where the system only says so. */
bool sfid__process_wipes(void *at, size_t size);

#endif
