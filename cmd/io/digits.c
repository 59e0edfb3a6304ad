/* SPDX-License-Identifier: MIT */
/* digits.c - numbers as text and back, fast enough for tens of millions. */
#include "io/all.h"

#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
                            "4950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495"
                            "96979899";

#define PAIR(value) (pairs + (size_t)(value) * 2)

/* Writes any number, two digits at a time, from its end. */
static size_t plain(char *text, uint64_t value) {
    char reversed[DEC_ROOM];
    char *p = reversed + sizeof reversed;
    for (; value >= 100; value /= 100)
        memcpy(p -= 2, PAIR(value % 100), 2);
    if (value >= 10)
        memcpy(p -= 2, PAIR(value), 2);
    else
        *--p = (char)('0' + value);
    const size_t len = (size_t)(reversed + sizeof reversed - p);
    memcpy(text, p, len);
    return len;
}

char *put_dec(struct dec *cache, char *p, uint64_t value) {
    uint64_t low = value - cache->base;
    if (low >= 10000) {
        cache->base = value / 10000 * 10000;
        cache->len = cache->base ? plain(cache->text, value / 10000) : 0;
        low = value - cache->base;
    }
    if (cache->len == 0)
        return p + plain(p, low);
    memcpy(p, cache->text, DEC_ROOM); /* a fixed length takes one or two moves; the excess is overwritten */
    p += cache->len;
    memcpy(p, PAIR(low / 100), 2);
    memcpy(p + 2, PAIR(low % 100), 2);
    return p + 4;
}

char *put_int(struct dec *cache, char *p, int64_t value) {
    if (value >= 0)
        return put_dec(cache, p, (uint64_t)value);
    *p = '-';
    return put_dec(cache, p + 1, -(uint64_t)value);
}

char *put_text(char *p, const char *text) {
    const size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

char *put_spaces(char *p, const char *until) {
    while (p < until)
        *p++ = ' ';
    return p;
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
