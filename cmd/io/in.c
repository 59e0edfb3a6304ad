/* SPDX-License-Identifier: MIT */
/* in.c - reads lines and blocks of any length in constant memory. */
#include "io/in.h"

#include "io/out.h"
#include "io/say.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void in_begin(struct in *in, int fd, size_t max) {
    in->fd = fd;
    in->max = max < IN_LINE_MAX ? max : IN_LINE_MAX;
    in->skip = in->end = in->mark = false;
    in->start = in->at = in->filled = 0;
    in->line = in->bytes = 0;
}

/*
 * Reads more input after the unread rest. A command that keeps up always gets
 * the first pages of the buffer, which are in the processor's cache. Returns 0,
 * perhaps with in->end set, or -1 with errno.
 */
static int fill(struct in *in) {
    if (in->start > 0) {
        in->filled -= in->start;
        memmove(in->buf, in->buf + in->start, in->filled);
        in->at -= in->start;
        in->start = 0;
    }
    const size_t room = sizeof in->buf - in->filled;
    progress(in->fd, in->line, in->bytes);
    for (;;) {
        out_before_read(in->fd);
        const ssize_t n = read(in->fd, in->buf + in->filled, room < IN_BLOCK ? room : IN_BLOCK);
        if (n >= 0) {
            in->filled += (size_t)n;
            in->bytes += (size_t)n;
            in->end = n == 0;
            return 0;
        }
        if (errno == EAGAIN) {
            struct pollfd fd = {.fd = in->fd, .events = POLLIN};
            poll(&fd, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

/* Skips the rest of a line that was cut. Returns as fill(). */
static int skip_line(struct in *in) {
    while (in->skip) {
        const char *end = memchr(in->buf + in->at, '\n', in->filled - in->at);
        in->start = in->at = end ? (size_t)(end + 1 - in->buf) : in->filled;
        in->skip = end == NULL && !in->end;
        if (in->skip && fill(in) < 0)
            return -1;
    }
    return 0;
}

/* Extends the current text to the next line end. Returns as in_line(). */
static int take_line(struct in *in, struct line *line) {
    const char *end;
    /* relative to in->start, which fill() may move; no byte is searched twice */
    size_t seen = in->at - in->start;
    for (;;) {
        end = memchr(in->buf + in->start + seen, '\n', in->filled - in->start - seen);
        seen = in->filled - in->start;
        if (end || in->end || seen > in->max + 1)
            break;
        if (fill(in) < 0)
            return -1;
    }
    line->text = in->buf + in->start; /* also at the end, since fill() may have moved the line */
    if (end == NULL && in->at == in->filled)
        return 0;

    in->line++;
    line->len = (size_t)((end ? end : in->buf + in->filled) - line->text);
    in->skip = end == NULL && !in->end;
    in->at = end ? (size_t)(end + 1 - in->buf) : in->filled;
    line->crlf = line->len > 0 && line->text[line->len - 1] == '\r' && !in->skip;
    line->len -= line->crlf;
    line->cut = line->len > in->max;
    if (line->cut)
        line->len = in->max;
    return 1;
}

int in_line(struct in *in, struct line *line) {
    const size_t mark = sizeof BYTE_ORDER_MARK - 1; /* some programs write it before UTF-8 */
    if (in->skip && skip_line(in) < 0)
        return -1;
    in->start = in->at;
    const int rc = take_line(in, line);
    if (rc > 0 && in->line == 1 && line->len >= mark &&
        memcmp(line->text, BYTE_ORDER_MARK, mark) == 0) {
        in->mark = true;
        in->start += mark;
        line->text += mark;
        line->len -= mark;
    }
    return rc;
}

int in_more(struct in *in, struct line *line) { return take_line(in, line); }

void in_back(struct in *in, size_t place, uint64_t number) {
    in->at = in->start + place;
    in->line = number;
    in->skip = false;
}

int in_block(struct in *in, size_t size, struct line *block) {
    in->start = in->at;
    while (in->filled - in->at < size && !in->end)
        if (fill(in) < 0)
            return -1;
    const size_t left = in->filled - in->at;
    if (left == 0)
        return 0;
    *block = (struct line){.text = in->buf + in->at, .len = left < size ? left : size};
    in->at += block->len;
    in->line++;
    return 1;
}
