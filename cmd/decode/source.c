/* SPDX-License-Identifier: MIT */
/*
 * source.c - what sources have in common, and IDs in lines: alone, anywhere in text, or in a member
 * of JSON objects.
 *
 * A word between two characters that are neither letter nor digit may be an ID
 * if its length fits: any number of ten digits or more, but other forms only at
 * full width, or every word would match. The caller checks whether its time
 * makes sense.
 *
 * One pass reads an object, without recursion or allocation: it only counts the
 * depth of nested values. Brackets must be balanced; what they enclose is not
 * checked further.
 */
#include "decode/source.h"

#include "io/say.h"
#include "text/show.h"

#include <stdio.h>
#include <unistd.h>

#define LONGEST 256 /* longer than any ID */

void source_begin(struct source *source, const struct reader *reader,
                  int (*place)(struct source *, struct found *), size_t max) {
    source->next = place;
    source->keep = NULL;
    source->begin = NULL;
    source->quiet = false;
    source->reader = reader;
    source->unit = "line";
    in_begin(&source->in, STDIN_FILENO, max);
}

/* ---- lines ------------------------------------------------------------------- */

/* Skips empty lines, since files often end with one. */
static int next_line(struct source *source, struct found *found) {
    struct line line;
    const bool bytes = source->reader->form == SFID_BYTES;
    const int rc =
        bytes ? in_block(&source->in, source->reader->most, &line) : in_line(&source->in, &line);
    if (rc <= 0)
        return rc;
    *found = (struct found){.record = line.text,
                            .record_len = line.len,
                            .id = line.text,
                            .len = line.len,
                            .line = source->in.line,
                            .none = line.len == 0,
                            .fault = line.cut ? "is longer than any ID" : NULL};
    return 1;
}

void source_lines(struct source *source, const struct reader *reader) {
    source_begin(source, reader, next_line, LONGEST);
    source->unit = reader->form == SFID_BYTES ? "ID" : "line";
}

/* ---- any text ---------------------------------------------------------------- */

#define LEAST_DECIMALS 10

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* In 0.1234567890, neither side of the point is an ID. */
static bool in_fraction(const struct line *line, size_t from, size_t to) {
    const char *p = line->text;
    const bool before = from >= 2 && p[from - 1] == '.' && p[from - 2] >= '0' && p[from - 2] <= '9';
    const bool behind = to + 1 < line->len && p[to] == '.' && p[to + 1] >= '0' && p[to + 1] <= '9';
    return before || behind;
}

/* -1234567890 is no ID, but a-1234567890 contains one. */
static bool is_negative(const struct line *line, size_t from) {
    const char *p = line->text;
    return from >= 1 && p[from - 1] == '-' && (from == 1 || !is_word(p[from - 2]));
}

static bool has_digit(const char *p, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (p[i] >= '0' && p[i] <= '9')
            return true;
    return false;
}

static bool may_be(const struct reader *reader, const struct line *line, size_t from, size_t to) {
    const size_t len = to - from;
    const char *p = line->text + from;
    if (len >= reader->least && len <= reader->most && reader->most > 0)
        return has_digit(p, len); /* otherwise it is an ordinary word */
    if (reader->form == SFID_UUID)
        return false;
    if (len >= LEAST_DECIMALS && len <= (reader->wide ? 39 : 20) && all_decimal(p, len))
        return !in_fraction(line, from, to) && !is_negative(line, from);
    return (reader->form == SFID_DEC || reader->form == SFID_HEX) && len > 2 && p[0] == '0' &&
           (p[1] == 'x' || p[1] == 'X');
}

/* Finds the next word that may be an ID, and sets *from to its start. Returns false if there is
 * none. */
static bool find_number(struct source *source, size_t *from) {
    enum { UUID = 36 };
    const struct line *line = &source->line;
    const unsigned char *text = (const unsigned char *)line->text;
    size_t i = source->at;
    while (i < line->len) {
        while (i < line->len && !source->is_part[text[i]])
            i++;
        *from = i;
        while (i < line->len && source->is_part[text[i]])
            i++;
        if (source->reader->form == SFID_UUID && i - *from > UUID && text[i - UUID - 1] == '-')
            *from = i - UUID; /* a UUID may follow a word and a hyphen: request-017f22e2-... */
        source->at = i;
        if (may_be(source->reader, line, *from, i))
            return true;
    }
    return false;
}

static int next_number(struct source *source, struct found *found) {
    size_t from;
    if (source->at == SIZE_MAX) {
        const int rc = in_line(&source->in, &source->line);
        if (rc <= 0)
            return rc;
        source->at = 0;
    }
    const size_t before = source->at;
    *found =
        (struct found){.record = source->line.text + before, .line = source->in.line, .none = true};
    if (source->line.cut) {
        found->none = false;
        found->fault = "is longer than 1 MiB";
        found->id = source->line.text;
        found->len = source->line.len;
    } else if (find_number(source, &from)) {
        found->none = false;
        found->id = source->line.text + from;
        found->len = source->at - from;
        found->record_len = source->at - before;
        return 1;
    }
    found->record_len = source->line.len - before;
    found->crlf = source->line.crlf;
    source->at = SIZE_MAX; /* the next call reads a new line */
    return 1;
}

/* Writes the text up to and including an ID, or up to the end of the line. */
static void keep_line(struct source *source, const struct found *found, struct view *view,
                      const struct taken *taken) {
    source_put_mark(source);
    out_bytes(found->record, found->record_len);
    if (taken)
        out_until(view_put_note(view, out_room(OUT_ROOM), taken));
    if (source->at == SIZE_MAX)
        out_bytes(found->crlf ? "\r\n" : "\n", 1 + (size_t)found->crlf);
}

void source_grep(struct source *source, const struct reader *reader, bool keep_lines) {
    source_begin(source, reader, next_number, IN_LINE_MAX);
    source->keep = keep_lines ? keep_line : NULL;
    source->quiet = true;
    source->at = SIZE_MAX;
    for (int c = 0; c < 256; c++)
        source->is_part[c] = is_word((char)c) || (reader->form == SFID_UUID && c == '-');
}

/* ---- members of JSON objects ----------------------------------------------------- */

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

/* ---- their keys ------------------------------------------------------------- */

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

/* ---- objects of a line ---------------------------------------------------------------- */

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
