/* SPDX-License-Identifier: MIT */
/* floor.h - a shared library of its own. */
#ifndef SFID_BENCH_FLOOR_H
#define SFID_BENCH_FLOOR_H

#include <stdint.h>

/* What an exported function costs that does nothing but the floor. */
int64_t floor_next(void *word);

#endif
