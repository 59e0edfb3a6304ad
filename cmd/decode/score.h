/* SPDX-License-Identifier: MIT */
/* score.h - how much better than chance a family explains IDs. */
#ifndef CMD_DECODE_SCORE_H
#define CMD_DECODE_SCORE_H

#include "decode/candidates.h"

double log2_of(double value); /* value > 0 */

/* Returns whether the IDs may have been read as this layout, so far as times tell: none from before
 * 2010, none in the future. */
bool guess_makes_sense(const struct guess *guess, const struct family *family, int64_t epoch_ms);

/* IDs as a family reads them. */
struct reading {
    size_t count;
    int64_t oldest, newest;
    uint64_t changing; /* bits of the tick that differ */
    uint64_t tick[GUESS_ROOM], pid[GUESS_ROOM], seq[GUESS_ROOM];
};

/* Reads sorted IDs. Returns false if one is not of the family. */
bool guess_read(const struct guess *guess, size_t family, const sfid_wide *id, size_t count,
                struct reading *r);

/* Sorts the sample, with the IDs whose time is known, and leaves out copies. */
void guess_sort(struct sample *sample, const struct known *known, size_t knowns);

/* Judges one family by sorted IDs. */
void guess_judge(struct guess *guess, size_t family, const sfid_wide *id, size_t count);

/* What counts as evidence against another family, in bits: a hundred to one. */
#define AGAINST_OTHERS 7

/* Returns whether pids and sequences are so regular that they show where the time ends. */
bool guess_shows_end(const struct family *family);

/* Judges all families of one width. Returns how many are possible, the best first. */
size_t guess_rank(struct guess *guess, bool wide, const sfid_wide *id, size_t count,
                  size_t order[GUESS_LAYOUTS]);

#endif
