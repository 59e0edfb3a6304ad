/* SPDX-License-Identifier: MIT */
/* out.h - standard output. */
#ifndef CMD_IO_OUT_H
#define CMD_IO_OUT_H

#include "io/macros.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for n bytes (at most OUT_ROOM) at the end of the output; NULL never. */
#define OUT_ROOM 4096
char *out_room(size_t n);

/* Says that the output now ends here, inside the room of the last out_room(). */
void out_until(const char *end);

/* Bytes, as many as there are. */
void out_bytes(const char *text, size_t len);

/* At most OUT_ROOM bytes of formatted text. */
void out_print(const char *fmt, ...) CLI_PRINTF(1, 2);

/* Writes what is buffered. False once output failed or its reader is gone: the command should stop. */
bool out_flush(void);
bool out_pending(void);

/* False once output failed or its reader is gone. */
bool out_good(void);

/* Flushes and closes. Returns 0, or the errno of what was lost; a gone reader is no error. */
int out_close(void);

#endif
