/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* For use when the kernel gives no random bytes (a seccomp filter). The bytes only have to differ between processes and between
   calls. splitmix64 again, see slow.c. */
static void makeshift(unsigned char *bytes, size_t n) {
    static _Atomic uint64_t calls;
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    uint64_t x = (uint64_t)ts.tv_nsec ^ (uint64_t)ts.tv_sec << 30 ^ (uint64_t)getpid() << 44 ^ (uint64_t)(uintptr_t)&ts;
    /* This must not be the step of the loop: a call would then begin with the second byte of the call before. */
    x += atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) * UINT64_C(0xd1342543de82ef95);
    for (size_t i = 0; i < n; i++) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        bytes[i] = (unsigned char)(z ^ z >> 31);
    }
}

void sfid__random(void *bytes, size_t n) {
    if (getrandom(bytes, n, 0) != (ssize_t)n) /* up to 256 bytes come whole */
        makeshift(bytes, n);
}

void sfid__random_uuid(char text[UUID_STR_LEN]) {
    uuid_t id;
    sfid__random(id, sizeof id);
    id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
    uuid_unparse_lower(id, text);
}

/* ---- a keyed hash ---------------------------------------------------------- */

static inline uint64_t rotate(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static inline void siphash_rounds(uint64_t v[4], int rounds) {
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static inline void siphash_word(uint64_t v[4], uint64_t m) {
    v[3] ^= m;
    siphash_rounds(v, 2);
    v[0] ^= m;
}

/* SipHash-2-4 (Aumasson, Bernstein 2012) of the eight bytes of n. */
uint64_t sfid__random_of(const uint64_t key[2], uint64_t n) {
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    siphash_word(v, n);
    siphash_word(v, UINT64_C(8) << 56); /* the length in bytes */
    v[2] ^= 0xff;
    siphash_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
