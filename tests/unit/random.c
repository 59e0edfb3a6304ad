/* SPDX-License-Identifier: MIT */
/* The keyed hash that random bits of UUIDs are: as its authors publish it, and unlike for any other key or number. */
#include "base/random.h"

#include "support/tap.h"

enum { NUMBERS = 1000, BITS = 64 };

/* The reference implementation's own: key 00 01 .. 0f, message 00 01 .. 07. */
static void published(void) {
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    is_u64(sfid__random_of(key, UINT64_C(0x0706050403020100)), UINT64_C(0x93f5f5799a932462), "SipHash-2-4 of eight bytes");
}

/* How many of the bits differ between two hashes, summed over many: half of them, if each is as good as thrown. */
static void about_half(uint64_t differing, const char *what) {
    const uint64_t half = NUMBERS * BITS / 2;
    ok(differing > half - half / 20 && differing < half + half / 20, "%s: half of the bits change (%.3f)", what,
       (double)differing / (NUMBERS * BITS));
}

static void spread(void) {
    const uint64_t key[2] = {1, 2}, other[2] = {1, 3};
    uint64_t by_number = 0, by_key = 0;
    for (uint64_t n = 0; n < NUMBERS; n++) {
        by_number += (uint64_t)__builtin_popcountll(sfid__random_of(key, n) ^ sfid__random_of(key, n + 1));
        by_key += (uint64_t)__builtin_popcountll(sfid__random_of(key, n) ^ sfid__random_of(other, n));
    }
    about_half(by_number, "the next number");
    about_half(by_key, "another key");
}

int main(void) {
    published();
    spread();
    return done_testing();
}
