/* SPDX-License-Identifier: MIT */
/* ids.h - IDs as they are, one a line. */
#ifndef CMD_TEXT_IDS_H
#define CMD_TEXT_IDS_H

#include "args/any_layout.h"
#include "text/view.h"

#define ID_FORMATS "dec|hex|base62|base32|base58|bytes|json"
#define ID_FORMATS_WIDE ID_FORMATS "|uuid"

struct ids {
    int format;     /* place among the formats */
    unsigned width; /* at least so many digits; 0: as the form or layout has it */
    struct dec cache;
    struct view view;
};

/*
 * Reads options of a format (of all of them for IDs of 128 bits, whose own form
 * stands for none) and of the least length. False when one is none, which is told.
 */
bool ids_read(struct ids *ids, const struct args *args, int format, int length, const struct any_layout *any);
void ids_show(struct ids *ids, const int64_t *list, size_t n);
void ids_show_wide(struct ids *ids, const sfid_wide *list, size_t n);

#endif
