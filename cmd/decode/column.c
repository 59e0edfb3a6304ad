/* SPDX-License-Identifier: MIT */
/* column.c - IDs in a column of CSV or TSV: reads records, writes them in either, or as JSON. */
#include "decode/column.h"

#include "io/json.h"
#include "io/say.h"
#include "text/hint.h"
#include "text/show.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "sfid_" /* prefix of added columns: a record may have a "time" of its own */

/* ---- fields --------------------------------------------------------------- */

/*
 * CSV follows RFC 4180: a quoted field may hold separators, line ends and
 * doubled quotes. In TSV quotes mean nothing, but those around a whole field
 * are no part of its value.
 */
struct field {
    const char *text; /* without the outer quotes; doubled quotes are still double */
    size_t len;
    bool quoted;
    size_t seen; /* CSV_OPEN: how far the text was searched; 0 for a new field */
};

enum csv_end { CSV_FIELD, CSV_LAST, CSV_OPEN, CSV_GARBAGE };

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

/*
 * Reads the field at *at and moves *at to the next one. CSV_LAST: no field
 * follows. CSV_OPEN: the text ends inside quotes; a call with the same field
 * and more text continues there. CSV_GARBAGE: something follows the closing
 * quote.
 */
static enum csv_end read_field(char separator, const char *text, size_t len, size_t *at,
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

/*
 * Returns what stands for a byte that cannot be written as it is, or NULL if it can. *i moves to
 * the last byte of a character, or of two quotes that mean one.
 */
static const char *replacement(enum view_format format, const struct field *field, size_t *i) {
    static char code[8] = "\\u00";
    const unsigned char c = (unsigned char)field->text[*i];
    const bool quote = c == '"';
    if (format == VIEW_CSV)
        return quote && !field->quoted ? "\"\"" : NULL;
    *i += quote && field->quoted;
    /* TSV cannot express a TAB or a line end. A space replaces each. */
    if (format == VIEW_TSV)
        return quote ? "\"" : c == '\t' || c == '\n' || c == '\r' ? " " : NULL;
    if (quote || c == '\\')
        return quote ? "\\\"" : "\\\\";
    if (c >= 0x80) {
        /* JSON is UTF-8. Bytes in another encoding would make all of it unreadable. */
        const size_t n = utf8_length(field->text + *i, field->len - *i);
        *i += n > 1 ? n - 1 : 0;
        return n > 0 ? NULL : "\\ufffd";
    }
    code[4] = (char)('0' + (c >> 4));
    code[5] = "0123456789abcdef"[c & 15];
    return code;
}

/* Writes runs of bytes, since few need a replacement. */
static void write_escaped(enum view_format format, const struct field *field) {
    size_t from = 0;
    for (size_t i = 0; i < field->len; i++) {
        const unsigned char c = (unsigned char)field->text[i];
        const size_t end = i;
        const char *text =
            c < 0x20 || c == '"' || c == '\\' || c >= 0x80 ? replacement(format, field, &i) : NULL;
        if (text == NULL)
            continue;
        out_bytes(field->text + from, end - from);
        out_bytes(text, strlen(text));
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

/* Writes a value as a field of TSV or CSV, or between the quotes of a JSON string. */
static void write_field(enum view_format format, const struct field *field) {
    const bool quotes = format == VIEW_CSV && wants_quotes(field);
    out_bytes("\"", quotes);
    write_escaped(format, field);
    out_bytes("\"", quotes);
}

/* ---- records -------------------------------------------------------------- */

static int fault(struct source *source, struct found *found, const char *what, ...)
    CLI_PRINTF(3, 4);
static int fault(struct source *source, struct found *found, const char *what, ...) {
    va_list args;
    va_start(args, what);
    vsnprintf(source->fault, sizeof source->fault, what, args);
    va_end(args);
    found->fault = source->fault;
    return 1;
}

/* The place of the ID in a record, as an offset: the text moves when more of it is read. */
struct place {
    size_t columns, at, len;
};

/* Walks the fields. Returns 1, 0 if the last one is open, or -1 if something follows the quote that
 * ends field place->columns. */
static int walk(const struct column *column, const struct line *line, struct place *place,
                size_t *at, struct field *field) {
    for (;;) {
        const enum csv_end end = read_field(column->separator, line->text, line->len, at, field);
        if (end == CSV_OPEN)
            return 0;
        if (place->columns++ == column->index) {
            place->at = (size_t)(field->text - line->text);
            place->len = field->len;
        }
        if (end == CSV_GARBAGE)
            return -1;
        if (end == CSV_LAST)
            return 1;
    }
}

/* Reads on while a quote is open. A bad record costs only its first line: its stray quote may have
 * swallowed many good ones. */
static int read_record(struct source *source, struct found *found, struct place *place) {
    struct line *line = &source->line;
    const bool crlf = line->crlf;
    const size_t first = line->len, behind = line->len + crlf + 1;
    struct field field = {.seen = 0};
    size_t at = 0;
    int rc = walk(&source->column, line, place, &at, &field), more = 1;
    while (rc == 0 && (more = in_more(&source->in, line)) > 0 && !line->cut)
        rc = walk(&source->column, line, place, &at, &field);
    if (more < 0)
        return more;
    if (rc > 0)
        return 1;
    if (source->in.line > found->line)
        in_back(&source->in, behind, found->line);
    line->len = first;
    line->crlf = crlf;
    return rc < 0 ? fault(source, found, "has text after the closing quote of column %zu",
                          place->columns)
                  : fault(source, found, "has an unclosed quote in column %zu", place->columns + 1);
}

/* Returns whether this is NULL in a dump of PostgreSQL or MySQL. An empty field or line holds no ID
 * either. */
static bool is_null(const char *text, size_t len) {
    return (len == 2 && memcmp(text, "\\N", 2) == 0) || (len == 4 && memcmp(text, "NULL", 4) == 0);
}

/*
 * Added columns follow those of the first record. A shorter record is filled up
 * first. In a longer one, another value would stand in their place.
 */
static int check_width(struct source *source, struct found *found, size_t columns) {
    struct column *column = &source->column;
    if (column->width == 0)
        column->width = columns;
    if (columns > column->width && source->keep && source->format != VIEW_JSON)
        return fault(source, found, "has %zu columns; the first record has %zu", columns,
                     column->width);
    found->missing = columns < column->width ? column->width - columns : 0;
    return 1;
}

static int next_record(struct source *source, struct found *found) {
    struct place place = {0, 0, 0};
    int rc = in_line(&source->in, &source->line);
    if (rc <= 0)
        return rc;
    *found = (struct found){.line = source->in.line, .part = source->line.cut};
    if (source->line.cut)
        found->fault = "is longer than 1 MiB";
    else if ((rc = read_record(source, found, &place)) < 0)
        return rc;
    found->record = source->line.text;
    found->record_len = source->line.len;
    found->crlf = source->line.crlf;
    found->id = found->record + place.at;
    found->len = place.len;
    if (found->fault)
        return 1;
    if (place.columns <= source->column.index && found->record_len > 0)
        return fault(source, found, "has too few columns; expected the ID in column %zu%s",
                     source->column.index + 1,
                     hint_columns(source->column.separator, found->record, found->record_len));
    found->none =
        place.len == 0 || (source->column.separator == '\t' && is_null(found->id, found->len));
    return found->record_len > 0 ? check_width(source, found, place.columns) : 1;
}

/* ---- the header ----------------------------------------------------------- */

static bool is_named(const struct field *field, const char *name) {
    return field->len == strlen(name) && memcmp(field->text, name, field->len) == 0;
}

/* Finds the column by name. Returns false, with a message, if there is none or more than one. */
static bool find_name(struct source *source, unsigned long long line) {
    struct column *column = &source->column;
    size_t at = 0, found = 0;
    enum csv_end end = CSV_FIELD;
    for (size_t number = 1; end == CSV_FIELD; number++) {
        struct field field = {.seen = 0};
        end = read_field(column->separator, source->header, source->header_len, &at, &field);
        if (!is_named(&field, column->name))
            continue;
        if (found > 0)
            return refuse("line %llu: columns %zu and %zu are both named %s; use the number", line,
                          found, number, QUOTE(column->name));
        found = number;
    }
    column->index = found - 1;
    if (found == 0)
        say("line %llu: %s has no column %s%s", line,
            quote(source->header, source->header_len).text, QUOTE(column->name),
            hint_columns(column->separator, source->header, source->header_len));
    return found > 0;
}

/* Writes the name of a member, from the header if the column has a name there. *at is the read
 * position in the header. */
static void write_name(const struct source *source, size_t column, size_t *at) {
    struct field name = {.seen = 0};
    const bool named = source->header_len > 0 && (column == 0 || *at > 0);
    out_bytes("\"", 1);
    if (named && read_field(source->column.separator, source->header, source->header_len, at,
                            &name) != CSV_FIELD)
        *at = 0; /* the header ends here */
    if (named)
        write_field(VIEW_JSON, &name);
    else
        out_until(put_dec(out_room(DEC_ROOM), column + 1));
    out_bytes("\":\"", 3);
}

/* Writes all fields of a record in another format. */
static void write_fields(struct source *source, const char *text, size_t len) {
    const char separator = source->format == VIEW_TSV ? '\t' : ',';
    const bool json = source->format == VIEW_JSON;
    size_t at = 0, name_at = 0;
    enum csv_end end = CSV_FIELD;
    for (size_t i = 0; end == CSV_FIELD; i++) {
        struct field field = {.seen = 0};
        end = read_field(source->column.separator, text, len, &at, &field);
        out_bytes(&separator, i > 0);
        if (json)
            write_name(source, i, &name_at);
        write_field(source->format, &field);
        out_bytes("\"", json);
    }
}

static bool is_own(const struct source *source) {
    return source->format == (source->column.separator == ',' ? VIEW_CSV : VIEW_TSV);
}

static void write_record(struct source *source, const char *text, size_t len) {
    if (!is_own(source)) {
        write_fields(source, text, len);
        return;
    }
    source_put_mark(source);
    out_bytes(text, len);
}

static void write_header(struct source *source, struct view *view, bool crlf) {
    if (source->format == VIEW_JSON)
        return;
    write_record(source, source->header, source->header_len);
    char *p =
        view_put_names(view, out_room(OUT_ROOM), PREFIX, source->format == VIEW_TSV ? '\t' : ',');
    out_until(put_text(p, crlf && is_own(source) ? "\r\n" : "\n"));
}

static int begin_columns(struct source *source, struct view *view) {
    struct found found;
    if (!source->column.header)
        return STATUS_GOOD;
    int rc;
    do /* the first record that is not empty has the names */
        rc = next_record(source, &found);
    while (rc > 0 && found.record_len == 0 && !found.fault);
    if (rc < 0)
        return fail(STATUS_IO, "standard input: %s", strerror(errno));
    if (rc == 0)
        return STATUS_GOOD;
    if (found.record_len > sizeof source->header)
        return fail(STATUS_BAD_INPUT, "line %llu: %s has more than %zu bytes of names",
                    (unsigned long long)found.line, quote(found.record, found.record_len).text,
                    sizeof source->header);
    if (found.fault) {
        say_bad(source->unit, found.line, found.record, found.record_len, found.fault);
        return STATUS_BAD_INPUT;
    }
    if (memchr(found.record, '\r', found.record_len) &&
        !memchr(found.record, '"',
                found.record_len)) { /* CR line ends: all input is one line, of names */
        say_bad(source->unit, found.line, found.record, found.record_len,
                "has a CR inside; lines must end in LF or CR LF: tr '\\r' '\\n'");
        return STATUS_BAD_INPUT;
    }
    memcpy(source->header, found.record, found.record_len);
    source->header_len = found.record_len;
    if (source->column.name && !find_name(source, found.line))
        return STATUS_BAD_INPUT;
    if (source->keep)
        write_header(source, view, found.crlf);
    return STATUS_GOOD;
}

/* ---- output ---------------------------------------------------------------- */

static void keep_record(struct source *source, const struct found *found, struct view *view,
                        const struct taken *taken) {
    if (found->record_len == 0 || (found->fault && !is_own(source)))
        return; /* what is no record cannot be written as another one */
    if (found->fault) {
        write_record(source, found->record, found->record_len);
        out_bytes(found->crlf ? "\r\n" : "\n", 1 + (size_t)found->crlf);
        return;
    }
    if (source->format == VIEW_JSON)
        out_bytes("{", 1);
    write_record(source, found->record, found->record_len);
    const char separator = source->format == VIEW_TSV ? '\t' : ',';
    for (size_t i = 0; i < found->missing && source->format != VIEW_JSON; i++)
        out_bytes(&separator, 1);
    char *p = out_room(OUT_ROOM);
    if (source->format != VIEW_JSON)
        p = view_put_columns(view, p, taken, separator);
    else if (taken)
        p = put_text(view_put_members(view, put_text(p, ",\"sfid\":{"), taken), "}}");
    else
        p = put_text(p, "}");
    out_until(put_text(p, found->crlf && is_own(source) ? "\r\n" : "\n"));
}

void source_column(struct source *source, const struct reader *reader, const struct column *column,
                   enum view_format format) {
    source_begin(source, reader, next_record, IN_LINE_MAX);
    source->keep =
        format == VIEW_CSV || format == VIEW_TSV || format == VIEW_JSON ? keep_record : NULL;
    source->begin = begin_columns;
    source->column = *column;
    source->column.header |= column->name != NULL;
    source->format = format;
    source->header_len = 0;
}
