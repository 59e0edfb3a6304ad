/* SPDX-License-Identifier: MIT */
/*
 * keyed.h - bits of a number that look random to anyone without this process's key.
 *
 * They are a keyed function of sixteen bytes, a nonce and a number: AES-128
 * where the processor has instructions for it, SipHash-2-4 elsewhere. The
 * function has no state, so threads and signal handlers need no lock, and what
 * two calls return is independent as long as their numbers differ.
 *
 * What that is good for, if the kernel gives random bytes:
 *
 *   Somebody who sees the bits of any numbers cannot tell those of another
 *   number from chance, nor find the key.
 *   A forked child makes a key of its own. Neither parent nor child can compute
 *   the other's bits from then on. (Where the kernel wipes no memory, a child
 *   of clone(2) keeps its parent's key, and so does one of _Fork().)
 *   Somebody who reads the memory of a process can compute all bits of that
 *   process, earlier and later ones. The key is never written to a core dump.
 */
#ifndef SFID_BASE_KEYED_H
#define SFID_BASE_KEYED_H

#include "base/compiler.h"

/* Makes the key, so that no call has to wait for the kernel. Without it the first call makes the
 * key. */
void sfid__keyed_prepare(void);

/* The bits of n. The same n has the same bits again, unless there is no key yet.
 * Async-signal-safe. */
uint64_t sfid__keyed(uint64_t nonce, uint64_t n);

/* The bits of n, n + 1, …, n + count - 1. */
void sfid__keyed_n(uint64_t nonce, uint64_t n, uint64_t *bits, size_t count);

/* ---- the key, for keyed.c and its test --------------------------------------- */

enum sfid__key_kind {
    SFID__KEY_NONE, /* as the kernel leaves wiped memory */
    SFID__KEY_BEGUN,
    SFID__KEY_HASH,
    SFID__KEY_CIPHER
};

/* In sfid__process_room(). All but the kind is written once by each process, before the kind says
 * so. */
struct sfid__key {
    _Atomic uint64_t kind;
    uint64_t words[2];
    _Alignas(16) uint64_t rounds[11][2]; /* CIPHER: the key schedule */
};

bool sfid__key_may_cipher(void); /* this processor has the instructions */
void sfid__key_set(struct sfid__key *key, const uint64_t words[2], enum sfid__key_kind kind);

#endif
