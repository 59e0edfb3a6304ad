/* SPDX-License-Identifier: MIT */
#include "base/number.h"

const char *sfid__digits(const char *text, const char *end, uint64_t max, uint64_t *out) {
    uint64_t n = 0;
    const char *p = text;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        const uint64_t digit = (uint64_t)(*p - '0');
        if (digit > max || n > (max - digit) / 10)
            return NULL;
        n = n * 10 + digit;
    }
    if (p == text)
        return NULL;
    *out = n;
    return p;
}
