/* SPDX-License-Identifier: MIT */
/* epoch.h - finds the epoch of a family. */
#ifndef CMD_DECODE_EPOCH_H
#define CMD_DECODE_EPOCH_H

#include "decode/candidates.h"

double log2_of(double value); /* value > 0 */

/*
 * Finds what the times of the IDs, between oldest and newest, tell about the
 * epoch. Returns how much better than chance they are, in bits; *possible
 * becomes false if no epoch makes sense.
 */
double guess_epoch(const struct guess *guess, struct family *family, bool *possible);

/* Returns whether the IDs may have been read as this layout, so far as times tell: none from before
 * 2010, none in the future. */
bool guess_makes_sense(const struct guess *guess, const struct family *family, int64_t epoch_ms);

#endif
