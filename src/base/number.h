/* SPDX-License-Identifier: MIT */
/* number.h - decimal numbers in text, whatever the locale says. */
#ifndef SFID_BASE_NUMBER_H
#define SFID_BASE_NUMBER_H

#include "base/compiler.h"

/*
 * Reads the digits that the text begins with, which ends at `end`. Returns what
 * follows them; NULL where there are none, or the number is above max.
 */
const char *sfid__digits(const char *text, const char *end, uint64_t max, uint64_t *out);

/* The same of len bytes that are digits alone. */
static inline bool sfid__number(const char *text, size_t len, uint64_t max, uint64_t *out) {
    return sfid__digits(text, text + len, max, out) == text + len;
}

#endif
