/* SPDX-License-Identifier: MIT */
/* reader.c - reads IDs in all their forms. */
#include "text/reader.h"

#include "io/say.h"

#include <stdio.h>

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

static bool is_id(const struct reader *reader, const struct given *given, sfid_wide *id) {
    int64_t narrow;
    if (reader->wide)
        return sfid_wide_from_text(given->form, given->digits, given->count, id, NULL) == 0;
    if (sfid_from_text(given->form, given->digits, given->count, &narrow) < 0)
        return false;
    *id = (sfid_wide){0, (uint64_t)narrow};
    return true;
}

bool reader_read(const struct reader *reader, const char *text, size_t len, sfid_wide *id) {
    const struct given given = look_at_text(reader, text, len);
    return is_id(reader, &given, id);
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

static int find_wrong(const struct reader *reader, const struct given *given, size_t *at) {
    sfid_wide id;
    int64_t narrow;
    return reader->wide ? sfid_wide_from_text(given->form, given->digits, given->count, &id, at)
                        : sfid_from_text_at(given->form, given->digits, given->count, &narrow, at);
}

void reader_explain(const struct reader *reader, const char *text, size_t len,
                    char why[READER_WHY]) {
    const struct given given = look_at_text(reader, text, len);
    char right[80];
    size_t at = 0;
    wanted(reader, given.form, right, sizeof right);
    const int code = find_wrong(reader, &given, &at);
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
