/* SPDX-License-Identifier: MIT */
/* grep.h - IDs anywhere in text. */
#ifndef CMD_DECODE_GREP_H
#define CMD_DECODE_GREP_H

#include "decode/source.h"
#include "text/reader.h"

/* Sets up the source. Reading from standard input begins at once. */
void source_grep(struct source *source, const struct reader *reader, bool keep);

#endif
