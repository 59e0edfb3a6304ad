/* SPDX-License-Identifier: MIT */
#include "support/naive.h"

const struct naive_form naive_forms[NAIVE_FORMS] = {
    {SFID_DEC, "0123456789", 20, 39, 1, 1}, {SFID_HEX, "0123456789abcdef", 16, 32, 16, 32},
    {SFID_BASE62, BASE62, 11, 22, 11, 22},  {SFID_BASE32, CROCKFORD, 13, 26, 13, 26},
    {SFID_BASE58, BITCOIN, 11, 22, 11, 22},
};

size_t naive_text(const char *digits, sfid_wide v, size_t width, char *out) {
    uint32_t limb[4] = {(uint32_t)(v.high >> 32), (uint32_t)v.high, (uint32_t)(v.low >> 32),
                        (uint32_t)v.low};
    const uint32_t base = (uint32_t)strlen(digits);
    char reversed[130];
    size_t n = 0, len = 0;
    while (n < width || (limb[0] | limb[1] | limb[2] | limb[3]) != 0) {
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / base);
            rest %= base;
        }
        reversed[n++] = digits[rest];
    }
    while (n > 0)
        out[len++] = reversed[--n];
    out[len] = '\0';
    return len;
}

sfid_wide naive_times(sfid_wide v, uint32_t m) {
    sfid_wide sum = {0, 0};
    for (; m > 0; m--) {
        sum.high += v.high + (sum.low + v.low < sum.low);
        sum.low += v.low;
    }
    return sum;
}

int naive_value(sfid_form form, const char *digits, char c) {
    if ((form == SFID_HEX || form == SFID_UUID) && c >= 'A' && c <= 'F')
        c = (char)(c + 32);
    if (form == SFID_BASE32) {
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 32);
        c = c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
    }
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}
