/* SPDX-License-Identifier: MIT */
/* digits.h - numbers as text and back. */
#ifndef CMD_IO_DIGITS_H
#define CMD_IO_DIGITS_H

#include "io/base.h"

#include <string.h>

/* A 64-bit number has at most this many digits, and a sign. The writers below may overwrite this
 * much room. */
#define DEC_ROOM 24

/* Each writes at p, without a NUL, and returns the end. */
char *put_dec(char *p, uint64_t value);
char *put_int(char *p, int64_t value);

/* The numbers from 0000 to 9999. */
extern const char four_digits[];

/* Exactly four digits of value < 10^4, and two of value < 100. */
static inline char *put_four(char *p, unsigned value) {
    return (char *)memcpy(p, four_digits + (size_t)value * 4, 4) + 4;
}
static inline char *put_two(char *p, unsigned value) {
    return (char *)memcpy(p, four_digits + (size_t)value * 4 + 2, 2) + 2;
}

/* Inline, since a constant text becomes a few stores. */
static inline char *put_text(char *p, const char *text) {
    const size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads digits only, at most max. Returns false for anything else. */
bool read_u64(const char *text, uint64_t max, uint64_t *value);

#endif
