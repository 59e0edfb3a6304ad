/* SPDX-License-Identifier: MIT */
/*
 * streams.c - any bytes as CSV, TSV, JSON lines and text. A place lies inside
 * its record, records are in order, and kept text stays the same. CSV is parsed
 * a second time, byte by byte.
 */
#define _GNU_SOURCE 1
#include "command.h"
#include "decode/candidates.h"
#include "decode/column.h"
#include "decode/damaged.h"
#include "decode/makers.h"
#include "decode/source.h"
#include "io/say.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- promises --------------------------------------------------------------- */

/* Finds the column-th field of a whole record as RFC 4180 says. Returns false if there are
 * fewer. */
static bool naive_field(const struct found *found, const struct column *column, size_t *from,
                        size_t *to) {
    size_t number = 0, i = 0;
    for (;; i++, number++) {
        const bool quoted =
            column->separator == ',' && i < found->record_len && found->record[i] == '"';
        bool inside = quoted;
        *from = i += quoted;
        while (i < found->record_len && (inside || found->record[i] != column->separator)) {
            if (inside && found->record[i] == '"')
                inside =
                    i + 1 < found->record_len && found->record[i + 1] == '"' ? (i++, true) : false;
            i++;
        }
        HOLDS(!inside);
        *to = i - quoted;
        if (number == column->index)
            return true;
        if (i >= found->record_len)
            return false;
    }
}

static void check_column(const struct source *source, const struct found *found) {
    size_t from, to;
    HOLDS(naive_field(found, &source->column, &from, &to) || found->record_len == 0);
    if (found->record_len == 0)
        return;
    if (source->column.separator == '\t' && to - from >= 2 && found->record[from] == '"' &&
        found->record[to - 1] == '"') {
        from++;
        to--;
    }
    HOLDS(found->id == found->record + from && found->len == to - from);
}

static void check_found(const struct source *source, const struct found *found, uint64_t line,
                        bool columns) {
    HOLDS(found->line >= line);
    HOLDS(found->fault == NULL || found->fault[0] != '\0');
    if (found->fault || found->none)
        return;
    HOLDS(found->id >= found->record &&
          found->id + found->len <= found->record + found->record_len);
    if (columns)
        check_column(source, found);
}

/* Without additions, text comes out unchanged. A line end is added if the last line has none. */
static void check_text(const char *data, size_t size) {
    const bool open = size > 0 && data[size - 1] != '\n';
    HOLDS(caught_len == size + open && memcmp(caught, data, size) == 0 &&
          (!open || caught[size] == '\n'));
}

static int input(const char *data, size_t size) {
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    HOLDS(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

enum { CSV, TSV, KEY, GREP, LINES, KINDS };

static void begin(struct source *source, const struct reader *reader, unsigned kind,
                  unsigned flags) {
    static const enum view_format formats[] = {VIEW_CSV, VIEW_TSV, VIEW_JSON, VIEW_TEXT};
    const struct column column = {.separator = kind == CSV ? ',' : '\t',
                                  .name = flags & 4 ? "id" : NULL,
                                  .index = flags >> 4 & 3,
                                  .header = (flags & 8) != 0};
    if (kind == CSV || kind == TSV)
        source_column(source, reader, &column, formats[flags & 3]);
    else if (kind == KEY)
        source_key(source, reader, flags & 1 ? "a.b.c" : "id", true);
    else if (kind == GREP)
        source_grep(source, reader, true);
    else
        source_lines(source, reader);
}

/* For IDs of either width, with all parts shown. */
static void begin_view(struct view *view, bool wide, unsigned flags) {
    static const sfid_wide_layout wide_layout[] = {{SFID_FLAKE, 0, 0},
                                                   {SFID_AWSFLAKE, 0, SFID_AWSFLAKE_EPOCH_MS},
                                                   {SFID_UUID7, 0, 0},
                                                   {SFID_FLAKE_GO, 0, 0}};
    const struct any_layout any = {wide, SFID_LAYOUT(41, 10, 12, 1, 1288834974657),
                                   wide_layout[flags & 3]};
    view_begin(view, &any, VIEW_TEXT);
    view->partition = flags & 64 ? PARTITION_HOUR : PARTITION_NONE;
    view->age = (flags & 32) != 0;
}

/* A form has a name, a message, and parts that end. */
static void check_forms(const struct found *found) {
    struct made made;
    char why[READER_WHY] = "";
    if (!maker_find(found->id, found->len, &made)) {
        HOLDS(!damaged_explain(found->id, found->len, why) || why[0] != '\0');
        return;
    }
    HOLDS(made.name[0] != '\0' && made.what[0] != '\0' && made.parts <= MAKER_PARTS &&
          (made.timed || !made.odd));
    for (unsigned i = 0; i < made.parts; i++)
        HOLDS(memchr(made.part[i].value, '\0', MAKER_VALUE) != NULL &&
              made.part[i].value[0] != '\0');
    maker_explain(&made, "sfid", why);
    HOLDS(why[0] != '\0');
}

/* A refusal has an explanation. Text that no named layout can read is no ID of this one either. */
static void check_read(const struct reader *reader, const struct found *found, struct view *view,
                       bool good) {
    static struct guess guess;
    char why[READER_WHY] = "";
    sfid_wide id;
    check_forms(found);
    if (guess.count == 0 || guess.count > 1000)
        guess_begin(&guess, SFID_HEX);
    const bool known = guess_add(&guess, found->id, found->len);
    if (good && !view->wide && reader->form == SFID_HEX)
        HOLDS(known);
    if (good || reader_read(reader, found->id, found->len, &id))
        return;
    reader_explain(reader, found->id, found->len, why);
    say_bad("line", found->line, found->id, found->len, why);
    HOLDS(why[0] != '\0');
}

static void run(struct source *source, unsigned kind, bool limited, const char *data, size_t size,
                unsigned flags) {
    struct found found;
    static struct view view;
    uint64_t line = 0;
    bool cut = false;
    begin_view(&view, source->reader->wide, flags);
    caught_len = 0;
    if (limited)
        source->in.max = 32;
    if (source->begin && source->begin(source, &view) != STATUS_GOOD)
        return;
    while (source->next(source, &found) > 0) {
        struct taken taken;
        sfid_wide id;
        check_found(source, &found, line, kind == CSV || kind == TSV);
        line = found.line;
        cut |= found.fault != NULL;
        const bool good = !found.fault && !found.none &&
                          reader_read(source->reader, found.id, found.len, &id) &&
                          view_take(&view, id, &taken);
        if (!found.fault && !found.none)
            check_read(source->reader, &found, &view, good);
        if (!good && kind == KEY && source_resolve(source, &found))
            HOLDS(found.id == source->resolved && found.len <= sizeof source->resolved &&
                  memchr(found.id, '\\', found.len) == NULL);
        if (source->keep && !found.fault)
            source->keep(source, &found, &view, good && kind != GREP ? &taken : NULL);
        if (caught_len > sizeof caught / 2)
            return;
    }
    if (kind == GREP && !cut)
        check_text(data, size);
    if ((kind == CSV || kind == TSV) && source->format == VIEW_JSON)
        HOLDS(caught_utf8());
}

int fuzz_streams(const uint8_t *data, size_t size) {
    static struct source source;
    struct reader reader;
    const unsigned kind = (unsigned)fuzz_take(&data, &size, 1) % KINDS,
                   flags = (unsigned)fuzz_take(&data, &size, 1);
    const unsigned form = (unsigned)fuzz_take(&data, &size, 1);
    char *text = fuzz_copy(data, size, 0);
    reader_begin(&reader, form % (kind == LINES ? SFID_BYTES + 1 : SFID_BYTES), (form & 64) != 0);
    begin(&source, &reader, kind, flags);
    /* a directory: cannot be read */
    source.in.fd = size > 0 ? input(text, size) : open("/", O_RDONLY | O_CLOEXEC);
    run(&source, kind, (form & 128) != 0, text, size, flags);
    close(source.in.fd);
    free(text);
    return 0;
}

FUZZ_TARGET(streams)
