/* SPDX-License-Identifier: MIT */
/* say.c - messages, exit statuses, and the end of the output. */
#include "io/say.h"

#include "io/out.h"
#include "io/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int status_of(int code) {
    /* clang-format off */
    static const unsigned char statuses[] = {
        /* mirrors: command-statuses */
        [-SFID_EINVAL] = STATUS_USAGE, [-SFID_ENOMEM] = STATUS_INTERNAL,
        [-SFID_EAGAIN] = STATUS_BUSY, [-SFID_EBUSY] = STATUS_BUSY,
        [-SFID_ECLOCK] = STATUS_INTERNAL, [-SFID_EOVERFLOW] = STATUS_INTERNAL,
        [-SFID_ELEASE] = STATUS_LEASE, [-SFID_ENOPID] = STATUS_BUSY,
        [-SFID_EREDIS] = STATUS_UNREACHABLE, [-SFID_EAUTH] = STATUS_AUTH,
        [-SFID_ELAYOUT] = STATUS_CONFIG, [-SFID_ESTATE] = STATUS_STATE,
        [-SFID_ECLOSED] = STATUS_INTERNAL, [-SFID_EUNSUPPORTED] = STATUS_CONFIG,
        /* mirrors: end */
    };
    /* clang-format on */
    return code <= SFID_OK && code > -(int)sizeof statuses ? statuses[-code] : STATUS_INTERNAL;
}

static void write_error(const char *text, size_t len) {
    while (len > 0) {
        const ssize_t n = write(STDERR_FILENO, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nowhere left to report it */
        text += n;
        len -= (size_t)n;
    }
}

void say(const char *fmt, ...) {
    static const char prefix[] = "sfid: ";
    char line[1024];
    const size_t head = sizeof prefix - 1;
    memcpy(line, prefix, head);

    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(line + head, sizeof line - head - 1, fmt, args);
    va_end(args);
    size_t len = head + (n > 0 ? (size_t)n : 0);
    if (len > sizeof line - 2)
        len = sizeof line - 2;
    line[len++] = '\n';

    progress_clear();
    out_flush();            /* keeps output and messages in order on a terminal */
    write_error(line, len); /* in one write: other processes may share the terminal */
}

void remark(const char *text) {
    if (isatty(STDERR_FILENO))
        say("%s", text);
}

/* Returns how much of a text may be shown: of a URL only the scheme. */
static size_t open_part(const char *text, size_t len) {
    for (size_t i = 0; i + 3 <= len; i++)
        if (memcmp(text + i, "://", 3) == 0)
            return i + 3;
    return len;
}

struct quoted quote(const char *text, size_t whole) {
    enum { SHOWN = 48 };
    struct quoted q;
    const size_t len = open_part(text, whole);
    char *p = q.text;
    *p++ = '\'';
    for (size_t i = 0; i < len && i < SHOWN; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c < 0x7f)
            *p++ = (char)c;
        else
            p += snprintf(p, 5, "\\x%02x", c);
    }
    memcpy(p, "'", 2);
    if (len > SHOWN || len < whole)
        memcpy(p, "'...", 5);
    return q;
}

static int instead = STATUS_USAGE;

void end_with(int status) { instead = status; }

int close_output(int status) {
    const int lost = out_close();
    if (lost == 0)
        return status == STATUS_USAGE ? instead : status;
    say("standard output: %s", strerror(lost));
    return STATUS_IO;
}
