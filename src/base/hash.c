/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

uint64_t sfid__hash(uint64_t seed, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        seed = (seed ^ p[i]) * UINT64_C(0x100000001b3);
    return seed;
}

uint64_t sfid__hash_words(uint64_t seed, const uint64_t *words, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char bytes[8];
        for (unsigned byte = 0; byte < 8; byte++)
            bytes[byte] = (unsigned char)(words[i] >> 8 * byte);
        seed = sfid__hash(seed, bytes, sizeof bytes);
    }
    return seed;
}
