/* SPDX-License-Identifier: MIT */
/*
 * source.h - IDs inside what is read: lines, columns, members, any text.
 *
 * A source hands out one place after the other where an ID should be. What
 * cannot be taken apart there is told by whoever asks, but for a quiet source,
 * where it is no fault. A source that keeps records writes them out again,
 * with what the ID is made of.
 */
#ifndef CMD_DECODE_SOURCE_H
#define CMD_DECODE_SOURCE_H

#include "io/in.h"
#include "io/out.h"
#include "text/reader.h"
#include "text/view.h"

/* A column of CSV or TSV. */
struct column {
    char separator;
    const char *name; /* NULL: by number */
    size_t index;     /* from 0 */
    bool header;      /* the first record has the names */
    size_t width;     /* how many columns the first record has; 0: none was read */
};

#define SOURCE_HEADER (64 * 1024)
#define SOURCE_DEPTH 32 /* of objects that a key leads into */

/* One place. All texts are valid until the next one is asked for. */
struct found {
    const char *record; /* the whole of it, without its line end */
    size_t record_len;
    bool crlf;
    const char *id;
    size_t len;
    uint64_t line;     /* of its beginning, from 1 */
    size_t missing;    /* so many columns fewer than the first record: before any are added, they are filled up */
    bool none;         /* no ID is there, and that is no fault */
    const char *fault; /* what is wrong with the record, to stand behind its text; NULL: nothing */
};

struct source {
    /* 1; 0 at the end; -1 with errno where reading failed. */
    int (*next)(struct source *source, struct found *found);

    /* Writes the record, with what was taken from its ID; taken NULL: there is none. NULL: records are not kept. */
    void (*keep)(struct source *source, const struct found *found, struct view *view, const struct taken *taken);

    /* What comes first of all. Returns STATUS_GOOD, or the exit status to end with, told. NULL: nothing comes first. */
    int (*begin)(struct source *source, struct view *view);

    const char *unit; /* what is numbered: "line" */
    bool quiet;
    const struct reader *reader;
    struct column column;
    const char *key;
    char fault[320];

    /* of CSV and TSV: the header, what is written, and whether the other columns are */
    char header[SOURCE_HEADER];
    size_t header_len;
    enum view_format format;

    /* of grep: how much of the line is handed out, and what words are made of */
    size_t at;
    bool is_part[256];
    struct line line;
    struct in in;
};

/* The byte order mark that was before the first line, for text that is kept as it is. */
static inline void source_put_mark(struct source *source) {
    if (source->in.mark)
        out_bytes(BYTE_ORDER_MARK, sizeof BYTE_ORDER_MARK - 1);
    source->in.mark = false;
}

/* Each sets the source up; reading begins at once on standard input. */
void source_lines(struct source *source, const struct reader *reader); /* one ID a line; or, of bytes, one behind the other */
void source_column(struct source *source, const struct reader *reader, const struct column *column, enum view_format format);
void source_key(struct source *source, const struct reader *reader, const char *key, bool keep);
void source_grep(struct source *source, const struct reader *reader, bool keep);

#endif
