/* SPDX-License-Identifier: MIT */
/* hint.h - suggests what to type instead. */
#ifndef CMD_TEXT_HINT_H
#define CMD_TEXT_HINT_H

#include "io/base.h"

/* Each returns text to follow a message, or "". columns: the command also finds IDs in columns,
 * members and text. */
const char *hint_line(const char *text, size_t len, bool columns);
const char *hint_object(const char *text, size_t len);
const char *hint_columns(char separator, const char *text, size_t len);
const char *hint_argument(const char *text);

/* If an argument is a file's name instead of an ID, returns true and explains that. typed: the
 * command to read the file with. */
#define HINT 480
bool hint_file(const char *typed, bool columns, const char *name, char why[HINT]);

#endif
