/* SPDX-License-Identifier: MIT */
/*
 * alive.h - a word of shared memory that shows whether a thread lives.
 *
 * The word is 0, or the number of the thread that has it. When that thread dies,
 * however it does, the kernel marks the word, and another one can take it. So
 * the kernel treats robust mutexes, too. But those of the C library are in a
 * list whose links lie in the shared memory, and to unlock one is to write
 * through them. Here the only pointer to the word lies in the thread's own
 * memory. Whoever can write the word can make it lie, and nothing else: a thread
 * that lives counts as dead, so there are two, or one that is dead as alive, so
 * that its place is not taken. Callers are prepared for both.
 *
 *   - A thread has at most one word. It is never in a signal handler.
 *   - fork() does not hand the word on: the kernel forgets the pointer in the
 *     child, and the child's number is another.
 *   - The kernel compares the number with that of the dying thread in its own
 *     PID namespace. Threads of two namespaces can have one number. If one is
 *     killed between the two steps of a take, or of a leave, and the other has
 *     the word by then, that one counts as dead. Both are a few instructions.
 *   - The pointer takes the place of the C library's list. From its first take on
 *     the kernel hands on no robust mutex of this thread. musl registers its list
 *     at the first such mutex that a thread locks; if a callback does that, the
 *     word is not marked. Nor is it where the kernel has no such lists.
 */
#ifndef SFID_BASE_ALIVE_H
#define SFID_BASE_ALIVE_H

#include "base/compiler.h"

#include <linux/futex.h>

/*
 * True if a thread has the word, and lives. Acquire, with the release in sfid__alive_leave() and
 * the kernel's mark: who finds the thread gone sees what it left.
 */
static inline bool sfid__alive(const _Atomic uint32_t *word) {
    const uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
    return seen != 0 && (seen & FUTEX_OWNER_DIED) == 0;
}

/* Takes the word for this thread; false if another one has it. */
bool sfid__alive_take(_Atomic uint32_t *word);

/* This thread goes on without it. Does nothing to a word that another one has. */
void sfid__alive_leave(_Atomic uint32_t *word);

#endif
