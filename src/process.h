/* SPDX-License-Identifier: MIT */
/*
 * process.h - which process this is, told by memory that fork() wipes.
 *
 * getpid() will not do: a forked child can have its parent's number (in
 * another PID namespace, or when numbers come round), and would take over its
 * parent's threads and counts.
 */
#ifndef SFID_PROCESS_H
#define SFID_PROCESS_H

#include "compiler.h"

#define SFID__PROCESS_BITS 40

/* A number that this process keeps and no relative of it has; never 0. Async-signal-safe. */
uint64_t sfid__process(void);

#endif
