/* SPDX-License-Identifier: MIT */
/*
 * fill.c - writes IDs with vectors.
 *
 * Two vectors of two are what every x86-64 and arm64 has; other machines take
 * the same code in single words. Four vectors of four need AVX2, which the
 * processor is asked for: the compiler's runtime read its answer when the
 * library was loaded. Before that, and where the system does not save these
 * registers, the answer is no. So there is nothing to choose at load time
 * (musl has no ifunc), and nothing to remember.
 *
 * Several vectors, so that an addition does not wait for the one before.
 */
#include "draw/fill.h"

/* Aligned as the caller's array is. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(_Alignof(int64_t)), may_alias));

static void fill_pairs(int64_t *ids, size_t n, uint64_t id, uint64_t step) {
    const uint64_t next = 4 * step;
    pair a = {id, id + step}, b = a + 2 * step;
    size_t i = 0;
    for (; n - i >= 4; i += 4, a += next, b += next) {
        *(pair *)(void *)(ids + i) = a;
        *(pair *)(void *)(ids + i + 2) = b;
    }
    for (; i < n; i++)
        ids[i] = (int64_t)(id + i * step);
}

#if defined(__x86_64__)
#define LONG 64 /* from here on the wider vectors gain more than it takes to begin with them */

typedef uint64_t four __attribute__((vector_size(32), aligned(_Alignof(int64_t)), may_alias));

/* Returns how many it has written: n, rounded down to a multiple of 16. */
static __attribute__((target("avx2"), noinline)) size_t fill_fours(int64_t *ids, size_t n,
                                                                   uint64_t id, uint64_t step) {
    const uint64_t next = 16 * step;
    four a = {id, id + step, id + 2 * step, id + 3 * step}, b = a + 4 * step, c = a + 8 * step,
         d = a + 12 * step;
    size_t i = 0;
    for (; n - i >= 16; i += 16, a += next, b += next, c += next, d += next) {
        *(four *)(void *)(ids + i) = a;
        *(four *)(void *)(ids + i + 4) = b;
        *(four *)(void *)(ids + i + 8) = c;
        *(four *)(void *)(ids + i + 12) = d;
    }
    return i;
}

static size_t fill_long(int64_t *ids, size_t n, uint64_t id, uint64_t step) {
    return n >= LONG && __builtin_cpu_supports("avx2") ? fill_fours(ids, n, id, step) : 0;
}
#else
static size_t fill_long(int64_t *ids, size_t n, uint64_t id, uint64_t step) {
    (void)ids, (void)n, (void)id, (void)step;
    return 0;
}
#endif

void sfid__fill(int64_t *ids, size_t n, uint64_t id, uint64_t step) {
    const size_t done = fill_long(ids, n, id, step);
    fill_pairs(ids + done, n - done, id + done * step, step);
}
