/* SPDX-License-Identifier: MIT */
/* fd.h - file descriptors in a process that belongs to someone else. */
#ifndef SFID_BASE_FD_H
#define SFID_BASE_FD_H

#include "base/compiler.h"

#include <sys/types.h>

/*
 * Moves a newly opened descriptor above the standard three. If the program has
 * closed those, our file must not sit where the program prints. Returns -1 with
 * errno set if no descriptor is free; fd is closed then.
 */
int sfid__fd_above_standard(int fd);

/* Reads to the end of the file, at most size bytes. Returns how many, or -1 with errno set. */
ssize_t sfid__fd_read(int fd, char *out, size_t size);

/* Reads size bytes that a file has to have. 0 or an errno: EIO if it has fewer. */
int sfid__fd_read_at(int fd, void *out, size_t size, off_t at);

#endif
