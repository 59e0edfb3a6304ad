/* SPDX-License-Identifier: MIT */
/* number.h - decimal numbers in text, in any locale. */
#ifndef SFID_BASE_NUMBER_H
#define SFID_BASE_NUMBER_H

#include "base/compiler.h"

/*
 * Reads the digits at the start of text, which ends at `end`. Returns a pointer
 * behind them, or NULL if there are none or the number is above max.
 */
const char *sfid__digits(const char *text, const char *end, uint64_t max, uint64_t *out);

/* Reads n texts as decimals of at most max; false if one is none. */
bool sfid__numbers(const char *const *texts, size_t n, uint64_t max, uint64_t *out);

/* As sfid__digits for len bytes, all of which must be digits. */
static inline bool sfid__number(const char *text, size_t len, uint64_t max, uint64_t *out) {
    return sfid__digits(text, text + len, max, out) == text + len;
}

#endif
