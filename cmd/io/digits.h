/* SPDX-License-Identifier: MIT */
/* digits.h - numbers as text and back. */
#ifndef CMD_IO_DIGITS_H
#define CMD_IO_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A 64-bit number has at most this many digits. The writers below may overwrite this much room. */
#define DEC_ROOM 24

/* Caches all but the last four digits, which neighbours share. Each output column has one, all zero at first. */
struct dec {
    uint64_t base; /* multiple of 10000 */
    size_t len;    /* of text; 0: base is 0 */
    char text[DEC_ROOM];
};

/* Each writes at p, without a NUL, and returns the end. */
char *put_dec(struct dec *cache, char *p, uint64_t value);
char *put_int(struct dec *cache, char *p, int64_t value);
char *put_text(char *p, const char *text);

/* Reads digits only, at most max. Returns false for anything else. */
bool read_u64(const char *text, uint64_t max, uint64_t *value);

#endif
