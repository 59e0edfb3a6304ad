/* SPDX-License-Identifier: MIT */
/* look.h - reads files without changing their access times. */
#ifndef CMD_IO_LOOK_H
#define CMD_IO_LOOK_H

#include "io/base.h"

#define PATH_ROOM 8192

/* open(2) for reading; keeps the access time if the kernel allows that. */
int look_open(const char *path, int flags);

/* Reads a small file as text, without trailing line end and spaces. Returns its length, or -1 with
 * errno (EFBIG: too long). */
int look_read(const char *path, char *buf, size_t size);

/* Makes room for one more element. Ends the program if memory runs out. */
void *grown(void *list, size_t count, size_t size);

#endif
