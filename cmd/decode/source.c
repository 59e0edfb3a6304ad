/* SPDX-License-Identifier: MIT */
/*
 * source.c - what sources have in common, and IDs in lines: alone, or anywhere in text.
 *
 * A word between two characters that are neither letter nor digit may be an ID
 * if its length fits: any number of ten digits or more, but other forms only at
 * full width, or every word would match. The caller checks whether its time
 * makes sense.
 */
#include "decode/source.h"

#include "text/show.h"

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
