/* SPDX-License-Identifier: MIT */
/* say.h - diagnostics, exit statuses, and the end of the output. */
#ifndef CMD_IO_SAY_H
#define CMD_IO_SAY_H

#include "io/macros.h"

#include <stddef.h>
#include <string.h>

/* Exit statuses, as the manual lists them. */
enum status {
    STATUS_GOOD = 0,
    STATUS_BAD_INPUT = 1, /* the rest was still done */
    STATUS_USAGE = 2,
    STATUS_UNREACHABLE = 69, /* a server */
    STATUS_INTERNAL = 70,    /* clock, end of layout, memory */
    STATUS_STATE = 73,
    STATUS_IO = 74,
    STATUS_BUSY = 75,
    STATUS_LEASE = 76,
    STATUS_AUTH = 77,
    STATUS_CONFIG = 78
};

/* The exit status that stands for an SFID_E… code. */
int status_of(int code);

/* One line on standard error, "sfid: " before it, behind all output so far. */
void say(const char *fmt, ...) CLI_PRINTF(1, 2);

/* For whoever types a command: as say(), when standard error is a terminal, else nothing. */
void remark(const char *text);

/*
 * Untrusted text for a message: in quotes, cut where it is long, every byte
 * that is not printable ASCII as \xNN, so that it cannot drive a terminal. Of a
 * URL only the scheme: a password may stand behind it.
 */
#define QUOTE_LEN 240
struct quoted {
    char text[QUOTE_LEN];
};
struct quoted quote(const char *text, size_t len);
#define QUOTE(what) (quote((what), strlen(what)).text)

/* Flushes and closes standard output. Returns status, or STATUS_IO, told, when any output was lost. A gone reader is no error. */
int close_output(int status);

#endif
