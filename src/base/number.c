/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <string.h>

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

bool sfid__numbers(const char *const *texts, size_t n, uint64_t max, uint64_t *out) {
    for (size_t i = 0; i < n; i++) {
        const char *end = texts[i] + strlen(texts[i]);
        if (sfid__digits(texts[i], end, max, &out[i]) != end)
            return false;
    }
    return true;
}
