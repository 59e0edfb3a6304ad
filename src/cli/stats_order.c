/* SPDX-License-Identifier: MIT */
/*
 * stats_order.c - which IDs are out of order.
 *
 * IDs that increase are in order. The fewest that have to be taken out so that
 * the others increase are those that are out of place: what a late ID makes of
 * its neighbours is not their fault. So this is a longest increasing
 * subsequence, by patience sorting (Fredman 1975): a pile for each length,
 * with the ID that such a subsequence can end in at the lowest. IDs in order
 * go on top of all, without a search.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

/* The first of n places, in order, whose ID is not below one. */
static size_t first_not_below(const uint64_t *ids, const uint32_t *places, size_t n, uint64_t id) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ids[places[middle]] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets piles to the places of the IDs that are in order. Returns how many they are. */
static size_t find_in_order(const uint64_t *ids, size_t count, uint32_t *piles, uint32_t *before) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const bool on_top = n == 0 || ids[piles[n - 1]] < ids[i];
        const size_t pile = on_top ? n++ : first_not_below(ids, piles, n, ids[i]);
        before[i] = pile > 0 ? piles[pile - 1] : 0;
        piles[pile] = (uint32_t)i;
    }
    uint32_t at = n > 0 ? piles[n - 1] : 0;
    for (size_t pile = n; pile-- > 0; at = before[at])
        piles[pile] = at;
    return n;
}

/* place: of the first ID in order that is above this one. */
static void note(struct order *order, uint64_t id, size_t at, size_t place) {
    const struct misplaced found = {id, at + 1, place > at ? place - at - 1 : at - place};
    if (order->shown < STATS_SHOWN)
        order->list[order->shown++] = found;
    if (order->farthest.number == 0 || found.places > order->farthest.places)
        order->farthest = found;
}

bool stats_order(const uint64_t *ids, size_t count, struct order *order) {
    memset(order, 0, sizeof *order);
    uint32_t *piles = malloc(count * sizeof *piles + 1), *before = malloc(count * sizeof *before + 1);
    const bool enough = piles && before && count <= UINT32_MAX;
    size_t n = 0, k = 0;
    if (enough)
        n = order->in_order = find_in_order(ids, count, piles, before);
    free(before);
    for (size_t i = 0; enough && n < count && i < count; i++) {
        if (k < n && piles[k] == i) {
            k++;
            continue;
        }
        const size_t place = first_not_below(ids, piles, n, ids[i]);
        if (place == n || ids[piles[place]] != ids[i]) /* else it is one that stands, once more */
            note(order, ids[i], i, place < n ? piles[place] : count);
    }
    free(piles);
    return enough;
}
