/* SPDX-License-Identifier: MIT */
/* signals.h - signals of this process and of programs that it starts. */
#ifndef CMD_IO_SIGNALS_H
#define CMD_IO_SIGNALS_H

/* Call this first. If the reader is gone, write(2) then fails instead of ending this process. */
void signals_begin(void);

/* Call this before another program is run. It restores the signals that this process was given. */
void signals_restore(void);

#endif
