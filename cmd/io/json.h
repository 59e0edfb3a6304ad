/* SPDX-License-Identifier: MIT */
/* json.h - JSON that is written piece by piece. */
#ifndef CMD_IO_JSON_H
#define CMD_IO_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes of the text's len are its first character of UTF-8 (RFC 3629); 0 when they are none. */
size_t utf8_length(const char *text, size_t len);

/* Values of an object have a key, those of a list NULL. Brackets are { } [ ]; json_end() ends the line. */
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_end(void);
void json_text(const char *key, const char *value);
void json_int(const char *key, int64_t value);
void json_uint(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

#endif
