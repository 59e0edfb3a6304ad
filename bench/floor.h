/* SPDX-License-Identifier: MIT */
/* floor.h - a separate shared library. */
#ifndef SFID_BENCH_FLOOR_H
#define SFID_BENCH_FLOOR_H

#include <stdint.h>

/* Does only the floor's work, to measure the cost of an exported function. */
int64_t floor_next(void *word);

/* The same on a word that one thread has for itself: no atomic add. */
int64_t floor_own(uint64_t *word);

#endif
