/* SPDX-License-Identifier: MIT */
/* reader.h - reads an ID of 64 or 128 bits in any form, and takes it apart. */
#ifndef CMD_TEXT_READER_H
#define CMD_TEXT_READER_H

#include "args/any_layout.h"
#include "io/date.h"
#include "io/digits.h"
#include "io/out.h"

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

#define VIEW_LABEL 32 /* the widest label of a layout, and two spaces, fit */

#define VIEW_CHOSEN 16 /* columns, at most */

enum partition { PARTITION_NONE, PARTITION_DAY, PARTITION_HOUR };

struct view {
    bool wide;
    sfid_layout layout;
    sfid_wide_layout wide_layout; /* used instead of layout if wide */
    sfid_form form;               /* the form of wide IDs */
    unsigned width;
    bool random; /* IDs have random bits */
    enum view_format format;
    unsigned char chosen[VIEW_CHOSEN]; /* columns of CSV and TSV, in this order */
    unsigned chosen_count;             /* 0: all of them */
    enum partition partition;          /* set after view_begin(), as date.zone is */
    bool age;
    bool later; /* the text form puts an empty line before all but the first ID */
    char name[SFID_LAYOUT_STR_LEN];
    size_t name_len;
    /* the fields that their makers call by another name, and the parts of a split pid */
    sfid_field own[SFID_LAYOUT_FIELDS];
    int own_count;
    int label_width;                    /* of a line of VIEW_TEXT; two spaces follow */
    int id_width, pid_width, seq_width; /* column widths of the table */
    struct date date;
    struct {
        uint64_t tick;
        size_t len; /* 0: there are none yet */
        char text[DATE_ROOM + 2 * DEC_ROOM];
    } moment; /* the columns of the last tick: IDs of one tick mostly come one after another */
};

void view_begin(struct view *view, const struct any_layout *any, enum view_format format);

/* An ID of either width, and its parts. */
struct taken {
    sfid_wide id;
    uint64_t tick, pid, seq, random;
    int64_t unix_ms;
};

/* Returns false if it is no ID of the layout. */
bool view_take(const struct view *view, sfid_wide id, struct taken *taken);

/* Returns how long ago the ID was generated, in milliseconds. */
int64_t view_age(const struct taken *taken);

/* Returns whether the time is more than a minute past now, which only a wrong clock gives. */
bool view_is_future(const struct taken *taken);

#endif
