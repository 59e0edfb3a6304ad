/* SPDX-License-Identifier: MIT */
/* out.c - standard output: one buffer, write(2), and every error noticed. */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "io/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char buffer[128 * 1024];
static size_t used;
static int failure; /* errno of the first failed write */

char *out_room(size_t n) {
    if (sizeof buffer - used < n)
        out_flush();
    return buffer + used;
}

void out_until(const char *end) { used = (size_t)(end - buffer); }

void out_bytes(const char *text, size_t len) {
    while (len > 0) {
        const size_t n = len < OUT_ROOM ? len : OUT_ROOM;
        char *p = out_room(n);
        memcpy(p, text, n);
        out_until(p + n);
        text += n;
        len -= n;
    }
}

void out_print(const char *fmt, ...) {
    char *p = out_room(OUT_ROOM);
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(p, OUT_ROOM, fmt, args);
    va_end(args);
    if (n > 0)
        out_until(p + (n < OUT_ROOM ? n : OUT_ROOM - 1));
}

bool out_good(void) { return failure == 0; }

/* Another process may have set the shared terminal or pipe to O_NONBLOCK. */
static void wait_until_writable(void) {
    struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};
    poll(&fd, 1, -1);
}

/*
 * There is much output. A pipe has 64 KiB at first: less than such a write, so writer and reader
 * wake one another each time, which took more time than all else. If the pipe cannot be larger, or
 * there is none, nothing is lost.
 */
static void widen_pipe(void) {
    static bool done;
    if (!done)
        fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 2 * sizeof buffer);
    done = true;
}

bool out_flush(void) {
    size_t done = 0;
    if (used > sizeof buffer / 4)
        widen_pipe();
    while (failure == 0 && done < used) {
        const ssize_t n = write(STDOUT_FILENO, buffer + done, used - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            wait_until_writable();
        else if (errno != EINTR)
            failure = errno;
    }
    used = 0; /* after a failure the rest is dropped */
    return failure == 0;
}

void out_before_read(int fd) {
    struct pollfd in = {.fd = fd, .events = POLLIN};
    if (used > 0 && poll(&in, 1, 0) == 0)
        out_flush();
}

int out_close(void) {
    out_flush();
    if (close(STDOUT_FILENO) < 0 && failure == 0 && errno != EINTR)
        failure = errno; /* network file systems report a full disk only here */
    return failure == EPIPE ? 0 : failure;
}
