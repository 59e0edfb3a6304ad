/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#define PRIME UINT64_C(0x100000001b3)

uint64_t sfid__hash(uint64_t seed, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        seed = (seed ^ p[i]) * PRIME;
    return seed;
}

uint64_t sfid__hash_words(uint64_t seed, const uint64_t *words, size_t n) {
    for (size_t i = 0; i < 8 * n; i++)
        seed = (seed ^ (words[i / 8] >> 8 * (i % 8) & 0xff)) * PRIME;
    return seed;
}
