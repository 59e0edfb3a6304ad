/* SPDX-License-Identifier: MIT */
/* csv.c - reads and writes the fields of CSV and TSV records. */
#include "decode/csv.h"

#include "io/json.h"

#include <string.h>

static enum csv_end plain_field(char separator, const char *text, size_t len, size_t *at,
                                struct field *field) {
    const char *p = text + *at, *end = memchr(p, separator, len - *at);
    field->text = p;
    field->len = end ? (size_t)(end - p) : len - *at;
    field->quoted = false;
    *at += field->len + (end != NULL);
    return end ? CSV_FIELD : CSV_LAST;
}

static enum csv_end quoted_field(char separator, const char *text, size_t len, size_t *at,
                                 struct field *field) {
    const char *const end = text + len;
    field->text = text + *at + 1;
    field->quoted = true;
    const char *p = field->seen ? text + field->seen : field->text;
    for (;; p += 2) { /* skip a doubled quote */
        p = memchr(p, '"', (size_t)(end - p));
        if (p == NULL) {
            field->seen = len;
            return CSV_OPEN;
        }
        if (p + 1 == end || p[1] != '"')
            break;
    }
    field->seen = 0;
    field->len = (size_t)(p - field->text);
    *at = (size_t)(p + 1 - text);
    if (*at == len)
        return CSV_LAST;
    if (text[*at] != separator)
        return CSV_GARBAGE;
    ++*at;
    return CSV_FIELD;
}

enum csv_end csv_field(char separator, const char *text, size_t len, size_t *at,
                       struct field *field) {
    if (separator == ',' && *at < len && text[*at] == '"')
        return quoted_field(separator, text, len, at, field);
    const enum csv_end end = plain_field(separator, text, len, at, field);
    if (separator == '\t' && field->len >= 2 && field->text[0] == '"' &&
        field->text[field->len - 1] == '"') {
        field->text++;
        field->len -= 2;
    }
    return end;
}

/* ---- writing -------------------------------------------------------------- */

/* Returns the replacement for a byte that cannot be written as it is, or NULL if it can. */
typedef const char *escape(const struct field *field, unsigned char c);

static const char *in_csv(const struct field *field, unsigned char c) {
    return c == '"' && !field->quoted ? "\"\"" : NULL;
}

/* TSV cannot express a TAB or a line end. A space replaces each. */
static const char *in_tsv(const struct field *field, unsigned char c) {
    (void)field;
    return c == '\t' || c == '\n' || c == '\r' ? " " : NULL;
}

static const char *in_json(const struct field *field, unsigned char c) {
    static char code[8] = "\\u00";
    (void)field;
    if (c == '"' || c == '\\')
        return c == '"' ? "\\\"" : "\\\\";
    if (c >= 0x20)
        return NULL;
    code[4] = (char)('0' + (c >> 4));
    code[5] = "0123456789abcdef"[c & 15];
    return code;
}

/* JSON is UTF-8. Bytes in another encoding would make all of it unreadable. */
static const char *in_utf8(const struct field *field, size_t *i) {
    const size_t n = utf8_length(field->text + *i, field->len - *i);
    *i += n > 1 ? n - 1 : 0;
    return n > 0 ? NULL : "\\ufffd";
}

/* Writes runs of bytes, since few need a replacement. */
static void write_escaped(const struct field *field, escape *escaped, bool single_quotes) {
    size_t from = 0;
    for (size_t i = 0; i < field->len; i++) {
        const unsigned char c = (unsigned char)field->text[i];
        const char *text = c < 0x20 || c == '"' || c == '\\' ? escaped(field, c)
                           : c >= 0x80 && escaped == in_json ? in_utf8(field, &i)
                                                             : NULL;
        const bool doubled = single_quotes && c == '"' && field->quoted;
        if (text == NULL && !doubled)
            continue;
        out_bytes(field->text + from, i - from);
        if (text)
            out_bytes(text, strlen(text));
        else
            out_bytes("\"", 1);
        i += doubled; /* skip the second quote of a pair */
        from = i + 1;
    }
    out_bytes(field->text + from, field->len - from);
}

static bool wants_quotes(const struct field *field) {
    for (size_t i = 0; i < field->len; i++)
        if (field->text[i] == ',' || field->text[i] == '"' || field->text[i] == '\r' ||
            field->text[i] == '\n')
            return true;
    return field->quoted;
}

void csv_write(enum view_format format, const struct field *field) {
    const bool quotes = format == VIEW_CSV && wants_quotes(field);
    out_bytes("\"", quotes);
    write_escaped(field,
                  format == VIEW_CSV    ? in_csv
                  : format == VIEW_JSON ? in_json
                                        : in_tsv,
                  format != VIEW_CSV);
    out_bytes("\"", quotes);
}
