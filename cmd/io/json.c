/* SPDX-License-Identifier: MIT */
/* json.c - writes JSON piece by piece. text/show.c has a faster writer, for IDs. */
#include "io/json.h"

#include "io/date.h"
#include "io/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool follows; /* a value of the same object or list precedes */

size_t utf8_length(const char *text, size_t len) {
    const unsigned char *p = (const unsigned char *)text;
    static const struct {
        unsigned char first, last, low, high; /* bounds of the first byte, and of the second */
        size_t length;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    if (*p < 0x80)
        return 1;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (*p < forms[i].first || *p > forms[i].last)
            continue;
        size_t n = 1;
        while (n < forms[i].length && n < len && p[n] >= (n == 1 ? forms[i].low : 0x80) &&
               p[n] <= (n == 1 ? forms[i].high : 0xbf))
            n++;
        return n == forms[i].length ? n : 0;
    }
    return 0;
}

/* Paths and process names may hold any bytes. Invalid UTF-8 becomes U+FFFD. */
static void write_string(const char *text) {
    out_print("\"");
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        const size_t n = utf8_length((const char *)p, strnlen((const char *)p, 4));
        if (*p == '"' || *p == '\\')
            out_print("\\%c", *p);
        else if (n == 0)
            out_print("\\ufffd");
        else if (*p < 0x20)
            out_print("\\u%04x", *p);
        else
            out_print("%.*s", (int)n, (const char *)p);
        p += n ? n : 1;
    }
    out_print("\"");
}

/* Writes the comma and the key before a value. */
static void begin_value(const char *key) {
    if (follows)
        out_print(",");
    follows = true;
    if (key)
        out_print("\"%s\":", key);
}

void json_open(const char *key, char bracket) {
    begin_value(key);
    out_print("%c", bracket);
    follows = false;
}

void json_close(char bracket) {
    out_print("%c", bracket);
    follows = true;
}

void json_end(void) {
    out_print("}\n");
    follows = false;
}

void json_text(const char *key, const char *value) {
    begin_value(key);
    write_string(value);
}

void json_int(const char *key, int64_t value) {
    begin_value(key);
    out_print("%" PRId64, value);
}

void json_uint(const char *key, uint64_t value) {
    begin_value(key);
    out_print("%" PRIu64, value);
}

void json_bool(const char *key, bool value) {
    begin_value(key);
    out_print(value ? "true" : "false");
}

void json_time(const char *key, int64_t unix_ms) {
    char number[40];
    if (unix_ms < 0)
        return;
    snprintf(number, sizeof number, "%s_unix_ms", key);
    json_text(key, DATED(unix_ms));
    json_int(number, unix_ms);
}
