/* SPDX-License-Identifier: MIT */
/* reader.h - reads IDs of 64 and 128 bits in all their forms. */
#ifndef CMD_TEXT_READER_H
#define CMD_TEXT_READER_H

#include "io/base.h"

/* Names of the forms, in the order of sfid_form, for args_choice(). */
extern const char *const id_forms[];

/*
 * A text of digits is decimal, and 0x means hex. Any other text has the
 * announced form. So do digits if their count is the form's length: one hex ID
 * in some thousands has no letter.
 */
struct reader {
    bool wide; /* 128 bits */
    sfid_form form;
    size_t least, most; /* this many digits alone have the form, too */
};

void reader_begin(struct reader *reader, sfid_form form, bool wide);

/* For the form in which IDs of a wide layout are usually written. */
void reader_begin_wide(struct reader *reader, const sfid_wide_layout *layout);

/* Returns false if the text is no ID. */
bool reader_read(const struct reader *reader, const char *text, size_t len, sfid_wide *id);

/* Returns whether there are only decimal digits. */
bool all_decimal(const char *text, size_t len);

/* Explains why reader_read() refused; the answer follows the text in a message. */
#define READER_WHY 200
void reader_explain(const struct reader *reader, const char *text, size_t len,
                    char why[READER_WHY]);

/* Prints that a line or argument is bad: its place, its text, and why. */
void say_bad(const char *unit, uint64_t number, const char *text, size_t len, const char *why);

#endif
