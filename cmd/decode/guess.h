/* SPDX-License-Identifier: MIT */
/* guess.h - which layouts IDs may have been drawn with. */
#ifndef CMD_DECODE_GUESS_H
#define CMD_DECODE_GUESS_H

#include "decode/candidates.h"
#include "io/format.h"

#include <stdbool.h>

/* Ranks and shows the layouts that fit. */
void guess_report(struct guess *guess, enum view_format format, bool header);

#endif
