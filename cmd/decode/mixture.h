/* SPDX-License-Identifier: MIT */
/* mixture.h - whether IDs are a mixture, of several layouts. */
#ifndef CMD_DECODE_MIXTURE_H
#define CMD_DECODE_MIXTURE_H

#include "decode/candidates.h"

#define GUESS_PARTS 4 /* of a mixture */

/* Layouts, which share the IDs among them so that all are of one time. */
struct mixture {
    size_t parts;
    size_t layout[GUESS_PARTS]; /* places among the candidates */
    unsigned percent[GUESS_PARTS];
    int64_t last; /* of these times, about: Unix milliseconds */
};

/* False where there is no sign of one. */
bool guess_find_mixture(const struct guess *guess, struct mixture *out);

#endif
