/* SPDX-License-Identifier: MIT */
/*
 * progress.c - progress through long input, on a terminal.
 *
 * Progress uses the terminal's last line, and is wiped before anything else is
 * written there. There is none if standard output is a pipe: its reader may be
 * a pager on the same terminal.
 */
#include "io/progress.h"

#include "io/date.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_MS 1000 /* shorter runs show no progress */
#define EVERY_MS 200

static struct {
    bool begun, wanted, shown, silent;
    int64_t begin, next; /* ms */
    uint64_t size;       /* of the input; 0: unknown */
} state;

/* If output goes to a terminal it shows the progress itself, unless it comes only at the end. */
static bool is_wanted(int fd) {
    struct stat st;
    if (!isatty(STDERR_FILENO) || isatty(fd) || fstat(STDOUT_FILENO, &st) < 0 ||
        S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        return false;
    return state.silent || !isatty(STDOUT_FILENO);
}

static void begin_progress(int fd) {
    struct stat st;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    state.begun = true;
    state.wanted = is_wanted(fd);
    if (!state.wanted)
        return;
    state.begin = monotonic_ms();
    state.next = state.begin + FIRST_MS;
    if (at >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > at)
        state.size = (uint64_t)(st.st_size - at);
}

static void write_terminal(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        state.wanted = false; /* the terminal is gone */
}

static void show_progress(uint64_t lines, uint64_t bytes, int64_t now) {
    char line[120], part[24] = "";
    const uint64_t rate = lines * 1000 / (uint64_t)(now - state.begin);
    if (state.size > 0)
        snprintf(part, sizeof part, ", %" PRIu64 " %%",
                 bytes < state.size ? bytes * 100 / state.size : 100);
    snprintf(line, sizeof line, "\r%" PRIu64 " lines%s, %" PRIu64 " a second\033[K", lines, part,
             rate);
    write_terminal(line);
    state.shown = true;
}

void progress_silent(void) { state.silent = true; }

void progress(int fd, uint64_t lines, uint64_t bytes) {
    if (!state.begun)
        begin_progress(fd);
    if (!state.wanted)
        return;
    const int64_t now = monotonic_ms();
    if (now < state.next)
        return;
    state.next = now + EVERY_MS;
    show_progress(lines, bytes, now);
}

void progress_clear(void) {
    if (state.shown)
        write_terminal("\r\033[K");
    state.shown = false;
}
