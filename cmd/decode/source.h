/* SPDX-License-Identifier: MIT */
/* source.h - places in the input where IDs are: lines, columns, members, any text. */
#ifndef CMD_DECODE_SOURCE_H
#define CMD_DECODE_SOURCE_H

#include "io/in.h"
#include "io/out.h"
#include "text/reader.h"

/*
 * A source returns one place after another. The caller reports a place without
 * a valid ID, unless the source is quiet: there it is no fault. A source that
 * keeps records writes them out again, with the parts of the ID added.
 */

struct column {
    char separator;
    const char *name; /* NULL: by number */
    size_t index;     /* from 0 */
    bool header;      /* the first record holds the names */
    size_t width;     /* columns of the first record; 0: none was read */
};

#define SOURCE_HEADER (64 * 1024)
#define SOURCE_DEPTH 32 /* depth of objects that a key may lead into */

/* A place. Its texts are valid until the next one is read. */
struct found {
    const char *record; /* the whole record, without its line end */
    size_t record_len;
    bool crlf;
    const char *id;
    size_t len;
    uint64_t line; /* where the record begins, from 1 */
    /* columns missing compared with the first record; they are filled up before others are added */
    size_t missing;
    bool part;         /* the record is longer than what was read of it */
    bool none;         /* no ID here, which is no fault */
    const char *fault; /* what is wrong with the record, to follow its text; NULL: nothing */
};

struct source {
    /* Returns 1, 0 at the end, or -1 with errno if reading failed. */
    int (*next)(struct source *source, struct found *found);

    /* Writes the record with the parts of its ID; taken NULL: it has no ID. NULL: the source does
     * not keep records. */
    void (*keep)(struct source *source, const struct found *found, struct view *view,
                 const struct taken *taken);

    /* Writes what comes first. Returns STATUS_GOOD, or, after a message, the exit status to end
     * with. NULL: nothing comes first. */
    int (*begin)(struct source *source, struct view *view);

    const char *unit; /* what the line number counts: "line" */
    bool quiet;
    const struct reader *reader;
    struct column column;
    const char *key;
    char fault[320];
    char resolved[256]; /* for keys: the ID, if it is written with escapes */

    /* for CSV and TSV: the header, the output format, and whether to keep other columns */
    char header[SOURCE_HEADER];
    size_t header_len;
    enum view_format format;

    /* for grep: the read position in the line, and the characters of words */
    size_t at;
    bool is_part[256];
    struct line line;
    struct in in;
};

/* Writes the byte order mark of the first line, for text that is kept unchanged. */
static inline void source_put_mark(struct source *source) {
    if (source->in.mark)
        out_bytes(BYTE_ORDER_MARK, sizeof BYTE_ORDER_MARK - 1);
    source->in.mark = false;
}

/* Sets up what sources have in common. */
void source_begin(struct source *source, const struct reader *reader,
                  int (*place)(struct source *, struct found *), size_t max);

/* One ID a line; with bytes, one after the other. Reading from standard input begins at once. */
void source_lines(struct source *source, const struct reader *reader);

/* IDs anywhere in text. Reading from standard input begins at once. */
void source_grep(struct source *source, const struct reader *reader, bool keep);

/* IDs in a member of JSON objects, one a line. Reading from standard input begins at once. */
void source_key(struct source *source, const struct reader *reader, const char *key, bool keep);

/*
 * Digits may be written as escapes of JSON, such as \u0031. Resolves those of a place that was no
 * ID as it stands. Returns false if there are none; a text that is too long for an ID, or invalid,
 * stays as it is.
 */
bool source_resolve(struct source *source, struct found *found);

#endif
