/* SPDX-License-Identifier: MIT */
/* mixture.h - finds out whether IDs are a mixture of several layouts. */
#ifndef CMD_DECODE_MIXTURE_H
#define CMD_DECODE_MIXTURE_H

#include "decode/candidates.h"

#define GUESS_PARTS 4 /* layouts in a mixture */
#define GUESS_SOME 8  /* IDs are enough to see what is usual */

/* Layouts that share the IDs so that all their times fall together. */
struct mixture {
    size_t parts;
    size_t layout[GUESS_PARTS]; /* indexes into the candidates */
    unsigned percent[GUESS_PARTS];
    int64_t from, to, last; /* of all times, with a margin; the last one; in Unix milliseconds */
};

/* Returns false if the IDs show no sign of a mixture. */
bool guess_find_mixture(const struct guess *guess, struct mixture *out);

#endif
