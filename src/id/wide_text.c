/* SPDX-License-Identifier: MIT */
/* wide_text.c - 128-bit IDs as text. Reading is as strict as in text.c. */
#include "id/radix.h"

/* ---- reading -------------------------------------------------------------- */

static bool read_decimal(const char *p, size_t len, sfid_wide *out) {
    if (len == 0 || len > 39)
        return false;
    uint64_t wrong = 0;
    size_t i = 0;
    for (; i < len % 8; i++) {
        const unsigned digit = (unsigned char)p[i] - (unsigned)'0';
        wrong |= digit > 9;
        out->low = out->low * 10 + digit;
    }
    bool fits = true;
    for (; i < len; i += 8)
        fits &= sfid__wide_mul_add(out, 100000000, sfid__read_eight_decimals(p + i, &wrong));
    return wrong == 0 && fits;
}

static inline bool read_wide(const uint8_t *value, uint32_t base, size_t most, const char *p,
                             size_t len, sfid_wide *out) {
    if (len == 0 || len > most)
        return false;
    unsigned seen = 0;
    size_t i = len % 5;
    out->low = sfid__read_few(value, base, p, i, &seen);
    bool fits = true;
    for (; i < len; i += 5)
        fits &= sfid__wide_mul_add(out, sfid__fifth_power(base),
                                   sfid__read_five(value, base, p + i, &seen));
    return (seen & 0x80) == 0 && fits;
}

static bool read_hex(const char *p, size_t len, sfid_wide *out) {
    if (len == 0 || len > 32)
        return false;
    uint64_t wrong = 0;
    const size_t high = len > 16 ? len - 16 : 0;
    out->high = sfid__read_hex(p, high, &wrong);
    out->low = sfid__read_hex(p + high, len - high, &wrong);
    return wrong == 0;
}

/* Loads two groups of four characters with a hyphen between them. */
static uint64_t load_around(const char *p) {
    char digits[8];
    memcpy(digits, p, 4);
    memcpy(digits + 4, p + 5, 4);
    return sfid__load_le(digits);
}

static bool read_uuid(const char *p, size_t len, sfid_wide *out) {
    if (len != SFID__UUID_LEN || p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-')
        return false;
    uint64_t wrong = 0;
    out->high = (uint64_t)sfid__read_eight_hex(sfid__load_le(p), &wrong) << 32;
    out->high |= sfid__read_eight_hex(load_around(p + 9), &wrong);
    out->low = (uint64_t)sfid__read_eight_hex(load_around(p + 19), &wrong) << 32;
    out->low |= sfid__read_eight_hex(sfid__load_le(p + 28), &wrong);
    return wrong == 0;
}

static bool read_bytes(const char *p, size_t len, sfid_wide *out) {
    if (len != 16)
        return false;
    *out =
        (sfid_wide){__builtin_bswap64(sfid__load_le(p)), __builtin_bswap64(sfid__load_le(p + 8))};
    return true;
}

static bool read_any(sfid_form form, const char *p, size_t len, sfid_wide *out) {
    switch (form) {
    case SFID_DEC:
        return read_decimal(p, len, out);
    case SFID_HEX:
        return read_hex(p, len, out);
    case SFID_BASE62:
        return read_wide(sfid__base62_values, 62, 22, p, len, out);
    case SFID_BASE32:
        return read_wide(sfid__base32_values, 32, 26, p, len, out);
    case SFID_BASE58:
        return read_wide(sfid__base58_values, 58, 22, p, len, out);
    case SFID_UUID:
        return read_uuid(p, len, out);
    case SFID_BYTES:
        return read_bytes(p, len, out);
    }
    return false;
}

int sfid_wide_from_text(sfid_form form, const char *text, size_t len, sfid_wide *id, size_t *at) {
    sfid_wide value = {0, 0};
    if (unlikely(text == NULL || id == NULL || !read_any(form, text, len, &value)))
        return id == NULL ? sfid__text_explain(form, NULL, 0, SFID__WIDE, at)
                          : sfid__text_explain(form, text, len, SFID__WIDE, at);
    *id = value;
    return 0;
}

/* ---- writing -------------------------------------------------------------- */

/* Writes all 22 digits of base 62 or 58: five at a time from the right, then the first two. */
static inline void write_22(const char *digits, uint32_t base, char *p, sfid_wide v) {
    for (size_t at = 22; at > 2;) {
        at -= 5;
        sfid__write_five(digits, base, p + at, sfid__wide_div(&v, sfid__fifth_power(base)));
    }
    p[0] = digits[v.low / base];
    p[1] = digits[v.low % base];
}

/* Writes all 39 decimal digits: eight at a time from the right, then the first seven. */
static void write_decimal(char *p, sfid_wide v) {
    for (size_t at = 39; at > 7;) {
        at -= 8;
        sfid__store_le(p + at, sfid__eight_decimals(sfid__wide_div(&v, 100000000)));
    }
    char front[8];
    sfid__store_le(front, sfid__eight_decimals((uint32_t)v.low) >> 8);
    memcpy(p, front, 7);
}

static void write_base32(const char *digits, char *p, sfid_wide v) {
    for (int i = 25; i >= 0; i--) {
        p[i] = digits[v.low & 31];
        v.low = v.low >> 5 | v.high << 59;
        v.high >>= 5;
    }
}

static void write_uuid(char *p, sfid_wide v) {
    char digits[32];
    sfid__write_hex(digits, v.high);
    sfid__write_hex(digits + 16, v.low);
    memcpy(p, digits, 8);
    memcpy(p + 9, digits + 8, 4);
    memcpy(p + 14, digits + 12, 4);
    memcpy(p + 19, digits + 16, 4);
    memcpy(p + 24, digits + 20, 12);
    p[8] = p[13] = p[18] = p[23] = '-';
}

static void write_all(sfid_form form, const char *digits, char *p, sfid_wide v) {
    switch (form) {
    case SFID_DEC:
        write_decimal(p, v);
        break;
    case SFID_HEX:
        sfid__write_hex(p, v.high);
        sfid__write_hex(p + 16, v.low);
        break;
    case SFID_BASE62:
        write_22(digits, 62, p, v);
        break;
    case SFID_BASE32:
        write_base32(digits, p, v);
        break;
    case SFID_BASE58:
        write_22(digits, 58, p, v);
        break;
    case SFID_UUID:
        write_uuid(p, v);
        break;
    case SFID_BYTES:
        sfid__store_le(p, __builtin_bswap64(v.high));
        sfid__store_le(p + 8, __builtin_bswap64(v.low));
        break;
    }
}

/* As write_some() in text.c. */
static int write_some(sfid_form form, const struct sfid__form *f, sfid_wide v, unsigned width,
                      char *buf, size_t size) {
    char all[SFID_WIDE_TEXT_LEN];
    const size_t count = f->reads[SFID__WIDE];
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

int sfid_wide_to_text(sfid_form form, sfid_wide id, unsigned width, char *buf, size_t size) {
    const struct sfid__form *f = sfid__form(form);
    if (f == NULL || buf == NULL || width > f->reads[SFID__WIDE])
        return SFID_EINVAL;
    if (width == 0)
        width = f->own[SFID__WIDE];
    const size_t count = f->reads[SFID__WIDE];
    if (width != count)
        /* bytes and UUIDs have one width */
        return f->base == 0 ? SFID_EINVAL : write_some(form, f, id, width, buf, size);
    if (size < count + (form != SFID_BYTES))
        return SFID_EINVAL;
    write_all(form, f->digits, buf, id);
    if (form != SFID_BYTES)
        buf[count] = '\0';
    return (int)count;
}
