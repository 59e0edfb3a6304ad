/* SPDX-License-Identifier: MIT */
/*
 * radix.h - digits of a base to integers and back, for text.c and wide_text.c.
 *
 * Digits are read and written five at a time. Five digits of every base here
 * make an integer below 2^32. So the groups do not depend on one another, and
 * their divisions become multiplications by constants. Every inline function
 * gets its base as a constant. The readers say only whether a text is right;
 * off the fast path, sfid__text_explain() finds out what is wrong.
 */
#ifndef SFID_ID_RADIX_H
#define SFID_ID_RADIX_H

#include "base/compiler.h"

#include <sfid.h>
#include <string.h>

enum sfid__width { SFID__NARROW, SFID__WIDE }; /* 64 and 128 bits */

struct sfid__form {
    const char *name;
    const char *digits;
    const uint8_t *value; /* for each byte; SFID__NO_DIGIT or at least base: no digit */
    uint8_t base;         /* 0: the form is not digits of a base */
    uint8_t reads[2];     /* most digits, by enum sfid__width */
    uint8_t own[2];       /* digits written if the caller asks for no other count */
};

#define SFID__NO_DIGIT 0xff
#define SFID__UUID_LEN 36

extern const uint8_t sfid__hex_values[256], sfid__base62_values[256], sfid__base32_values[256],
    sfid__base58_values[256];

/* NULL for a value that is no form. */
const struct sfid__form *sfid__form(sfid_form form);

/* Says why a text is not an ID: SFID_EINVAL or SFID_EOVERFLOW. *at, if not NULL, gets the place of
 * the fault. */
SFID__COLD int sfid__text_explain(sfid_form form, const char *text, size_t len,
                                  enum sfid__width width, size_t *at);

/* ---- wide arithmetic ------------------------------------------------------ */

/* *v = *v * m + a; false if that is 2^128 or more. */
static inline bool sfid__wide_mul_add(sfid_wide *v, uint32_t m, uint32_t a) {
    const uint64_t t0 = (v->low & UINT32_MAX) * m + a;
    const uint64_t t1 = (v->low >> 32) * m + (t0 >> 32);
    const uint64_t t2 = (v->high & UINT32_MAX) * m + (t1 >> 32);
    const uint64_t t3 = (v->high >> 32) * m + (t2 >> 32);
    v->low = t1 << 32 | (t0 & UINT32_MAX);
    v->high = t3 << 32 | (t2 & UINT32_MAX);
    return t3 >> 32 == 0;
}

/* *v /= d; returns the remainder. */
static inline uint32_t sfid__wide_div(sfid_wide *v, uint32_t d) {
    if (v->high == 0) {
        const uint32_t rest = (uint32_t)(v->low % d);
        v->low /= d;
        return rest;
    }
    const uint64_t t3 = v->high >> 32;
    const uint64_t t2 = t3 % d << 32 | (v->high & UINT32_MAX);
    const uint64_t t1 = t2 % d << 32 | v->low >> 32;
    const uint64_t t0 = t1 % d << 32 | (v->low & UINT32_MAX);
    v->high = t3 / d << 32 | t2 / d;
    v->low = t1 / d << 32 | t0 / d;
    return (uint32_t)(t0 % d);
}

/* ---- digits to integers --------------------------------------------------- */

static inline uint32_t sfid__fifth_power(uint32_t base) { return base * base * base * base * base; }

/* Reads five digits. *seen collects their values: its bit 7 shows a wrong digit. */
static inline uint32_t sfid__read_five(const uint8_t *value, uint32_t base, const char *p,
                                       unsigned *seen) {
    const unsigned char *u = (const unsigned char *)p;
    const uint32_t a = value[u[0]], b = value[u[1]], c = value[u[2]], d = value[u[3]],
                   e = value[u[4]];
    *seen |= a | b | c | d | e;
    return (a * base + b) * (base * base * base) + (c * base + d) * base + e;
}

/* Reads fewer than eight digits. */
static inline uint32_t sfid__read_few(const uint8_t *value, uint32_t base, const char *p, size_t n,
                                      unsigned *seen) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t digit = value[(unsigned char)p[i]];
        *seen |= digit;
        sum = sum * base + digit;
    }
    return sum;
}

/* Eight bytes, the first in the lowest place. */
static inline uint64_t sfid__load_le(const char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void sfid__store_le(char *p, uint64_t v) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
}

/* Reads eight decimal digits at once: adds up neighbours in pairs, then pairs of pairs. *wrong gets
 * a bit for each wrong byte. */
static inline uint32_t sfid__read_eight_decimals(const char *p, uint64_t *wrong) {
    uint64_t v = sfid__load_le(p);
    /* '0' to '9' are 0x30 to 0x39: the high half is 3, also with 6 added. Only a wrong byte causes
     * a carry. */
    *wrong |= ((v & (v + UINT64_C(0x0606060606060606))) & UINT64_C(0xf0f0f0f0f0f0f0f0)) ^
              UINT64_C(0x3030303030303030);
    v &= UINT64_C(0x0f0f0f0f0f0f0f0f);
    v = (v * 10 + (v >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v * 100 + (v >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(v * 10000 + (v >> 32));
}

#define SFID__EACH(byte) (UINT64_C(0x0101010101010101) * (byte)) /* the same byte eight times */

/* Turns eight half bytes, one in each byte, into characters of hex digits. */
static inline uint64_t sfid__hex_characters(uint64_t halves) {
    const uint64_t letters = (halves + SFID__EACH(6)) >> 4 & SFID__EACH(1);
    return halves + SFID__EACH('0') + letters * ('a' - '0' - 10);
}

/* Reads eight hex digits at once, as sfid__load_le() returns them. *wrong gets a bit for each wrong
 * byte. A byte is wrong if, in lower case, it is not the character of the value read from it. */
static inline uint32_t sfid__read_eight_hex(uint64_t v, uint64_t *wrong) {
    const uint64_t letters = v >> 6 & SFID__EACH(1);
    uint64_t x = (v & SFID__EACH(15)) + letters * 9;
    *wrong |= (sfid__hex_characters(x) ^ (v | letters << 5)) | (x & SFID__EACH(0xf0));
    x = __builtin_bswap64(x);
    x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(x | x >> 16);
}

/* One to 16 hex digits. */
static inline uint64_t sfid__read_hex(const char *p, size_t len, uint64_t *wrong) {
    unsigned seen = 0;
    size_t i = len % 8;
    uint64_t sum = sfid__read_few(sfid__hex_values, 16, p, i, &seen);
    for (; i < len; i += 8)
        sum = sum << 32 | sfid__read_eight_hex(sfid__load_le(p + i), wrong);
    *wrong |= seen & 0x80;
    return sum;
}

/* ---- integers to digits --------------------------------------------------- */

/* Writes five digits of v < base^5. */
static inline void sfid__write_five(const char *digits, uint32_t base, char *p, uint32_t v) {
    const uint32_t square = base * base, high = v / square, low = v % square, top = high / square,
                   middle = high % square;
    p[0] = digits[top];
    p[1] = digits[middle / base];
    p[2] = digits[middle % base];
    p[3] = digits[low / base];
    p[4] = digits[low % base];
}

static inline void sfid__write_ten(const char *digits, uint32_t base, char *p, uint64_t v) {
    const uint32_t five = sfid__fifth_power(base);
    sfid__write_five(digits, base, p, (uint32_t)(v / five));
    sfid__write_five(digits, base, p + 5, (uint32_t)(v % five));
}

/* Eight decimal digits of v < 10^8, for sfid__store_le(). Both halves are divided at once, then
 * their quarters. */
static inline uint64_t sfid__eight_decimals(uint32_t v) {
    uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
    /* x / 100 below 10000 */
    const uint64_t hundreds = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    x = hundreds | (x - hundreds * 100) << 16;
    const uint64_t tens = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* x / 10 below 100 */
    return (tens | (x - tens * 10) << 8) + SFID__EACH('0');
}

/* Writes the 16 hex digits of v: each half byte becomes a byte, and all become characters at
 * once. */
static inline void sfid__write_hex(char *p, uint64_t v) {
    for (int half = 0; half < 2; half++, v <<= 32) {
        uint64_t x = v >> 32;
        x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
        x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
        x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
        sfid__store_le(p + half * 8, sfid__hex_characters(__builtin_bswap64(x)));
    }
}

#endif
