/* SPDX-License-Identifier: MIT */
/* source.c - what sources have in common, and IDs in lines. */
#include "decode/source.h"

#include <unistd.h>

#define LONGEST 256 /* longer than any ID */

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

void source_lines(struct source *source, const struct reader *reader) {
    source_begin(source, reader, next_line, LONGEST);
    source->unit = reader->form == SFID_BYTES ? "ID" : "line";
}
