/* SPDX-License-Identifier: MIT */
/* nearest.c - suggestions for misspelt names. */
#include "args/nearest.h"

#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c) {
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Returns how many letters to change, add or drop. Names are short; long ones count as far away. */
static unsigned distance(const char *a, const char *b) {
    enum { LONGEST = 24 };
    const size_t n = strlen(b);
    unsigned row[LONGEST + 1];
    if (strlen(a) > LONGEST || n > LONGEST)
        return LONGEST;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const unsigned above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *nearest(const char *text, const char *(*next)(size_t i)) {
    const char *best = NULL;
    unsigned best_distance = 3;
    for (size_t i = 0; next(i); i++) {
        const char *name = next(i);
        unsigned d = distance(text, name);
        if (text[0] && strncmp(text, name, strlen(text)) == 0)
            d = 1; /* an abbreviation */
        if (d < best_distance && d < strlen(name)) {
            best = name;
            best_distance = d;
        }
    }
    return best;
}
