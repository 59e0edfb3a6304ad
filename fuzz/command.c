/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "io/out.h"
#include "io/say.h"

#include <stdarg.h>

char caught[CAUGHT_MAX];
size_t caught_len;
unsigned said;

char *out_room(size_t n) {
    HOLDS(n <= OUT_ROOM && caught_len + n <= sizeof caught);
    return caught + caught_len;
}

void out_until(const char *end) {
    HOLDS(end >= caught + caught_len && end <= caught + caught_len + OUT_ROOM);
    caught_len = (size_t)(end - caught);
}

void out_bytes(const char *text, size_t len) {
    HOLDS(caught_len + len <= sizeof caught);
    memcpy(caught + caught_len, text, len);
    caught_len += len;
}

void out_print(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    caught_len += (size_t)vsnprintf(out_room(OUT_ROOM), OUT_ROOM, fmt, args);
    va_end(args);
}

bool out_flush(void) { return true; }
void end_with(int status) { (void)status; }
void out_before_read(int fd) { (void)fd; }
void progress(int fd, uint64_t lines, uint64_t bytes) { (void)fd, (void)lines, (void)bytes; }

void say(const char *fmt, ...) {
    char text[2048];
    va_list args;
    va_start(args, fmt);
    HOLDS(vsnprintf(text, sizeof text, fmt, args) > 0);
    va_end(args);
    said++;
}

struct quoted quote(const char *text, size_t len) {
    struct quoted q;
    snprintf(q.text, sizeof q.text, "'%.*s'", len < 48 ? (int)len : 48, text);
    return q;
}

/* A simple check: decodes each character's code point, and requires its shortest form. */
bool caught_utf8(void) {
    static const unsigned long least[] = {0, 0x80, 0x800, 0x10000};
    for (size_t i = 0; i < caught_len;) {
        const unsigned char first = (unsigned char)caught[i++];
        if (first < 0x80)
            continue;
        if (first < 0xc0 || first > 0xf7)
            return false;
        const unsigned more = 1 + (first >= 0xe0) + (first >= 0xf0);
        unsigned long code = first & (0x3fu >> more);
        for (unsigned n = 0; n < more; n++, i++) {
            if (i == caught_len || ((unsigned char)caught[i] & 0xc0) != 0x80)
                return false;
            code = code << 6 | ((unsigned char)caught[i] & 0x3f);
        }
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
    }
    return true;
}
