/* SPDX-License-Identifier: MIT */
/*
 * damaged.c - notices what rounding, a spreadsheet or a float has made of IDs before they came.
 *
 * A number above 2^53 that went through a double is a multiple of 2, 4, 8 or
 * more, as its size is; printed again, it ends in zeros or is the shortest text
 * that gives the same double. A spreadsheet leaves 15 digits. Of one ID that may
 * be chance; here it has to hold of all, and chance has to be less than 2^-24.
 *
 * The low bits of sound IDs are not random: a process that is seldom asked
 * always has sequence 0. So an ID is evidence only if the bits just above those
 * that were lost are in use: there a field begins that is always 0, or ends.
 *
 * Others are damaged so that they are no IDs any more: an exponent, a point, a formula.
 */
#include "decode/damaged.h"

#include "io/digits.h"
#include "io/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXACT_BITS 53
#define EXACT (UINT64_C(1) << EXACT_BITS)
#define LEAST_LONG UINT64_C(1000000000000000) /* of 16 digits: a spreadsheet keeps 15 */
#define LEAST_BITS 24
#define BITS_OF_5 2.321928 /* the binary logarithm: a multiple of 4 is one of 20 by that chance */

/* ---- doubles ----------------------------------------------------------------- */

static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000};

static unsigned ends_in(uint64_t id) { return (unsigned)__builtin_ctzll(id); }

/* A double that is near an ID. */
struct near {
    uint64_t value;
    unsigned lost; /* bits that it does not keep at this size, at least 1 */
};

/* As the processor rounds: to the nearest, and halves to the even one. */
static struct near nearest_double(uint64_t id, unsigned lost) {
    const uint64_t step = UINT64_C(1) << lost, rest = id & (step - 1), low = id - rest;
    const bool up = rest > step / 2 || (rest == step / 2 && (low >> lost & 1));
    return (struct near){low + (up ? step : 0), lost};
}

static uint64_t round_to(uint64_t value, uint64_t unit) {
    const uint64_t rest = value % unit, low = value - rest;
    return low + (rest * 2 > unit || (rest * 2 == unit && low / unit % 2 == 1) ? unit : 0);
}

/* The number with the most zeros at its end that reads as the same double (ECMAScript,
 * Number::toString). Sets their count. */
static uint64_t shortest(const struct near *near, unsigned *zeros) {
    const uint64_t half = UINT64_C(1) << (near->lost - 1);
    const bool even = (near->value >> near->lost & 1) == 0; /* then a half rounds to it, too */
    for (unsigned j = COUNT_OF(tens) - 1; j > 0; j--) {
        const uint64_t n = round_to(near->value, tens[j]),
                       away = n > near->value ? n - near->value : near->value - n;
        *zeros = j;
        if (away < half || (away == half && even))
            return n;
    }
    *zeros = 0;
    return near->value;
}

static unsigned digits_of(uint64_t id) {
    unsigned digits = 16;
    for (uint64_t least = LEAST_LONG * 10; digits < 19 && id >= least; least *= 10)
        digits++;
    return digits;
}

/* ---- kinds ------------------------------------------------------------------- */

static void weigh(struct rounded *r, enum rounding kind, bool fits, double bits) {
    if (!fits)
        r->open &= ~(1U << kind);
    else
        r->bits[kind] += bits;
}

/* Zeros at the end of a decimal. If more of the low bits are 0 than these zeros need, a field may
 * be 0. */
static double decimal_bits(uint64_t id, unsigned zeros) {
    return ends_in(id) < zeros + 4 ? zeros * BITS_OF_5 : 0;
}

/* Each pid of a lowest field counts once: one machine has the same in all its IDs. Pid 0 is nothing
 * special. */
static void weigh_pid(struct rounded *r, uint64_t id, unsigned lost, unsigned low_bits) {
    const uint64_t pid = (id & ((UINT64_C(1) << low_bits) - 1)) >> lost, bit = UINT64_C(1)
                                                                               << pid % 64;
    uint64_t *seen = &r->seen[pid / 64 % COUNT_OF(r->seen)];
    if (pid != 0 && !(*seen & bit))
        r->bits[ROUNDED_BINARY] += lost;
    *seen |= pid != 0 ? bit : 0;
}

/* A bit of the lowest field that was not lost has to be both 0 and 1: a field may be constant. */
static void weigh_binary(struct rounded *r, uint64_t id, unsigned lost) {
    const bool odd = id >> lost & 1;
    weigh(r, ROUNDED_BINARY, (id & ((UINT64_C(1) << lost) - 1)) == 0, 0);
    if (lost >= r->low_bits)
        return;
    r->even |= !odd;
    if (r->low_pid)
        weigh_pid(r, id, lost, r->low_bits);
    else if (odd && r->low_bits == 64) /* of no known layout: these may be pids as well */
        weigh_pid(r, id, lost, 16);
    else if (odd)
        r->bits[ROUNDED_BINARY] += lost;
}

/* An ID that is a double itself need not have been printed as one: only the others are evidence. */
static void weigh_printed(struct rounded *r, uint64_t id, unsigned lost) {
    const struct near near = nearest_double(id, lost);
    const unsigned digits = digits_of(id), more = digits > 17 ? digits - 17 : 0;
    unsigned zeros;
    const bool is_shortest = shortest(&near, &zeros) == id;
    const bool is_double = id == near.value;
    weigh(r, ROUNDED_SHORTEST, is_shortest, is_double ? 0 : decimal_bits(id, zeros));
    weigh(r, ROUNDED_17, round_to(near.value, tens[more]) == id,
          is_double ? 0 : decimal_bits(id, more));
}

void rounded_look(struct rounded *r, uint64_t id) {
    const unsigned bits = 64 - (unsigned)__builtin_clzll(id | 1);
    r->count++;
    if (id >= LEAST_LONG && (r->open & 1U << ROUNDED_15)) {
        const unsigned more = digits_of(id) - 15;
        weigh(r, ROUNDED_15, id % tens[more] == 0, decimal_bits(id, more));
    }
    if (bits <= EXACT_BITS)
        return;
    if (r->open & 1U << ROUNDED_BINARY)
        weigh_binary(r, id, bits - EXACT_BITS);
    /* divisions, which most IDs need not pay for */
    if (r->open & (1U << ROUNDED_SHORTEST | 1U << ROUNDED_17))
        weigh_printed(r, id, bits - EXACT_BITS);
}

void rounded_begin(struct rounded *r, const sfid_layout *layout) {
    *r = (struct rounded){.open = (1U << ROUNDED_KINDS) - 1, .low_bits = 64};
    if (layout == NULL)
        return;
    r->low_pid = layout->pid_shift == 0 && layout->pid_bits > 0;
    r->low_bits = r->low_pid ? layout->pid_bits : layout->seq_shift == 0 ? layout->seq_bits : 64;
}

static bool is_strong(const struct rounded *r, enum rounding kind) {
    const bool constant = kind == ROUNDED_BINARY && !r->low_pid && !r->even;
    return (r->open >> kind & 1) && r->bits[kind] >= LEAST_BITS && !constant;
}

void rounded_tell(const struct rounded *r) {
    static const char *const texts[] = {
        [ROUNDED_15] = "end in zeros behind 15 digits, as a spreadsheet leaves numbers",
        [ROUNDED_BINARY] =
            "are multiples of what a double keeps at their size, as pandas, NumPy and R make them",
        [ROUNDED_SHORTEST] = "are rounded to doubles, as JavaScript prints them",
        [ROUNDED_17] = "are rounded to doubles, as jq 1.6 and %.17g print them",
    };
    for (enum rounding kind = 0; kind < ROUNDED_KINDS; kind++)
        if (is_strong(r, kind)) {
            say("all %" PRIu64
                " IDs %s: digits are lost; read them anew from their source, as text (the chance that sound IDs look "
                "so is 2^-%.0f)",
                r->count, texts[kind], r->bits[kind]);
            return;
        }
}

/* ---- what is no ID any more -------------------------------------------------- */

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

/* Returns whether a double may have left a number above 2^53. */
static bool may_be_rounded(uint64_t id) {
    struct rounded r;
    rounded_begin(&r, NULL);
    rounded_look(&r, id);
    return id > EXACT &&
           (r.open & (1U << ROUNDED_SHORTEST | 1U << ROUNDED_17 | 1U << ROUNDED_BINARY)) != 0;
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
        if (s.value > EXACT && may_be_rounded(s.value))
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
        const bool lost = may_be_rounded(value);
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
