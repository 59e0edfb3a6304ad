/* SPDX-License-Identifier: MIT */
/* signals.h - signals of this process, and of those it starts. */
#ifndef CMD_IO_SIGNALS_H
#define CMD_IO_SIGNALS_H

/* First of all: a reader that is gone makes write(2) fail, and does not end this process. */
void signals_begin(void);

/* Before another program is run: signals as they were handed to this one. */
void signals_restore(void);

#endif
