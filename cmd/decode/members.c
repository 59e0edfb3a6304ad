/* SPDX-License-Identifier: MIT */
/*
 * members.c - finds IDs in a member of JSON objects, one object a line.
 *
 * One pass reads the line, without recursion or allocation: it only counts the
 * depth of nested values. Brackets must be balanced; what they enclose is not
 * checked further.
 */
#include "decode/members.h"

#include "io/say.h"
#include "text/show.h"

#include <stdio.h>

struct scan {
    const char *p, *end;
};

static void skip_space(struct scan *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

static bool take_char(struct scan *s, char c) {
    skip_space(s);
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* Reads a string. *text is what the quotes enclose, with its escapes. */
static bool take_string(struct scan *s, const char **text, size_t *len) {
    if (!take_char(s, '"'))
        return false;
    *text = s->p;
    for (;;) {
        const char *quote = memchr(s->p, '"', (size_t)(s->end - s->p));
        if (quote == NULL)
            return false;
        s->p = quote + 1;
        const char *p = quote;
        while (p > *text && p[-1] == '\\')
            p--;
        if ((quote - p) % 2 == 0) { /* the quote is not escaped */
            *len = (size_t)(quote - *text);
            return true;
        }
    }
}

static bool skip_nested(struct scan *s) {
    const char *text;
    size_t len, depth = 0;
    do {
        if (s->p == s->end)
            return false;
        if (*s->p == '"') {
            if (!take_string(s, &text, &len))
                return false;
            continue;
        }
        depth += *s->p == '{' || *s->p == '[';
        depth -= *s->p == '}' || *s->p == ']';
        s->p++;
    } while (depth > 0);
    return true;
}

static bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r';
}

/* Reads any value. *text is the inside of a string or number, which may be an ID; NULL for other
 * values. */
static bool take_value(struct scan *s, const char **text, size_t *len) {
    *text = NULL;
    *len = 0;
    skip_space(s);
    if (s->p == s->end)
        return false;
    if (*s->p == '"')
        return take_string(s, text, len);
    if (*s->p == '{' || *s->p == '[')
        return skip_nested(s);
    const char *begin = s->p;
    while (s->p < s->end && !ends_scalar(*s->p))
        s->p++;
    if (s->p == begin)
        return false;
    if (*begin != 'n' && *begin != 't' && *begin != 'f') {
        *text = begin;
        *len = (size_t)(s->p - begin);
    }
    return true;
}

/* ---- the key ---------------------------------------------------------------- */

static int hex_digit(char c) {
    const char *digits = "0123456789abcdefABCDEF", *at = c ? strchr(digits, c) : NULL;
    return at == NULL ? -1 : (int)(at - digits) - (at - digits > 15 ? 6 : 0);
}

/* Reads the four digits of \uXXXX. Returns -1 if they are malformed. */
static int32_t take_code(struct scan *s) {
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = s->p < s->end ? hex_digit(*s->p++) : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static size_t put_utf8(char *text, int32_t code) {
    const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(first[n] | code);
    return n;
}

/* Reads a character of a string as UTF-8 and decodes its escape. Returns its length, or 0 for an
 * invalid escape. */
static size_t take_character(struct scan *s, char text[4]) {
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    text[0] = *s->p++;
    if (text[0] != '\\')
        return 1;
    if (s->p == s->end)
        return 0;
    const char c = *s->p++, *simple = c ? strchr(escapes, c) : NULL;
    if (simple) {
        text[0] = meant[simple - escapes];
        return 1;
    }
    int32_t code = c == 'u' ? take_code(s) : -1;
    if (code >= 0xd800 && code < 0xdc00 && s->end - s->p >= 2 && s->p[0] == '\\' &&
        s->p[1] == 'u') {
        s->p += 2;
        const int32_t low = take_code(s);
        code =
            low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
    }
    return code > 0 ? put_utf8(text, code) : 0;
}

/* Compares a member's name with the first name in the key. Returns 0 if they differ, else the
 * length of the part plus one. */
static size_t matches(const char *name, size_t len, const char *key) {
    struct scan s = {name, name + len};
    char text[4];
    size_t n = 0;
    if (memchr(name, '\\', len) == NULL) {
        n = strnlen(key, len) == len && memcmp(name, key, len) == 0 ? len : 0;
        return (n > 0 || len == 0) && (key[n] == '\0' || key[n] == '.') ? n + 1 : 0;
    }
    while (s.p < s.end) {
        const size_t bytes = take_character(&s, text);
        if (bytes == 0 || text[0] == '\0' || strncmp(key + n, text, bytes) != 0)
            return 0;
        n += bytes;
    }
    return key[n] == '\0' || key[n] == '.' ? n + 1 : 0;
}

/* ---- objects ---------------------------------------------------------------- */

struct wanted {
    bool seen;
    const char *text; /* NULL: the member is there, but null or cannot hold an ID */
    size_t len;
    bool null;
};

/*
 * Reads the members of an object after its brace, and of those objects inside
 * that the key leads to. The depth is that of the key's names, so hostile input
 * cannot choose it.
 */
static bool take_members(struct scan *s, const char *key, struct wanted *wanted) {
    const char *open[SOURCE_DEPTH]; /* the rest of the key, for each open object */
    size_t depth = 0;
    open[0] = key;
    bool first = true;
    for (;;) {
        const char *name, *text;
        size_t name_len, len;
        if (take_char(s, '}')) {
            if (depth-- == 0)
                return true;
            first = false;
            continue;
        }
        if ((!first && !take_char(s, ',')) || !take_string(s, &name, &name_len) ||
            !take_char(s, ':'))
            return false;
        first = false;
        const size_t step = matches(name, name_len, open[depth]);
        skip_space(s);
        if (step && open[depth][step - 1] == '.' && depth + 1 < SOURCE_DEPTH && s->p < s->end &&
            *s->p == '{') {
            s->p++;
            open[depth + 1] = open[depth] + step;
            depth++;
            first = true;
            continue;
        }
        const bool null = s->p < s->end && *s->p == 'n';
        if (!take_value(s, &text, &len))
            return false;
        if (step && open[depth][step - 1] == '\0')
            *wanted = (struct wanted){true, text, len, null};
    }
}

bool source_resolve(struct source *source, struct found *found) {
    char text[4];
    struct scan s = {found->id, found->id + found->len};
    size_t len = 0;
    if (source->key == NULL || found->fault || memchr(found->id, '\\', found->len) == NULL)
        return false;
    while (s.p < s.end && len + sizeof text <= sizeof source->resolved) {
        const size_t bytes = take_character(&s, text);
        if (bytes == 0)
            return false;
        memcpy(source->resolved + len, text, bytes);
        len += bytes;
    }
    if (s.p != s.end)
        return false;
    found->id = source->resolved;
    found->len = len;
    return true;
}

static int next_object(struct source *source, struct found *found) {
    struct line line;
    const int rc = in_line(&source->in, &line);
    if (rc <= 0)
        return rc;
    *found = (struct found){.record = line.text,
                            .record_len = line.len,
                            .crlf = line.crlf,
                            .line = source->in.line,
                            .part = line.cut};
    struct scan scan = {line.text, line.text + line.len};
    struct wanted wanted = {.seen = false};
    skip_space(&scan);
    found->none = scan.p == scan.end;
    if (line.cut)
        found->fault = "is longer than 1 MiB";
    else if (found->none)
        found->record_len = 0;
    else if (!take_char(&scan, '{') || !take_members(&scan, source->key, &wanted) ||
             (skip_space(&scan), scan.p != scan.end))
        found->fault = "is not a JSON object";
    else if (!wanted.seen)
        found->fault = source->fault;
    else if (wanted.null)
        found->none = true;
    else if (wanted.text == NULL)
        found->fault = source->fault;
    found->id = wanted.text ? wanted.text : line.text;
    found->len = wanted.text ? wanted.len : 0;
    return 1;
}

/* Writes the object unchanged, with new members at its end. */
static void keep_object(struct source *source, const struct found *found, struct view *view,
                        const struct taken *taken) {
    (void)source;
    size_t len = found->record_len;
    if (len == 0)
        return;
    if (taken == NULL) {
        out_bytes(found->record, len);
    } else {
        while (found->record[len - 1] != '}')
            len--;
        out_bytes(found->record, len - 1); /* never empty, so a comma may follow */
        char *p = view_put_members(view, put_text(out_room(OUT_ROOM), ",\"sfid\":{"), taken);
        out_until(put_text(p, "}}"));
    }
    out_bytes(found->crlf ? "\r\n" : "\n", 1 + (size_t)found->crlf);
}

void source_key(struct source *source, const struct reader *reader, const char *key,
                bool keep_lines) {
    source_begin(source, reader, next_object, IN_LINE_MAX);
    source->keep = keep_lines ? keep_object : NULL;
    source->key = key;
    snprintf(source->fault, sizeof source->fault, "has no ID at the key %s", QUOTE(key));
}
