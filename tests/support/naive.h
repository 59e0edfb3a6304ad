/* SPDX-License-Identifier: MIT */
/* naive.h - text forms done the plain way, digit by digit, to hold the library's against. */
#ifndef SFID_TESTS_NAIVE_H
#define SFID_TESTS_NAIVE_H

#include "base/compiler.h"

#include <sfid.h>
#include <string.h>

#define BASE62 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define CROCKFORD "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#define BITCOIN "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

/* A form as its makers describe it. */
struct naive_form {
    sfid_form form;
    const char *digits;
    size_t narrow, wide;         /* digits of the widest number */
    size_t own_narrow, own_wide; /* digits written */
};

#define NAIVE_FORMS 5

extern const struct naive_form naive_forms[NAIVE_FORMS];

/* Writes v with at least width digits; returns how many there are. */
size_t naive_text(const char *digits, sfid_wide v, size_t width, char *out);

/* v * m, which has to fit. */
sfid_wide naive_times(sfid_wide v, uint32_t m);

/* The value of a character, Crockford's variants and the case of hex digits included; -1 for none. */
int naive_value(sfid_form form, const char *digits, char c);

#endif
