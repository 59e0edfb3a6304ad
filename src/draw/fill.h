/* SPDX-License-Identifier: MIT */
/* fill.h - writes IDs of one tick that follow one another. */
#ifndef SFID_DRAW_FILL_H
#define SFID_DRAW_FILL_H

#include "base/compiler.h"

/* ids[i] = id + i * step, for i below n. */
void sfid__fill(int64_t *ids, size_t n, uint64_t id, uint64_t step);

#endif
