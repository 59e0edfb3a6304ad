/* SPDX-License-Identifier: MIT */
/* layout_fault.h - what is wrong with the text of a layout. */
#ifndef CMD_ARGS_LAYOUT_FAULT_H
#define CMD_ARGS_LAYOUT_FAULT_H

#include <stddef.h>

/* Of a text of numbers that is no layout; perhaps in room. */
const char *layout_fault(const char *text, char *room, size_t size);

#endif
