/* SPDX-License-Identifier: MIT */
/* reader.h - IDs as people write them, of 64 and 128 bits. */
#ifndef CMD_TEXT_READER_H
#define CMD_TEXT_READER_H

#include <sfid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The forms by name, in the order of sfid_form; for args_choice(). */
extern const char *const id_forms[];

/*
 * Digits alone are decimal, 0x is hex. Anything else is of the form that was
 * announced; and so are digits alone that are as many as the form is written
 * with: one hex ID in some thousand happens to have no letter.
 */
struct reader {
    bool wide; /* 128 bits */
    sfid_form form;
    size_t least, most; /* digits alone, in such a number, are of the form */
};

void reader_begin(struct reader *reader, sfid_form form, bool wide);

/* For the form that IDs of a wide layout are usually written in. */
void reader_begin_wide(struct reader *reader, const sfid_wide_layout *layout);

/* False where it is none. */
bool reader_read(const struct reader *reader, const char *text, size_t len, sfid_wide *id);

/* Why reader_read() refused, to stand behind the text. */
#define READER_WHY 200
void reader_explain(const struct reader *reader, const char *text, size_t len, char why[READER_WHY]);

/* Says that a line, an argument or the like is bad: where it is, what it is, and why. */
void say_bad(const char *unit, uint64_t number, const char *text, size_t len, const char *why);

#endif
