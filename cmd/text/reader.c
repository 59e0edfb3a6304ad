/* SPDX-License-Identifier: MIT */
/* reader.c - reads an ID in any form, and takes it apart. */
#include "text/reader.h"

#include "io/say.h"

#include <stdio.h>
#include <time.h>

const char *const id_forms[] = {[SFID_DEC] = "dec",       [SFID_HEX] = "hex",
                                [SFID_BASE62] = "base62", [SFID_BASE32] = "base32",
                                [SFID_BASE58] = "base58", [SFID_UUID] = "uuid",
                                [SFID_BYTES] = "bytes",   NULL};

/* How many digits a form is written with, and how many are accepted; for 64 and 128 bits. */
static const struct {
    const char *digit;
    size_t width[2], most[2];
} forms[] = {
    [SFID_DEC] = {"decimal", {0, 0}, {20, 39}},     [SFID_HEX] = {"hex", {16, 32}, {16, 32}},
    [SFID_BASE62] = {"base62", {11, 22}, {11, 22}}, [SFID_BASE32] = {"base32", {13, 26}, {13, 26}},
    [SFID_BASE58] = {"base58", {11, 22}, {11, 22}}, [SFID_UUID] = {"hex", {36, 36}, {36, 36}},
    [SFID_BYTES] = {"", {8, 16}, {8, 16}},
};

void reader_begin(struct reader *reader, sfid_form form, bool wide) {
    const size_t width = forms[form].width[wide];
    *reader = (struct reader){.wide = wide, .form = form, .least = width, .most = width};
}

void reader_begin_wide(struct reader *reader, const sfid_wide_layout *layout) {
    sfid_wide_facts facts;
    reader_begin(reader, sfid_wide_layout_describe(layout, &facts) < 0 ? SFID_HEX : facts.form,
                 true);
    if (layout->kind == SFID_AWSFLAKE) { /* not padded; 12 digits until 2021, 13 since */
        reader->least = 12;
        reader->most = 13;
    }
}

/* A text and its form. */
struct given {
    sfid_form form;
    const char *digits; /* after 0x, if any */
    size_t count;
};

bool all_decimal(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

static struct given look_at_text(const struct reader *reader, const char *text, size_t len) {
    struct given given = {reader->form, text, len};
    const bool numbers = reader->form == SFID_DEC || reader->form == SFID_HEX;
    if (numbers && len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        given = (struct given){SFID_HEX, text + 2, len - 2};
    else if (reader->form != SFID_DEC && reader->form != SFID_BYTES &&
             (len < reader->least || len > reader->most) && len > 0 && all_decimal(text, len))
        given.form = SFID_DEC;
    return given;
}

/* Returns 0 or an SFID_E… code. *at: where the text goes wrong; at may be NULL. */
static int parse_given(const struct reader *reader, const struct given *given, sfid_wide *id,
                       size_t *at) {
    int64_t narrow;
    if (reader->wide)
        return sfid_wide_from_text(given->form, given->digits, given->count, id, at);
    const int code = sfid_from_text_at(given->form, given->digits, given->count, &narrow, at);
    *id = (sfid_wide){0, (uint64_t)narrow};
    return code;
}

bool reader_read(const struct reader *reader, const char *text, size_t len, sfid_wide *id) {
    const struct given given = look_at_text(reader, text, len);
    return parse_given(reader, &given, id, NULL) == 0;
}

/* ---- errors -------------------------------------------------------------- */

static void wanted(const struct reader *reader, sfid_form form, char *text, size_t size) {
    if (form == SFID_UUID)
        snprintf(text, size, "a UUID, 32 hex digits as 8-4-4-4-12");
    else if (form == SFID_BYTES)
        snprintf(text, size, "%zu bytes", forms[form].most[reader->wide]);
    else if (form == SFID_DEC && reader->form == SFID_DEC)
        snprintf(text, size, "1 to %s decimal digits, or 0x and hex digits",
                 reader->wide ? "39" : "19");
    else
        snprintf(text, size, "1 to %zu %s digits", forms[form].most[reader->wide],
                 forms[form].digit);
}

void reader_explain(const struct reader *reader, const char *text, size_t len,
                    char why[READER_WHY]) {
    const struct given given = look_at_text(reader, text, len);
    char right[80];
    sfid_wide id;
    size_t at = 0;
    wanted(reader, given.form, right, sizeof right);
    const int code = parse_given(reader, &given, &id, &at);
    if (len == 0)
        snprintf(why, READER_WHY, "is empty; expected %s", right);
    else if (given.form == SFID_BYTES)
        snprintf(why, READER_WHY,
                 code == SFID_EOVERFLOW ? "is above the highest ID, 9223372036854775807"
                                        : "is not an ID; expected %s",
                 right);
    else if (code == SFID_EOVERFLOW && given.count > forms[given.form].most[reader->wide])
        snprintf(why, READER_WHY, "has %zu digits; expected %s", given.count, right);
    else if (code == SFID_EOVERFLOW)
        snprintf(why, READER_WHY, "is above the highest ID, %s",
                 reader->wide ? "2^128 - 1" : "9223372036854775807");
    else if (at < given.count)
        snprintf(why, READER_WHY, "is not an ID: character %zu is not a %s digit; expected %s",
                 (size_t)(given.digits - text) + at + 1, forms[given.form].digit, right);
    else
        snprintf(why, READER_WHY, "is too short; expected %s", right);
}

void say_bad(const char *unit, uint64_t number, const char *text, size_t len, const char *why) {
    say("%s %llu: %s %s", unit, (unsigned long long)number, quote(text, len).text, why);
}

/* ---- parts ---------------------------------------------------------------- */

/* How wide a column is whose largest value this is. */
static int width_of(uint64_t value) {
    const int least = 3;
    int n = 1;
    while (value >= 10) {
        value /= 10;
        n++;
    }
    return n < least ? least : n;
}

static int at_least(int least, int n) { return n < least ? least : n; }

/* Returns whether the field's makers have a word for it. A part of the sequence has a name only
 * because it is not in one piece. */
static bool is_named(const sfid_field *field, unsigned seq_bits) {
    if (field->kind == SFID_FIELD_SEQ)
        return field->bits == seq_bits && strcmp(field->name, "seq") != 0;
    return (field->kind == SFID_FIELD_TIME && strcmp(field->name, "time") != 0) ||
           (field->kind == SFID_FIELD_PID && strcmp(field->name, "pid") != 0);
}

static void find_own(struct view *view, const sfid_field *fields, int count, unsigned seq_bits) {
    enum { LEAST = 10 };
    view->label_width = LEAST;
    for (int i = 0; i < count; i++)
        if (is_named(&fields[i], seq_bits)) {
            view->own[view->own_count++] = fields[i];
            view->label_width = at_least((int)strlen(fields[i].name), view->label_width);
        }
}

void view_begin(struct view *view, const struct any_layout *any, enum view_format format) {
    enum { AWSFLAKE_DIGITS = 13 };
    sfid_wide_facts facts;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    memset(view, 0, sizeof *view);
    view->wide = any->wide;
    view->layout = any->layout;
    view->wide_layout = any->wide_layout;
    view->format = format;
    if (any_layout_describe(any, &facts) < 0)
        return; /* impossible: the layout was accepted */
    if ((any->wide ? sfid_wide_layout_format(&any->wide_layout, view->name, sizeof view->name)
                   : sfid_layout_format(&any->layout, view->name, sizeof view->name)) < 0)
        view->name[0] = '\0'; /* the layout has no text form */
    view->name_len = strlen(view->name);
    view->form = facts.form;
    view->width = facts.width;
    view->random = facts.max_random > 0;
    view->id_width = any->wide ? at_least(AWSFLAKE_DIGITS, (int)facts.width) : width_of(INT64_MAX);
    view->pid_width = width_of(facts.max_pid);
    view->seq_width = width_of(facts.max_seq);
    find_own(view, fields,
             any->wide ? sfid_wide_layout_fields(&any->wide_layout, fields, COUNT_OF(fields))
                       : sfid_layout_fields(&any->layout, fields, COUNT_OF(fields)),
             64 - (unsigned)__builtin_clzll(facts.max_seq | 1));
}

bool view_take(const struct view *view, sfid_wide id, struct taken *taken) {
    sfid_parts parts;
    int code;
    if (view->wide) {
        sfid_wide_parts wide;
        code = sfid_wide_parse(&view->wide_layout, id, &wide);
        if (code == 0)
            *taken = (struct taken){id, wide.tick, wide.pid, wide.seq, wide.random, wide.unix_ms};
        return code == 0;
    }
    code = sfid_inline_parse(&view->layout, (int64_t)id.low, &parts);
    if (code == 0)
        *taken = (struct taken){id, parts.tick, parts.pid, parts.seq, 0, parts.unix_ms};
    return code == 0;
}

static int64_t ms_since(int64_t unix_ms, clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - unix_ms;
}

int64_t view_age(const struct taken *taken) { return ms_since(taken->unix_ms, CLOCK_REALTIME); }

/* Asks the clock only about times after the last answer, and one that costs a fifth and is a few
 * milliseconds late. */
bool view_is_future(const struct taken *taken) {
    static int64_t now;
    if (taken->unix_ms - MINUTE <= now)
        return false;
    now = taken->unix_ms + ms_since(taken->unix_ms, CLOCK_REALTIME_COARSE);
    return taken->unix_ms - MINUTE > now;
}
