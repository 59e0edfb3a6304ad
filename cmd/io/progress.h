/* SPDX-License-Identifier: MIT */
/* progress.h - progress through long input, on a terminal. */
#ifndef CMD_IO_PROGRESS_H
#define CMD_IO_PROGRESS_H

#include "io/base.h"

/* Called now and then while fd is read, with the lines and bytes so far. */
void progress(int fd, uint64_t lines, uint64_t bytes);

/* Shows progress even if output goes to a terminal, because output comes only at the end. */
void progress_silent(void);

/* Call this before anything else is written to a terminal. */
void progress_clear(void);

#endif
