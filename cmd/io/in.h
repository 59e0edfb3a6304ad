/* SPDX-License-Identifier: MIT */
/* in.h - lines of input. */
#ifndef CMD_IO_IN_H
#define CMD_IO_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No line is longer: what exceeds it is cut off, and never kept in memory. */
#define IN_LINE_MAX (1024 * 1024)
#define IN_BLOCK (256 * 1024) /* what is read at once */

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8 */

struct in {
    int fd;
    size_t max;   /* the longest line that is wanted whole */
    bool skip;    /* inside a line already handed out cut */
    bool end;     /* read(2) told the end */
    bool mark;    /* the first line began with a byte order mark, which is no part of it */
    size_t start; /* of what was handed out last, in buf */
    size_t at;    /* of what is not handed out yet: buf[at..filled) */
    size_t filled;
    uint64_t line;  /* number of the line handed out last, from 1 */
    uint64_t bytes; /* read so far */
    char buf[IN_LINE_MAX + 2 * IN_BLOCK];
};

struct line {
    const char *text; /* without its end, LF or CRLF; valid until the next in_line() or in_more() */
    size_t len;
    bool crlf;
    bool cut; /* longer than in.max: only its beginning */
};

void in_begin(struct in *in, int fd, size_t max);

/* The next line. Returns 1, 0 at the end, -1 with errno when reading failed. Flushes the output before it would wait for input. */
int in_line(struct in *in, struct line *line);

/* The line handed out last, with the next one behind it. Returns as in_line(); may be cut, too. At the end the line stays. */
int in_more(struct in *in, struct line *line);

/* Goes back inside what was handed out last: to its place-th byte, behind line `number`. */
void in_back(struct in *in, size_t place, uint64_t number);

/* The next `size` bytes, fewer at the end, as line and numbered as such. Returns as in_line(). */
int in_block(struct in *in, size_t size, struct line *block);

#endif
