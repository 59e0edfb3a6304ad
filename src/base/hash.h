/* SPDX-License-Identifier: MIT */
/* hash.h - a checksum for small data. */
#ifndef SFID_BASE_HASH_H
#define SFID_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits (draft-eastlake-fnv): changing any single byte changes the sum. Start from
 * SFID__HASH_SEED. */
#define SFID__HASH_SEED UINT64_C(0xcbf29ce484222325)
uint64_t sfid__hash(uint64_t seed, const void *bytes, size_t n);

/* The same for words, each from its lowest byte up on every machine. For values that hosts have to
 * agree on. */
uint64_t sfid__hash_words(uint64_t seed, const uint64_t *words, size_t n);

#endif
