/* SPDX-License-Identifier: MIT */
/* query.c - parameters of a URL: names and values with percent escapes. */
#include "serve/query.h"

#include <string.h>

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the byte at p, which may be an escape. Returns it and moves p, or returns -1. */
static int next_byte(const char **p, const char *end) {
    const char c = *(*p)++;
    if (c == '+')
        return ' ';
    if (c != '%')
        return (unsigned char)c;
    if (end - *p < 2 || hex((*p)[0]) < 0 || hex((*p)[1]) < 0)
        return -1;
    const int value = hex((*p)[0]) << 4 | hex((*p)[1]);
    *p += 2;
    return value;
}

/* Reads up to `stop` or the end of the parameter. name: compares with it, else writes to value.
 * Returns false at a bad escape. */
static bool read_part(const char **p, const char *end, const char *stops, const char *name,
                      bool *same, char *value, size_t size, int *len) {
    size_t n = 0;
    *same = name != NULL;
    while (*p < end && strchr(stops, **p) == NULL) {
        const int byte = next_byte(p, end);
        if (byte < 0)
            return false;
        if (name)
            *same = *same && name[n] && (unsigned char)name[n] == byte, n += *same;
        else if (n + 1 < size)
            value[n++] = (char)byte;
    }
    *same = *same && name[n] == '\0';
    *len = (int)n;
    return true;
}

int query_find(struct slice query, const char *name, char *value, size_t size) {
    char ignored[1];
    const char *p = query.at, *end = query.at + query.len;
    int found = QUERY_ABSENT;
    while (p < end) {
        bool same, none;
        int len = 0, skipped;
        if (!read_part(&p, end, "=&", name, &same, NULL, 0, &skipped))
            return QUERY_BAD;
        const bool wanted = same && found == QUERY_ABSENT;
        if (wanted)
            value[0] = '\0';
        if (p < end && *p == '=') {
            p++;
            if (!read_part(&p, end, "&", NULL, &none, wanted ? value : ignored, wanted ? size : 1,
                           &len))
                return QUERY_BAD;
        }
        if (wanted) {
            value[len] = '\0';
            found = len;
        }
        p += p < end; /* the '&' */
    }
    return found;
}
