/* SPDX-License-Identifier: MIT */
/* error.h - an error code with its sentence, filled in where the fault is known. */
#ifndef SFID_BASE_ERROR_H
#define SFID_BASE_ERROR_H

#include "base/compiler.h"

#define SFID__ERROR_TEXT 512

struct sfid__error {
    int code;
    char text[SFID__ERROR_TEXT];
    bool one_file; /* it is about one file alone: another pid may well be had. sfid__fail() clears it */
};

/* What was passed over for such files, to be reported: how many, and the sentence about the first. */
struct sfid__passed_over {
    unsigned count;
    struct sfid__error first;
};

/* Sets code and sentence, cut off where it is too long; returns code. */
int sfid__fail(struct sfid__error *err, int code, const char *fmt, ...) SFID__PRINTF(3, 4);

/*
 * Copies len bytes of text into out, as far as its size bytes have room for them and a NUL: what is not graphic ASCII becomes
 * '?'. For what others wrote: a control character would drive the terminal that it is shown on. out may be text.
 */
void sfid__printable(char *out, size_t size, const char *text, size_t len);

/* Takes note of an error of one file. */
void sfid__pass_over(struct sfid__passed_over *over, const struct sfid__error *err);

/* As sfid__fail, with ": " and the text of errnum behind the sentence. */
int sfid__fail_errno(struct sfid__error *err, int code, int errnum, const char *fmt, ...) SFID__PRINTF(4, 5);

#endif
