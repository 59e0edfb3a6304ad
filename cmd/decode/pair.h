/* SPDX-License-Identifier: MIT */
/* pair.h - finds IDs of two families among one another. */
#ifndef CMD_DECODE_PAIR_H
#define CMD_DECODE_PAIR_H

#include "decode/candidates.h"

struct pair {
    /* two layouts; these or habits; two habits of the makers of one layout */
    enum { PAIR_LAYOUTS, PAIR_EITHER, PAIR_HABITS } kind;
    size_t family[2];
    unsigned percent;    /* of the first */
    uint64_t example[2]; /* an ID of each, beyond doubt */
    bool known;          /* a time is known of each */
};

/* Looks whether the best family with another, or twice by itself, explains sorted IDs of 64 bits
 * much better. */
bool guess_find_pair(struct guess *guess, size_t best, const sfid_wide *id, size_t count,
                     struct pair *pair);

#endif
