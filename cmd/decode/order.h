/* SPDX-License-Identifier: MIT */
/* order.h - arrays of 64-bit or 128-bit numbers: sorts them, finds those out of order. */
#ifndef CMD_DECODE_ORDER_H
#define CMD_DECODE_ORDER_H

#include "io/base.h"

struct numbers {
    uint64_t *words; /* a wide number takes two, the high one first */
    size_t count, room;
    bool wide;
};

static inline sfid_wide number_at(const struct numbers *n, size_t i) {
    return n->wide ? (sfid_wide){n->words[2 * i], n->words[2 * i + 1]}
                   : (sfid_wide){0, n->words[i]};
}

static inline void number_set(struct numbers *n, size_t i, sfid_wide number) {
    if (n->wide)
        n->words[2 * i] = number.high;
    n->words[n->wide ? 2 * i + 1 : i] = number.low;
}

/* Return false if memory runs out. */
bool numbers_resize(struct numbers *numbers, size_t room);
bool number_add(struct numbers *numbers, sfid_wide number);

static inline bool is_below(sfid_wide a, sfid_wide b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}
static inline bool is_same(sfid_wide a, sfid_wide b) { return a.high == b.high && a.low == b.low; }

/* Sort in place. */
void sort_values(uint64_t *value, size_t count); /* a few thousand */
void sort_numbers(struct numbers *numbers);

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
