/* SPDX-License-Identifier: MIT */
/* in.c - lines of input, of any length, in constant memory. */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void in_begin(struct in *in, int fd) {
    in->fd = fd;
    in->skip = in->end = false;
    in->at = in->filled = 0;
    in->line = 0;
}

/* What is done should be seen while we wait for more: the producer may be a tail -f. */
static void wait_until_readable(const struct in *in) {
    struct pollfd fd = {.fd = in->fd, .events = POLLIN};
    if (out_pending() && poll(&fd, 1, 0) == 0)
        out_flush();
}

/* Reads on behind what is left. Returns -1 with errno, else 0 and perhaps in->end. */
static int fill(struct in *in) {
    in->filled -= in->at;
    memmove(in->buf, in->buf + in->at, in->filled);
    in->at = 0;
    for (;;) {
        wait_until_readable(in);
        const ssize_t n = read(in->fd, in->buf + in->filled, sizeof in->buf - in->filled);
        if (n >= 0) {
            in->filled += (size_t)n;
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

/* Drops the rest of a line handed out cut. Returns as fill(). */
static int skip_line(struct in *in) {
    while (in->skip) {
        const char *end = memchr(in->buf + in->at, '\n', in->filled - in->at);
        in->at = end ? (size_t)(end + 1 - in->buf) : in->filled;
        in->skip = end == NULL && !in->end;
        if (in->skip && fill(in) < 0)
            return -1;
    }
    return 0;
}

int in_line(struct in *in, struct line *line) {
    if (in->skip && skip_line(in) < 0)
        return -1;
    const char *end;
    for (;;) {
        end = memchr(in->buf + in->at, '\n', in->filled - in->at);
        if (end || in->end || in->filled - in->at > IN_LINE_MAX + 1)
            break;
        if (fill(in) < 0)
            return -1;
    }
    if (end == NULL && in->at == in->filled)
        return 0;

    in->line++;
    line->text = in->buf + in->at;
    line->len = (size_t)((end ? end : in->buf + in->filled) - line->text);
    in->skip = end == NULL && !in->end;
    in->at = end ? (size_t)(end + 1 - in->buf) : in->filled;
    if (line->len > 0 && line->text[line->len - 1] == '\r' && !in->skip)
        line->len--;
    line->cut = line->len > IN_LINE_MAX;
    if (line->cut)
        line->len = IN_LINE_MAX;
    return 1;
}
