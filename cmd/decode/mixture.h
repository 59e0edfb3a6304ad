/* SPDX-License-Identifier: MIT */
/* mixture.h - finds out whether IDs are of several layouts or makers. */
#ifndef CMD_DECODE_MIXTURE_H
#define CMD_DECODE_MIXTURE_H

#include "decode/candidates.h"

/* IDs in order; strays and what lies beyond a gap are not among them. */
struct body {
    const sfid_wide *id;
    size_t count, strays;
};

/* Leaves out strays: up to a twentieth of the IDs, if all others lie close together. */
void body_leave_strays(struct body *body);

/* Finds a gap of more than half of all, which chance hardly leaves. Returns where it ends; 0: there
 * is none. */
size_t body_find_gap(const struct body *body);

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
