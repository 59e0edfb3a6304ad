/* SPDX-License-Identifier: MIT */
/* hint.h - what to type instead. */
#ifndef CMD_TEXT_HINT_H
#define CMD_TEXT_HINT_H

#include <stdbool.h>
#include <stddef.h>

/* To stand behind a complaint; "" where nothing is known. columns: the command finds IDs in columns, members and text, too. */
const char *hint_line(const char *text, size_t len, bool columns);
const char *hint_object(const char *text, size_t len);
const char *hint_columns(char separator, const char *text, size_t len);
const char *hint_argument(const char *text);

/* Is an argument that is no ID the name of a file? Then why it is refused; typed: the command with what it needs. */
#define HINT 480
bool hint_file(const char *typed, bool columns, const char *name, char why[HINT]);

#endif
