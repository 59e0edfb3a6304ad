/* SPDX-License-Identifier: MIT */
/* disorder.h - finds IDs that are out of order. */
#ifndef CMD_DECODE_DISORDER_H
#define CMD_DECODE_DISORDER_H

#include "decode/order.h"

#define STATS_SHOWN 10 /* entries in each list: duplicates, breaks, pids, gaps */

/* An ID that is out of place: without it, its neighbours are in order. */
struct misplaced {
    sfid_wide id;
    size_t number; /* its position in the input, from 1 */
    size_t places; /* its distance from where it belongs, in IDs */
};

struct order {
    size_t in_order; /* length of the longest increasing subsequence */
    size_t shown;    /* entries in the list, which leaves out copies of an ID in order */
    struct misplaced list[STATS_SHOWN];
    struct misplaced farthest;
};

/* Returns false if memory runs out. */
bool stats_order(const struct numbers *ids, struct order *order);

#endif
