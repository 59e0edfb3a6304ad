/* SPDX-License-Identifier: MIT */
/* fd.h - descriptors in a process that is somebody else's. */
#ifndef SFID_BASE_FD_H
#define SFID_BASE_FD_H

#include "base/compiler.h"

#include <sys/types.h>

/*
 * Moves a descriptor just opened above the standard three. Where the program
 * has closed those, a file of ours must not sit where it prints to. -1 with
 * errno set when there is none to be had; then fd is closed.
 */
int sfid__fd_above_standard(int fd);

/* Opens what a user names, for reading. A pipe is opened at once: nobody may ever write into it. -1 with errno. */
int sfid__fd_open_named(const char *path);

/* Reads until the end, or size bytes. How many, or -1 with errno. */
ssize_t sfid__fd_read(int fd, char *out, size_t size);

#endif
