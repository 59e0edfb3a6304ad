/* SPDX-License-Identifier: MIT */
/* progress.h - how far long input is, on a terminal. */
#ifndef CMD_IO_PROGRESS_H
#define CMD_IO_PROGRESS_H

#include <stdint.h>

/* Now and then while input is read from fd: how many lines and bytes there were so far. */
void progress(int fd, uint64_t lines, uint64_t bytes);

/* Output comes at the end only, so that there is progress also where it goes to a terminal. */
void progress_silent(void);

/* Before anything else is written to a terminal. */
void progress_clear(void);

#endif
