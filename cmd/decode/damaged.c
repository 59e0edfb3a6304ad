/* SPDX-License-Identifier: MIT */
/* damaged.c - explains what a spreadsheet or a float has made of an ID. */
#include "decode/damaged.h"

#include "decode/rounded.h"
#include "io/digits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXACT (UINT64_C(1) << 53)

static size_t count_digits(const char *text, size_t len) {
    size_t n = 0;
    while (n < len && is_digit(text[n]))
        n++;
    return n;
}

/* ="479" and ="""479""", as in a quoted field of CSV. */
static bool is_formula(const char *text, size_t len) {
    if (len < 4 || text[0] != '=' || text[1] != '"')
        return false;
    const size_t quotes = text[2] == '"' ? 2 : 1;
    const size_t digits = count_digits(text + 1 + quotes, len - 1 - quotes);
    return digits > 0 && len == 1 + quotes + digits + quotes && text[len - 1] == '"' &&
           text[len - quotes] == '"';
}

/* The first digits of a text, which may have a point among them, as a number; 0: it is no ID. */
static uint64_t read_digits(const char *text, size_t count) {
    char digits[20];
    uint64_t value;
    for (size_t n = 0; n < count; text++)
        if (is_digit(*text))
            digits[n++] = *text;
    digits[count] = '\0';
    return read_u64(digits, INT64_MAX, &value) ? value : 0;
}

/* A decimal number with an exponent: 4.79E+17. */
struct scientific {
    size_t digits;  /* that are written */
    uint64_t whole; /* digits of the number */
    uint64_t value; /* if it is as long as an ID, and all its digits are written; or 0 */
    char letter;
    bool padded; /* E+017 */
};

static bool read_scientific(const char *text, size_t len, struct scientific *s) {
    const size_t before = count_digits(text, len);
    size_t at = before, behind = 0;
    if (before == 0)
        return false;
    if (at < len && (text[at] == '.' || text[at] == ',')) {
        behind = count_digits(text + at + 1, len - at - 1);
        at += 1 + behind;
    }
    if (at >= len || (text[at] != 'e' && text[at] != 'E'))
        return false;
    s->letter = text[at++];
    at += at < len && text[at] == '+';
    const size_t exponent_digits = count_digits(text + at, len - at);
    if (exponent_digits == 0 || exponent_digits > 3 || at + exponent_digits != len)
        return false;
    s->padded = exponent_digits == 3;
    unsigned exponent = 0;
    for (; at < len; at++)
        exponent = exponent * 10 + (unsigned)(text[at] - '0');
    s->whole = before + exponent;
    s->digits = before + behind;
    s->value = s->digits < s->whole || s->whole > 19 ? 0 : read_digits(text, s->whole);
    return true;
}

/* Digits, a point, and zeros alone. */
static bool read_float(const char *text, size_t len, uint64_t *value) {
    char digits[24];
    const size_t before = count_digits(text, len);
    if (before == 0 || before + 2 > len || before >= sizeof digits || text[before] != '.')
        return false;
    for (size_t i = before + 1; i < len; i++)
        if (text[i] != '0')
            return false;
    memcpy(digits, text, before);
    digits[before] = '\0';
    return read_u64(digits, INT64_MAX, value);
}

bool damaged_explain(const char *text, size_t len, char why[READER_WHY]) {
    struct scientific s;
    uint64_t value;
    if (is_formula(text, len)) {
        snprintf(
            why, READER_WHY,
            "is a formula by which a spreadsheet keeps digits as text: none is lost; leave out = and the quotes");
    } else if (len > 1 && text[0] == '\'' && count_digits(text + 1, len - 1) == len - 1) {
        snprintf(
            why, READER_WHY,
            "has the apostrophe by which a spreadsheet keeps digits as text: none is lost; leave it out");
    } else if (read_scientific(text, len, &s)) {
        const char *by = s.letter == 'e' ? "Python, pandas, R or JavaScript"
                         : s.padded      ? "a program on Windows"
                                         : "a spreadsheet";
        if (s.value > EXACT && rounded_may_be(s.value))
            snprintf(
                why, READER_WHY,
                "is a number as %s writes it: its last digits are lost; read it anew from its source, as text",
                by);
        else if (s.digits >= s.whole)
            snprintf(why, READER_WHY,
                     "is a number as %s writes it: no digit is lost; write it without an exponent",
                     by);
        else
            snprintf(why, READER_WHY,
                     "is a number as %s writes it: %" PRIu64 " of its %" PRIu64
                     " digits are lost; read it anew from its source, as text",
                     by, s.whole - s.digits, s.whole);
    } else if (read_float(text, len, &value)) {
        const bool lost = rounded_may_be(value);
        snprintf(
            why, READER_WHY, "is a float, as pandas makes of a column with an empty cell: %s",
            value <= EXACT ? "no digit is lost below 2^53; leave out the point and what follows"
            : lost
                ? "its last digits are lost; read it anew from its source, as text"
                : "but no double has these digits, so none is lost; leave out the point and what follows");
    } else {
        return false;
    }
    return true;
}
