/* SPDX-License-Identifier: MIT */
/* naive.h - simple text forms, digit by digit, to compare the library's with. */
#ifndef SFID_TESTS_NAIVE_H
#define SFID_TESTS_NAIVE_H

#include "base/compiler.h"

#include <sfid.h>
#include <string.h>

#define BASE62 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define CROCKFORD "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#define BITCOIN "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

/* A form as its inventors describe it. */
struct naive_form {
    sfid_form form;
    const char *digits;
    size_t narrow, wide;         /* digits of the highest number */
    size_t own_narrow, own_wide; /* digits written */
};

#define NAIVE_FORMS 5

extern const struct naive_form naive_forms[NAIVE_FORMS];

/* Writes v with at least `width` digits. Returns their number. */
size_t naive_text(const char *digits, sfid_wide v, size_t width, char *out);

/* Returns v * m, which must fit. */
sfid_wide naive_times(sfid_wide v, uint32_t m);

/* Returns the value of a character, with Crockford's variants and both cases of hex digits; -1 for
 * an invalid one. */
int naive_value(sfid_form form, const char *digits, char c);

#endif
