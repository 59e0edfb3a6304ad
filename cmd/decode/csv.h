/* SPDX-License-Identifier: MIT */
/* csv.h - the fields of a record of CSV or TSV. */
#ifndef CMD_DECODE_CSV_H
#define CMD_DECODE_CSV_H

#include "io/format.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * CSV is that of RFC 4180: a field that begins with a quote ends with one, and
 * may have separators, line ends and doubled quotes inside. TSV has no quotes
 * that mean anything; those around a whole field are taken off for its value.
 */
struct field {
    const char *text; /* between the quotes, where there are some; doubled ones are still double */
    size_t len;
    bool quoted;
    size_t seen; /* CSV_OPEN: how far the text was searched; 0 before a field is looked at first */
};

enum csv_end { CSV_FIELD, CSV_LAST, CSV_OPEN, CSV_GARBAGE };

/*
 * The field that begins at *at; *at is then where the next one does.
 * CSV_LAST: none follows. CSV_OPEN: its quote is not closed in the text; called
 * again with the same field and more text it goes on from there.
 * CSV_GARBAGE: there is something behind its closing quote.
 */
enum csv_end csv_field(char separator, const char *text, size_t len, size_t *at, struct field *field);

/* Writes a value as a field of TSV, CSV, or between the quotes of JSON. */
void csv_write(enum view_format format, const struct field *field);

#endif
