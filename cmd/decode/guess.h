/* SPDX-License-Identifier: MIT */
/* guess.h - guesses which layout IDs have. */
#ifndef CMD_DECODE_GUESS_H
#define CMD_DECODE_GUESS_H

#include "decode/candidates.h"
#include "io/format.h"

#include <stdbool.h>

/* Ranks and prints the layouts that fit. */
void guess_report(struct guess *guess, enum view_format format, bool header);

#endif
