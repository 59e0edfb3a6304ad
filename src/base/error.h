/* SPDX-License-Identifier: MIT */
/* error.h - an error code with its sentence, written where the fault is known. */
#ifndef SFID_BASE_ERROR_H
#define SFID_BASE_ERROR_H

#include "base/compiler.h"

#define SFID__ERROR_TEXT 512

struct sfid__error {
    int code;
    char text[SFID__ERROR_TEXT];
    bool one_file; /* only one file is at fault: another pid may work. sfid__fail() clears it */
};

/* Files passed over because of such errors, for the report: how many, and the error of the
 * first. */
struct sfid__passed_over {
    unsigned count;
    struct sfid__error first;
};

/* Sets the code and the sentence, which is cut off if it is too long. Returns code. */
int sfid__fail(struct sfid__error *err, int code, const char *fmt, ...) SFID__PRINTF(3, 4);

/*
 * Copies len bytes of text into out and adds a NUL, as far as size bytes have room. Every byte that
 * is not printable ASCII becomes '?'. Use it for text that others wrote: a control character would
 * drive the operator's terminal. out may be text.
 */
void sfid__printable(char *out, size_t size, const char *text, size_t len);

/* Where text begins that may be shown: behind the last @ of len bytes. What stands before it in a
 * URL may be a password. */
const char *sfid__behind_password(const char *text, size_t len);

/* Counts an error of one file, and keeps the first. */
void sfid__pass_over(struct sfid__passed_over *over, const struct sfid__error *err);

/* Appends how many were passed over, and the first error: to mend that may be all that is needed.
 * Returns err->code. */
int sfid__tell_passed_over(struct sfid__error *err, const struct sfid__passed_over *over);

/* Like sfid__fail(), and appends ": " and the text of errnum. */
int sfid__fail_errno(struct sfid__error *err, int code, int errnum, const char *fmt, ...)
    SFID__PRINTF(4, 5);

#endif
