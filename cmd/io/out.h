/* SPDX-License-Identifier: MIT */
/* out.h - standard output. */
#ifndef CMD_IO_OUT_H
#define CMD_IO_OUT_H

#include "io/base.h"

enum view_format { VIEW_TEXT, VIEW_JSON, VIEW_TSV, VIEW_CSV, VIEW_TABLE };

/* Returns room for n bytes (at most OUT_ROOM) at the end of the output. Never NULL. */
#define OUT_ROOM 4096
char *out_room(size_t n);

/* Sets the end of the output, inside the room of the last out_room(). */
void out_until(const char *end);

/* Writes any number of bytes. */
void out_bytes(const char *text, size_t len);

/* Writes at most OUT_ROOM bytes of formatted text. */
void out_print(const char *fmt, ...) CLI_PRINTF(1, 2);

/* Writes out the buffer. Returns false once output failed or its reader is gone; the command should
 * then stop. */
bool out_flush(void);

/* Flushes if reading fd would wait: the producer may be a tail -f, whose lines should appear. */
void out_before_read(int fd);

/* Returns false once output failed or its reader is gone. */
bool out_good(void);

/* Flushes and closes. Returns 0, or the errno of lost output. A missing reader is no error. */
int out_close(void);

#endif
