/* SPDX-License-Identifier: MIT */
/* json.h - writes JSON piece by piece. */
#ifndef CMD_IO_JSON_H
#define CMD_IO_JSON_H

#include "io/base.h"

/* Returns how many of the len bytes form the first UTF-8 character (RFC 3629), or 0 if they form
 * none. */
size_t utf8_length(const char *text, size_t len);

/* Values in an object have a key; in a list it is NULL. Brackets are { } [ ]. json_end() closes the
 * outermost object, and ends the line. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_end(void);
void json_text(const char *key, const char *value);
void json_int(const char *key, int64_t value);
void json_uint(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

/* Writes KEY as RFC 3339, and KEY_unix_ms; nothing of a time that is not known, below 0. */
void json_time(const char *key, int64_t unix_ms);

#endif
