/* SPDX-License-Identifier: MIT */
/* column.h - IDs in a column of CSV or TSV. */
#ifndef CMD_DECODE_COLUMN_H
#define CMD_DECODE_COLUMN_H

#include "decode/source.h"
#include "io/out.h"
#include "text/reader.h"

/* Sets up the source. Reading from standard input begins at once. */
void source_column(struct source *source, const struct reader *reader, const struct column *column,
                   enum view_format format);

#endif
