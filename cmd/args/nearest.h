/* SPDX-License-Identifier: MIT */
/* nearest.h - suggestions for misspelt names. */
#ifndef CMD_ARGS_NEAREST_H
#define CMD_ARGS_NEAREST_H

#include "io/base.h"

/* Returns the name nearest to a misspelt one, or NULL if none is near. next(i) lists the names,
 * then returns NULL. */
const char *nearest(const char *text, const char *(*next)(size_t i));

#endif
