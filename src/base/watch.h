/* SPDX-License-Identifier: MIT */
/*
 * watch.h - what forked children know of a process's background thread: whether
 * it lives, and how to wake it.
 *
 * A watch is a word that shows whether its thread lives (alive.h), and a bell,
 * on which the thread sleeps. They lie in anonymous memory that the first
 * opening process maps and all its children inherit. A thread has only this one,
 * however many generators it serves.
 *
 * A watch has a name, which no other watch of the family ever has: whoever takes
 * the place of a dead one gives it another. The page of a generator holds the
 * name of the watch that serves it.
 */
#ifndef SFID_BASE_WATCH_H
#define SFID_BASE_WATCH_H

#include "base/compiler.h"

/* The topmost bit of a name is 0: it is the user's. No name is 0. */
#define SFID__WATCH_FLAG (UINT64_C(1) << 63)

/* What a thread that wakes has to look at: one thing, by its number, which is not 0; or all. */
#define SFID__WATCH_ALL UINT32_MAX

/* Maps the memory, unless this process has it. Call it before the first fork that matters. False:
 * out of memory. */
bool sfid__watch_prepare(void);

/* Takes a free watch for this thread. Returns its name; 0 if there is none. */
uint64_t sfid__watch_take(void);

/* For the thread that took it, and that ends now. */
void sfid__watch_leave(uint64_t name);

/* False once another thread has taken this watch. It can while ours lives, if that counted as dead:
 * alive.h. */
bool sfid__watch_is_ours(uint64_t name);

/* True if the thread with this watch lives; briefly also if another one takes its place. From any
 * process of the family. */
bool sfid__watch_lives(uint64_t name);

/* Wakes the thread. Async-signal-safe; keeps errno. */
void sfid__watch_ring(uint64_t name, uint32_t what);

/* Wakes all threads that sleep on the bell. */
void sfid__watch_ring_all(uint64_t name);

/* Silences the bell. Returns what was rung: 0, a number, or ALL. */
uint32_t sfid__watch_hear(uint64_t name);

/* Sleeps until the bell rings, for at most ms. May return early. */
void sfid__watch_sleep(uint64_t name, int64_t ms);

#endif
