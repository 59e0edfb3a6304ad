/* SPDX-License-Identifier: MIT */
#include "redis/uri_text.h"

#include "base/number.h"

#include <sfid.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sfid__uri_fail(const struct sfid__uri_place *place, int code, const char *format, ...) {
    char text[SFID__ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sfid__fail(place->err, code, "store %s://...: %s", place->scheme, text);
}

bool sfid__part_is(struct sfid__part p, const char *text) {
    return p.len == strlen(text) && memcmp(p.at, text, p.len) == 0;
}

struct sfid__part sfid__part_cut(struct sfid__part *rest, const char *at) {
    struct sfid__part head = {rest->at, 0};
    while (head.len < rest->len && strchr(at, rest->at[head.len]) == NULL)
        head.len++;
    rest->at += head.len;
    rest->len -= head.len;
    return head;
}

bool sfid__part_number(struct sfid__part p, uint64_t max, uint64_t *out) {
    return p.len <= 10 && sfid__number(p.at, p.len, max, out);
}

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

int sfid__part_decode(const struct sfid__uri_place *place, struct sfid__part p, const char *what,
                      char *out, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < p.len; i++) {
        char c = p.at[i];
        if (c == '%') {
            const int high = i + 1 < p.len ? hex(p.at[i + 1]) : -1,
                      low = i + 2 < p.len ? hex(p.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return SFID__URI_BAD(
                    place, "%s has a %% without two hexadecimal digits; write %% as %%25", what);
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0')
            return SFID__URI_BAD(place, "%s has a NUL (%%00) in it", what);
        if (n + 1 >= size)
            return SFID__URI_BAD(place, "%s is longer than %zu bytes", what, size - 1);
        out[n++] = c;
    }
    out[n] = '\0';
    return 0;
}
