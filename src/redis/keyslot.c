/* SPDX-License-Identifier: MIT */
#include "redis/keyslot.h"

#include <string.h>

#define SLOTS 16384

bool sfid__has_hash_tag(const char *name) {
    const char *open = strchr(name, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    return close != NULL && close > open + 1;
}

/* Polynomial 0x1021, from 0: "Redis cluster specification", appendix A. */
static unsigned crc16(const char *text, size_t len) {
    unsigned crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned)(unsigned char)text[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc;
}

unsigned sfid__keyslot(const char *key) {
    const char *from = sfid__has_hash_tag(key) ? strchr(key, '{') + 1 : key;
    const size_t len = from == key ? strlen(key) : strcspn(from, "}");
    return crc16(from, len) % SLOTS;
}
