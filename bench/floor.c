/* SPDX-License-Identifier: MIT */
#include "floor.h"

#include <stdatomic.h>
#include <time.h>

#ifdef __has_attribute
#if __has_attribute(noplt)
__typeof__(time) time __attribute__((noplt)); /* as in src/draw/hint.h */
#endif
#endif

int64_t floor_own(uint64_t *word) {
    volatile uint64_t *own = word;
    const uint64_t n = *own;
    *own = n + 1;
    return (int64_t)(n + (uint64_t)time(NULL));
}

int64_t floor_next(void *word) {
    return (int64_t)(atomic_fetch_add_explicit((_Atomic uint64_t *)word, 1, memory_order_relaxed) +
                     (uint64_t)time(NULL));
}
