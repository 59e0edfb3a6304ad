/* SPDX-License-Identifier: MIT */
/* uri_text.h - parts of a URL: cutting, decimals, percent-decoding, and errors that say which
 * URL. */
#ifndef SFID_REDIS_URI_TEXT_H
#define SFID_REDIS_URI_TEXT_H

#include "base/error.h"

/* A part of the URL, without a NUL at its end. */
struct sfid__part {
    const char *at;
    size_t len;
};

/* The beginning of each error: "store redis://...: ". */
struct sfid__uri_place {
    const char *scheme;
    struct sfid__error *err;
};

/* Fails with SFID_EINVAL. */
#define SFID__URI_BAD(place, ...) sfid__uri_fail(place, SFID_EINVAL, __VA_ARGS__)

/* Fails with the code and a sentence; returns the code. */
__attribute__((format(printf, 3, 4))) int sfid__uri_fail(const struct sfid__uri_place *place,
                                                         int code, const char *format, ...);

bool sfid__part_is(struct sfid__part p, const char *text);

/* Cuts off the text before the first of the characters `at`; *rest begins with that character, or
 * is empty. */
struct sfid__part sfid__part_cut(struct sfid__part *rest, const char *at);

static inline struct sfid__part sfid__part_behind(struct sfid__part p, size_t n) {
    return (struct sfid__part){p.at + n, p.len - n};
}

/* Reads decimal digits and nothing else, up to max. */
bool sfid__part_number(struct sfid__part p, uint64_t max, uint64_t *out);

/* Percent-decodes p into out, which has size bytes; `what` names it in errors. 0 or SFID_EINVAL. */
int sfid__part_decode(const struct sfid__uri_place *place, struct sfid__part p, const char *what,
                      char *out, size_t size);

#endif
