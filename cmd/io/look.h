/* SPDX-License-Identifier: MIT */
/* look.h - looking at files without leaving a trace. */
#ifndef CMD_IO_LOOK_H
#define CMD_IO_LOOK_H

#include <stddef.h>

#define PATH_ROOM 8192

/* open(2) for reading, without a new time of access where that is allowed. */
int look_open(const char *path, int flags);

/* A small file as text, without line end and spaces behind. Bytes, or -1 with errno: EFBIG when it does not fit. */
int look_read(const char *path, char *buf, size_t size);

/* Room for one more element; ends the program when memory runs out. */
void *grown(void *list, size_t count, size_t size);

#endif
