/* SPDX-License-Identifier: MIT */
/* ids.h - writes plain IDs, one a line. */
#ifndef CMD_TEXT_IDS_H
#define CMD_TEXT_IDS_H

#include "args/any_layout.h"
#include "args/args.h"
#include "text/reader.h"

#define ID_FORMATS "dec|hex|base62|base32|base58|bytes|json"
#define ID_FORMATS_WIDE ID_FORMATS "|uuid"

/* Reads the least number of digits of IDs in a form, or NO_FORM if these have none to add; name is
 * that of the form. Without the option it is 0. Returns false after a message. */
#define NO_FORM (-1)
bool read_width(const struct args *args, int i, const char *name, int form, bool wide,
                unsigned *width);

struct ids {
    int format;     /* index into the formats */
    unsigned width; /* least number of digits; 0: that of the form or layout */
    struct view view;
};

/*
 * Reads format and least length. 128-bit IDs have all formats; the default is
 * their layout's own. Returns false after a message if one is invalid.
 */
bool ids_read(struct ids *ids, const struct args *args, int format, int length,
              const struct any_layout *any);
void ids_show(struct ids *ids, const int64_t *list, size_t n);
void ids_show_wide(struct ids *ids, const sfid_wide *list, size_t n);

#endif
