/* SPDX-License-Identifier: MIT */
/* say.h - messages and progress on standard error, exit statuses, and the end of the output. */
#ifndef CMD_IO_SAY_H
#define CMD_IO_SAY_H

#include "io/base.h"

#include <string.h>

/* Exit statuses, as in the manual. */
enum status {
    STATUS_GOOD = 0,
    STATUS_BAD_INPUT = 1, /* the rest was processed */
    STATUS_USAGE = 2,
    STATUS_UNSURE = 3,       /* the answer is a guess */
    STATUS_UNREACHABLE = 69, /* a server */
    STATUS_INTERNAL = 70,    /* clock, end of layout, memory */
    STATUS_STATE = 73,
    STATUS_IO = 74,
    STATUS_BUSY = 75,
    STATUS_LEASE = 76,
    STATUS_AUTH = 77,
    STATUS_CONFIG = 78
};

/* Returns the exit status for an SFID_E… code. */
int status_of(int code);

/* What a value was refused for is not the command line: close_output() returns `status` in place of
 * STATUS_USAGE. */
void end_with(int status);

/* Flushes the output, then prints a line on standard error, after "sfid: ". */
void say(const char *fmt, ...) CLI_PRINTF(1, 2);

/* As say(), for a return: false, and the status. */
#define refuse(...) (say(__VA_ARGS__), false)
#define fail(status, ...) (say(__VA_ARGS__), (status))

/* As say(), but only if standard error is a terminal: for people who type a command. */
void remark(const char *text);

/* Asks a question, as output, and reads the answer from standard input. */
bool agreed(const char *question);

/*
 * Quotes untrusted text for a message. Long text is cut, and bytes that are not
 * printable ASCII become \xNN, so that they cannot control a terminal. Of a URL
 * only the scheme is shown: a password may follow.
 */
#define QUOTE_LEN 240
struct quoted {
    char text[QUOTE_LEN];
};
struct quoted quote(const char *text, size_t len);
#define QUOTE(what) (quote((what), strlen(what)).text)

/* ---- progress through long input, on a terminal ------------------------------- */

/* Called now and then while fd is read, with the lines and bytes so far. */
void progress(int fd, uint64_t lines, uint64_t bytes);

/* Shows progress even if output goes to a terminal, because output comes only at the end. */
void progress_silent(void);

/* Call this before anything else is written to a terminal. */
void progress_clear(void);

/* ---- the begin and the end ---------------------------------------------------- */

/* Call this first: if the reader is gone, write(2) then fails instead of ending this process. */
void signals_begin(void);

/* Call this before another program is run. It restores the signals that this process was given. */
void signals_restore(void);

/* Flushes and closes standard output. Returns status (but see end_with()), or STATUS_IO with a
 * message if output was lost. */
int close_output(int status);

#endif
