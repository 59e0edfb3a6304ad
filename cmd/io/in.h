/* SPDX-License-Identifier: MIT */
/* in.h - lines of input. */
#ifndef CMD_IO_IN_H
#define CMD_IO_IN_H

#include "io/base.h"

/* Longer lines are cut; the rest is never kept in memory. */
#define IN_LINE_MAX (1024 * 1024)
#define IN_BLOCK (256 * 1024) /* size of one read */

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8 */

struct in {
    int fd;
    size_t max;   /* a longer line is cut */
    bool skip;    /* the rest of a line that was cut is still to be skipped */
    bool end;     /* read(2) reported the end */
    bool mark;    /* the first line began with a byte order mark, which is not part of it */
    size_t start; /* begin of the current line in buf */
    size_t at;    /* begin of the unread rest: buf[at..filled) */
    size_t filled;
    uint64_t line;  /* number of the current line, from 1 */
    uint64_t bytes; /* read so far */
    char buf[IN_LINE_MAX + 2 * IN_BLOCK];
};

struct line {
    const char *text; /* without LF or CRLF; valid until the next in_line() or in_more() */
    size_t len;
    bool crlf;
    bool cut; /* longer than in.max; only its beginning */
};

void in_begin(struct in *in, int fd, size_t max);

/* Reads the next line. Returns 1, 0 at the end, or -1 with errno. Flushes the output before it
 * waits for input. */
int in_line(struct in *in, struct line *line);

/* Extends the current line by the next one; the result may be cut, too. Returns as in_line(). At
 * the end the line stays. */
int in_more(struct in *in, struct line *line);

/* Goes back inside the current text, to byte `place`, which follows line `number`. */
void in_back(struct in *in, size_t place, uint64_t number);

/* Reads the next `size` bytes, fewer at the end, as a numbered line. Returns as in_line(). */
int in_block(struct in *in, size_t size, struct line *block);

#endif
