/* SPDX-License-Identifier: MIT */
/* damaged.h - explains what a spreadsheet or a float has made of an ID. */
#ifndef CMD_DECODE_DAMAGED_H
#define CMD_DECODE_DAMAGED_H

#include "text/reader.h"

/* Returns false if the text has none of these forms. */
bool damaged_explain(const char *text, size_t len, char why[READER_WHY]);

#endif
