/* SPDX-License-Identifier: MIT */
/*
 * order.c - finds IDs that are out of order.
 *
 * The smallest set of IDs whose removal leaves the others in ascending order is
 * out of place; their neighbours are not at fault. So the code finds a longest
 * increasing subsequence by patience sorting (Fredman 1975). There is one pile
 * for each length; its top is the lowest ID that ends such a subsequence. IDs
 * in order start a new pile without a search.
 */
#include "decode/all.h"

#include <stdlib.h>
#include <string.h>

/* Returns the first of n ordered places whose ID is not below `id`. */
static size_t first_not_below(const struct numbers *ids, const uint32_t *places, size_t n, sfid_wide id) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_below(number_at(ids, places[middle]), id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets piles to the places of the IDs in order. Returns how many they are. */
static size_t find_in_order(const struct numbers *ids, uint32_t *piles, uint32_t *before) {
    size_t n = 0;
    for (size_t i = 0; i < ids->count; i++) {
        const sfid_wide id = number_at(ids, i);
        const bool on_top = n == 0 || is_below(number_at(ids, piles[n - 1]), id);
        const size_t pile = on_top ? n++ : first_not_below(ids, piles, n, id);
        before[i] = pile > 0 ? piles[pile - 1] : 0;
        piles[pile] = (uint32_t)i;
    }
    uint32_t at = n > 0 ? piles[n - 1] : 0;
    for (size_t pile = n; pile-- > 0; at = before[at])
        piles[pile] = at;
    return n;
}

/* place: of the first ID in order that is above this one. */
static void note(struct order *order, sfid_wide id, size_t at, size_t place) {
    const struct misplaced found = {id, at + 1, place > at ? place - at - 1 : at - place};
    bool known = false;
    for (size_t i = 0; i < order->shown; i++)
        known |= is_same(order->list[i].id, id); /* a copy, which is counted as a duplicate */
    if (!known && order->shown < STATS_SHOWN)
        order->list[order->shown++] = found;
    if (order->farthest.number == 0 || found.places > order->farthest.places)
        order->farthest = found;
}

bool stats_order(const struct numbers *ids, struct order *order) {
    const size_t count = ids->count;
    memset(order, 0, sizeof *order);
    uint32_t *piles = malloc(count * sizeof *piles + 1), *before = malloc(count * sizeof *before + 1);
    const bool enough = piles && before && count <= UINT32_MAX;
    size_t n = 0, k = 0;
    if (enough)
        n = order->in_order = find_in_order(ids, piles, before);
    free(before);
    for (size_t i = 0; enough && n < count && i < count; i++) {
        if (k < n && piles[k] == i) {
            k++;
            continue;
        }
        const sfid_wide id = number_at(ids, i);
        const size_t place = first_not_below(ids, piles, n, id);
        if (place == n || !is_same(number_at(ids, piles[place]), id)) /* not a copy of an ID in order */
            note(order, id, i, place < n ? piles[place] : count);
    }
    free(piles);
    return enough;
}
