/* SPDX-License-Identifier: MIT */
/* text.c - 64-bit IDs as text. Reading is strict: no sign, no space, nothing left over. */
#include "id/radix.h"

#define EIGHT_DIGITS UINT64_C(100000000)

/* ---- reading: false if the text is not an ID ------------------------------ */

static bool read_decimal(const char *p, size_t len, uint64_t *out) {
    if (len == 0 || len > 20)
        return false;
    uint64_t wrong = 0, sum = 0;
    size_t i = 0;
    for (; i < len % 8; i++) {
        const unsigned digit = (unsigned char)p[i] - (unsigned)'0';
        wrong |= digit > 9;
        sum = sum * 10 + digit;
    }
    bool over = false;
    for (; i < len; i += 8) {
        over |= __builtin_mul_overflow(sum, EIGHT_DIGITS, &sum);
        over |= __builtin_add_overflow(sum, sfid__read_eight_decimals(p + i, &wrong), &sum);
    }
    *out = sum;
    return wrong == 0 && !over;
}

static inline bool read_number(const uint8_t *value, uint32_t base, size_t most, const char *p,
                               size_t len, uint64_t *out) {
    if (len == 0 || len > most)
        return false;
    unsigned seen = 0;
    size_t i = len % 5;
    uint64_t sum = sfid__read_few(value, base, p, i, &seen);
    bool over = false;
    for (; i < len; i += 5) {
        over |= __builtin_mul_overflow(sum, sfid__fifth_power(base), &sum);
        over |= __builtin_add_overflow(sum, sfid__read_five(value, base, p + i, &seen), &sum);
    }
    *out = sum;
    return (seen & 0x80) == 0 && !over;
}

static bool read_hex(const char *p, size_t len, uint64_t *out) {
    if (len == 0 || len > 16)
        return false;
    uint64_t wrong = 0;
    *out = sfid__read_hex(p, len, &wrong);
    return wrong == 0;
}

static bool read_bytes(const char *p, size_t len, uint64_t *out) {
    if (len != 8)
        return false;
    *out = __builtin_bswap64(sfid__load_le(p));
    return true;
}

static bool read_any(sfid_form form, const char *p, size_t len, uint64_t *out) {
    switch (form) {
    case SFID_DEC:
        return read_decimal(p, len, out);
    case SFID_HEX:
        return read_hex(p, len, out);
    case SFID_BASE62:
        return read_number(sfid__base62_values, 62, 11, p, len, out);
    case SFID_BASE32:
        return read_number(sfid__base32_values, 32, 13, p, len, out);
    case SFID_BASE58:
        return read_number(sfid__base58_values, 58, 11, p, len, out);
    case SFID_BYTES:
        return read_bytes(p, len, out);
    case SFID_UUID:
        break;
    }
    return false;
}

int sfid_from_text_at(sfid_form form, const char *text, size_t len, int64_t *id, size_t *at) {
    uint64_t value;
    if (unlikely(text == NULL || id == NULL || !read_any(form, text, len, &value) ||
                 value > INT64_MAX))
        return id == NULL ? sfid__text_explain(form, NULL, 0, SFID__NARROW, at)
                          : sfid__text_explain(form, text, len, SFID__NARROW, at);
    *id = (int64_t)value;
    return 0;
}

int sfid_from_text(sfid_form form, const char *text, size_t len, int64_t *id) {
    return sfid_from_text_at(form, text, len, id, NULL);
}

/* ---- writing -------------------------------------------------------------- */

/* clang-format off */
#define POWERS(zeros) \
    UINT64_C(1##zeros), UINT64_C(10##zeros), UINT64_C(100##zeros), UINT64_C(1000##zeros), \
    UINT64_C(10000##zeros)
static const uint64_t powers_of_ten[] = {POWERS(), POWERS(00000), POWERS(0000000000),
                                         POWERS(000000000000000)};
/* clang-format on */

/* How many decimal digits v has. 1233/4096 approximates log10(2), so the guess is exact or one too
 * low. */
static unsigned count_decimals(uint64_t v) {
    const unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), guess = bits * 1233 >> 12;
    return guess + (v >= powers_of_ten[guess] || guess == 0);
}

/* Writes v as `count` digits; v has no more. The first group goes first, since it also writes
 * behind itself. */
static void write_decimal(char *p, size_t count, uint64_t v) {
    const uint32_t low = (uint32_t)(v % EIGHT_DIGITS),
                   middle = (uint32_t)(v / EIGHT_DIGITS % EIGHT_DIGITS),
                   high = (uint32_t)(v / EIGHT_DIGITS / EIGHT_DIGITS);
    const size_t groups = (count - 1) / 8, first = count - groups * 8;
    const uint32_t top = groups == 0 ? low : groups == 1 ? middle : high;
    sfid__store_le(p, sfid__eight_decimals(top) >> (64 - 8 * first));
    if (groups == 2)
        sfid__store_le(p + count - 16, sfid__eight_decimals(middle));
    if (groups >= 1)
        sfid__store_le(p + count - 8, sfid__eight_decimals(low));
}

static inline void write_eleven(const char *digits, uint32_t base, char *p, uint64_t v) {
    const uint64_t ten = (uint64_t)sfid__fifth_power(base) * sfid__fifth_power(base);
    p[0] = digits[v / ten];
    sfid__write_ten(digits, base, p + 1, v % ten);
}

static void write_base32(const char *digits, char *p, uint64_t v) {
    for (int i = 0; i < 13; i++)
        p[i] = digits[v >> (60 - 5 * i) & 31];
}

/* Writes all digits of a form, leading zeros included. */
static void write_all(sfid_form form, const char *digits, char *p, uint64_t v) {
    switch (form) {
    case SFID_DEC:
        write_decimal(p, 20, v);
        break;
    case SFID_HEX:
        sfid__write_hex(p, v);
        break;
    case SFID_BASE62:
        write_eleven(digits, 62, p, v);
        break;
    case SFID_BASE32:
        write_base32(digits, p, v);
        break;
    case SFID_BASE58:
        write_eleven(digits, 58, p, v);
        break;
    case SFID_BYTES:
        sfid__store_le(p, __builtin_bswap64(v));
        break;
    case SFID_UUID:
        break;
    }
}

/* Writes all digits to a buffer, and copies as many as the caller wants. */
static SFID__COLD int write_some(sfid_form form, const struct sfid__form *f, uint64_t v,
                                 unsigned width, char *buf, size_t size) {
    char all[SFID_TEXT_LEN];
    const size_t count = f->reads[SFID__NARROW];
    write_all(form, f->digits, all, v);
    size_t skip = 0;
    while (skip + width < count && all[skip] == f->digits[0])
        skip++;
    const size_t len = count - skip;
    if (len >= size)
        return SFID_EINVAL;
    memcpy(buf, all + skip, len);
    buf[len] = '\0';
    return (int)len;
}

int sfid_to_text_padded(sfid_form form, int64_t id, unsigned width, char *buf, size_t size) {
    const struct sfid__form *f = sfid__form(form);
    if (unlikely(f == NULL || buf == NULL || id < 0 || width > f->reads[SFID__NARROW] ||
                 form == SFID_UUID))
        return SFID_EINVAL;
    if (width == 0)
        width = f->own[SFID__NARROW];
    if (form == SFID_BYTES) {
        if (size < 8 || width != 8)
            return SFID_EINVAL;
        write_all(form, NULL, buf, (uint64_t)id);
        return 8;
    }
    size_t count = f->reads[SFID__NARROW];
    if (unlikely(size < SFID_TEXT_LEN || (width != count && form != SFID_DEC)))
        return write_some(form, f, (uint64_t)id, width, buf, size);
    if (form == SFID_DEC) {
        count = count_decimals((uint64_t)id);
        count = SFID__MAX(count, width);
        write_decimal(buf, count, (uint64_t)id);
    } else {
        write_all(form, f->digits, buf, (uint64_t)id);
    }
    buf[count] = '\0';
    return (int)count;
}

int sfid_to_text(sfid_form form, int64_t id, char *buf, size_t size) {
    return sfid_to_text_padded(form, id, 0, buf, size);
}
