/* SPDX-License-Identifier: MIT */
/* radix.c - the alphabets, and the reason why a text is not an ID. */
#include "id/radix.h"

#define NONE SFID__NO_DIGIT
#define NONE16 \
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE

/* clang-format off */
const uint8_t sfid__hex_values[256] = {
    NONE16, NONE16, NONE16,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 10, 11, 12, 13, 14, 15, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE16,
    NONE, 10, 11, 12, 13, 14, 15, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE16,
    NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16,
};

/* ASCII order: digits, capitals, small letters. */
const uint8_t sfid__base62_values[256] = {
    NONE16, NONE16, NONE16,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, NONE, NONE, NONE, NONE, NONE,
    NONE, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50,
    51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, NONE, NONE, NONE, NONE, NONE,
    NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16,
};

/* Douglas Crockford, "Base 32": no I, L, O and U; the first three are read as the digits they look
 * like. */
const uint8_t sfid__base32_values[256] = {
    NONE16, NONE16, NONE16,
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 10, 11, 12, 13, 14, 15, 16, 17, 1, 18, 19, 1, 20, 21, 0,
    22, 23, 24, 25, 26, NONE, 27, 28, 29, 30, 31, NONE, NONE, NONE, NONE, NONE,
    NONE, 10, 11, 12, 13, 14, 15, 16, 17, 1, 18, 19, 1, 20, 21, 0,
    22, 23, 24, 25, 26, NONE, 27, 28, 29, 30, 31, NONE, NONE, NONE, NONE, NONE,
    NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16,
};

/* Bitcoin's (draft-msporny-base58): no 0, O, I and l. */
const uint8_t sfid__base58_values[256] = {
    NONE16, NONE16, NONE16,
    NONE, 0, 1, 2, 3, 4, 5, 6, 7, 8, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 9, 10, 11, 12, 13, 14, 15, 16, NONE, 17, 18, 19, 20, 21, NONE,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, NONE, NONE, NONE, NONE, NONE,
    NONE, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, NONE, 44, 45, 46,
    47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, NONE, NONE, NONE, NONE, NONE,
    NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16,
};
/* clang-format on */

static const struct sfid__form forms[] = {
    [SFID_DEC] = {"dec", "0123456789", sfid__hex_values, 10, {20, 39}, {1, 1}},
    [SFID_HEX] = {"hex", "0123456789abcdef", sfid__hex_values, 16, {16, 32}, {16, 32}},
    [SFID_BASE62] = {"base62",
                     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                     sfid__base62_values,
                     62,
                     {11, 22},
                     {11, 22}},
    [SFID_BASE32] =
        {"base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", sfid__base32_values, 32, {13, 26}, {13, 26}},
    [SFID_BASE58] = {"base58",
                     "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
                     sfid__base58_values,
                     58,
                     {11, 22},
                     {11, 22}},
    [SFID_UUID] = {"uuid", "0123456789abcdef", sfid__hex_values, 0, {0, 36}, {0, 36}},
    [SFID_BYTES] = {"bytes", NULL, NULL, 0, {8, 16}, {8, 16}},
};

const struct sfid__form *sfid__form(sfid_form form) {
    return (unsigned)form < sizeof forms / sizeof forms[0] ? &forms[form] : NULL;
}

const char *sfid_form_name(sfid_form form) { return sfid__form(form) ? forms[form].name : NULL; }

/* ---- what is wrong with a text ------------------------------------------- */

static bool is_digit(const struct sfid__form *form, char c) {
    return form->value[(unsigned char)c] < form->base;
}

/* Finds the first wrong byte, or the digit that makes the value too large. */
static int explain_number(const struct sfid__form *form, const char *text, size_t len,
                          enum sfid__width width, size_t *at) {
    for (size_t i = 0; i < len; i++)
        if (!is_digit(form, text[i])) {
            *at = i;
            return SFID_EINVAL;
        }
    sfid_wide value = {0, 0};
    size_t i = 0;
    for (; i < len && i < form->reads[width]; i++)
        if (!sfid__wide_mul_add(&value, form->base, form->value[(unsigned char)text[i]]) ||
            (width == SFID__NARROW && (value.high != 0 || value.low > INT64_MAX)))
            break;
    *at = i;
    return SFID_EOVERFLOW;
}

static bool is_hyphen(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

static int explain_uuid(const struct sfid__form *form, const char *text, size_t len, size_t *at) {
    size_t i = 0;
    while (i < len && i < SFID__UUID_LEN &&
           (is_hyphen(i) ? text[i] == '-' : form->value[(unsigned char)text[i]] < 16))
        i++;
    *at = i;
    return SFID_EINVAL;
}

/* If the length is right, only a set sign bit can be wrong. */
static int explain_bytes(size_t len, size_t want, size_t *at) {
    *at = len == want ? 0 : SFID__MIN(len, want);
    return len == want ? SFID_EOVERFLOW : SFID_EINVAL;
}

int sfid__text_explain(sfid_form form, const char *text, size_t len, enum sfid__width width,
                       size_t *at) {
    const struct sfid__form *f = sfid__form(form);
    size_t unwanted;
    if (at == NULL)
        at = &unwanted;
    *at = 0;
    if (f == NULL || text == NULL || len == 0 || f->reads[width] == 0)
        return SFID_EINVAL;
    if (form == SFID_UUID)
        return explain_uuid(f, text, len, at);
    if (form == SFID_BYTES)
        return explain_bytes(len, f->reads[width], at);
    return explain_number(f, text, len, width, at);
}
