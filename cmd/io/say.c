/* SPDX-License-Identifier: MIT */
/* say.c - messages and progress on standard error, exit statuses, and the end of the output. */
#include "io/say.h"

#include "io/date.h"
#include "io/out.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

/* ---- messages ------------------------------------------------------------------ */

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

bool agreed(const char *question) {
    char answer[16];
    out_print("%s", question);
    out_flush();
    return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
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

/* ---- progress ------------------------------------------------------------------ */

/*
 * Progress uses the terminal's last line, and is wiped before anything else is
 * written there. There is none if standard output is a pipe: its reader may be
 * a pager on the same terminal.
 */
#define FIRST_MS 1000 /* shorter runs show no progress */
#define EVERY_MS 200

static struct {
    bool begun, wanted, shown, silent;
    int64_t begin, next; /* ms */
    uint64_t size;       /* of the input; 0: unknown */
} meter;

/* If output goes to a terminal it shows the progress itself, unless it comes only at the end. */
static bool is_wanted(int fd) {
    struct stat st;
    if (!isatty(STDERR_FILENO) || isatty(fd) || fstat(STDOUT_FILENO, &st) < 0 ||
        S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        return false;
    return meter.silent || !isatty(STDOUT_FILENO);
}

static void begin_progress(int fd) {
    struct stat st;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    meter.begun = true;
    meter.wanted = is_wanted(fd);
    if (!meter.wanted)
        return;
    meter.begin = monotonic_ms();
    meter.next = meter.begin + FIRST_MS;
    if (at >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > at)
        meter.size = (uint64_t)(st.st_size - at);
}

static void write_terminal(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        meter.wanted = false; /* the terminal is gone */
}

static void show_progress(uint64_t lines, uint64_t bytes, int64_t now) {
    char line[120], part[24] = "";
    const uint64_t rate = lines * 1000 / (uint64_t)(now - meter.begin);
    if (meter.size > 0)
        snprintf(part, sizeof part, ", %" PRIu64 " %%",
                 bytes < meter.size ? bytes * 100 / meter.size : 100);
    snprintf(line, sizeof line, "\r%" PRIu64 " lines%s, %" PRIu64 " a second\033[K", lines, part,
             rate);
    write_terminal(line);
    meter.shown = true;
}

void progress_silent(void) { meter.silent = true; }

void progress(int fd, uint64_t lines, uint64_t bytes) {
    if (!meter.begun)
        begin_progress(fd);
    if (!meter.wanted)
        return;
    const int64_t now = monotonic_ms();
    if (now < meter.next)
        return;
    meter.next = now + EVERY_MS;
    show_progress(lines, bytes, now);
}

void progress_clear(void) {
    if (meter.shown)
        write_terminal("\r\033[K");
    meter.shown = false;
}

/* ---- the begin and the end ------------------------------------------------------ */

static void (*broken_pipe)(int) = SIG_DFL; /* the action when this program began */

void signals_begin(void) { broken_pipe = signal(SIGPIPE, SIG_IGN); }

void signals_restore(void) { signal(SIGPIPE, broken_pipe); }

static int instead = STATUS_USAGE;

void end_with(int status) { instead = status; }

int close_output(int status) {
    const int lost = out_close();
    if (lost == 0)
        return status == STATUS_USAGE ? instead : status;
    say("standard output: %s", strerror(lost));
    return STATUS_IO;
}
