/* SPDX-License-Identifier: MIT */
/* order.h - which IDs are out of order. */
#ifndef CMD_DECODE_ORDER_H
#define CMD_DECODE_ORDER_H

#include "decode/numbers.h"

#define STATS_SHOWN 10 /* of duplicates, breaks, pids and gaps */

/* An ID that is out of place: without it, those around are in order. */
struct misplaced {
    sfid_wide id;
    size_t number; /* it is the number-th, from 1 */
    size_t places; /* how many IDs it is away from where it belongs */
};

struct order {
    size_t in_order; /* the most IDs that can be left to stand so that they increase */
    size_t shown;    /* of those out of place and equal to none that stands */
    struct misplaced list[STATS_SHOWN];
    struct misplaced farthest;
};

/* False without memory. */
bool stats_order(const struct numbers *ids, struct order *order);

#endif
