/* SPDX-License-Identifier: MIT */
/* layout_fault.h - finds what is wrong with the text of a layout. */
#ifndef CMD_ARGS_LAYOUT_FAULT_H
#define CMD_ARGS_LAYOUT_FAULT_H

#include "io/base.h"

/* Returns what is wrong with an invalid layout of numbers. The answer may lie in `room`. */
const char *layout_fault(const char *text, char *room, size_t size);

#endif
