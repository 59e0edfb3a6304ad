/* SPDX-License-Identifier: MIT */
/* csv.h - reads and writes the fields of CSV and TSV records. */
#ifndef CMD_DECODE_CSV_H
#define CMD_DECODE_CSV_H

#include "io/out.h"

/*
 * CSV follows RFC 4180: a quoted field may hold separators, line ends and
 * doubled quotes. In TSV quotes mean nothing, but those around a whole field
 * are no part of its value.
 */
struct field {
    const char *text; /* without the outer quotes; doubled quotes are still double */
    size_t len;
    bool quoted;
    size_t seen; /* CSV_OPEN: how far the text was searched; 0 for a new field */
};

enum csv_end { CSV_FIELD, CSV_LAST, CSV_OPEN, CSV_GARBAGE };

/*
 * Reads the field at *at and moves *at to the next one. CSV_LAST: no field
 * follows. CSV_OPEN: the text ends inside quotes; a call with the same field
 * and more text continues there. CSV_GARBAGE: something follows the closing
 * quote.
 */
enum csv_end csv_field(char separator, const char *text, size_t len, size_t *at,
                       struct field *field);

/* Writes a value as a field of TSV or CSV, or between the quotes of a JSON string. */
void csv_write(enum view_format format, const struct field *field);

#endif
