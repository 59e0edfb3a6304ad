/* SPDX-License-Identifier: MIT */
/* nearest.h - names that are nearly right. */
#ifndef CMD_ARGS_NEAREST_H
#define CMD_ARGS_NEAREST_H

#include <stddef.h>

/* The name nearest to a misspelt one, or NULL where none is near. next(i) lists them, NULL at the end. */
const char *nearest(const char *text, const char *(*next)(size_t i));

#endif
