/* SPDX-License-Identifier: MIT */
/* digits.c - numbers as text and back, fast enough for tens of millions. */
#include "io/digits.h"

/* clang-format off */
#define TEN(a, b, c) a, b, c, '0', a, b, c, '1', a, b, c, '2', a, b, c, '3', a, b, c, '4', \
                     a, b, c, '5', a, b, c, '6', a, b, c, '7', a, b, c, '8', a, b, c, '9'
#define HUNDRED(a, b) \
    TEN(a, b, '0'), TEN(a, b, '1'), TEN(a, b, '2'), TEN(a, b, '3'), TEN(a, b, '4'), \
    TEN(a, b, '5'), TEN(a, b, '6'), TEN(a, b, '7'), TEN(a, b, '8'), TEN(a, b, '9')
#define THOUSAND(a) \
    HUNDRED(a, '0'), HUNDRED(a, '1'), HUNDRED(a, '2'), HUNDRED(a, '3'), HUNDRED(a, '4'), \
    HUNDRED(a, '5'), HUNDRED(a, '6'), HUNDRED(a, '7'), HUNDRED(a, '8'), HUNDRED(a, '9')
/* clang-format on */

const char four_digits[10000 * 4 + 4] = {THOUSAND('0'), THOUSAND('1'), THOUSAND('2'), THOUSAND('3'),
                                         THOUSAND('4'), THOUSAND('5'), THOUSAND('6'), THOUSAND('7'),
                                         THOUSAND('8'), THOUSAND('9')};

/* Writes value < 10^4 without leading zeros. Copies of four bytes are one move each; the excess is
 * overwritten. */
static inline char *put_few(char *p, unsigned value) {
    const unsigned zeros = (value < 10) + (value < 100) + (value < 1000);
    memcpy(p, four_digits + (size_t)value * 4 + zeros, 4);
    return p + 4 - zeros;
}

static inline char *put_eight(char *p, uint32_t value) {
    return put_four(put_four(p, value / 10000), value % 10000);
}

char *put_dec(char *p, uint64_t value) {
    const uint64_t eight_digits = 100000000;
    if (value >= eight_digits)
        return put_eight(put_dec(p, value / eight_digits), (uint32_t)(value % eight_digits));
    const uint32_t low = (uint32_t)value;
    return low < 10000 ? put_few(p, low) : put_four(put_few(p, low / 10000), low % 10000);
}

char *put_int(char *p, int64_t value) {
    if (value >= 0)
        return put_dec(p, (uint64_t)value);
    *p = '-';
    return put_dec(p + 1, -(uint64_t)value);
}

bool read_u64(const char *text, uint64_t max, uint64_t *value) {
    uint64_t sum = 0;
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        const uint64_t digit = (uint64_t)(*text - '0');
        if (digit > max || sum > (max - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}
