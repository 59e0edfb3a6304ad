/* SPDX-License-Identifier: MIT */
/* members.h - IDs in members of JSON objects. */
#ifndef CMD_DECODE_MEMBERS_H
#define CMD_DECODE_MEMBERS_H

#include "decode/source.h"
#include "text/reader.h"

/* Sets up the source. Reading from standard input begins at once. */
void source_key(struct source *source, const struct reader *reader, const char *key, bool keep);

/*
 * Digits may be written as escapes of JSON, such as \u0031. Resolves those of a place that was no
 * ID as it stands. Returns false if there are none; a text that is too long for an ID, or invalid,
 * stays as it is.
 */
bool source_resolve(struct source *source, struct found *found);

#endif
