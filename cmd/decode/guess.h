/* SPDX-License-Identifier: MIT */
/* guess.h - guesses which layout IDs have. */
#ifndef CMD_DECODE_GUESS_H
#define CMD_DECODE_GUESS_H

#include "decode/candidates.h"
#include "io/out.h"

/* Ranks and prints the families of layouts that fit. Returns the exit status: STATUS_GOOD only for
 * a certain answer. */
int guess_report(struct guess *guess, enum view_format format, bool header);

#endif
