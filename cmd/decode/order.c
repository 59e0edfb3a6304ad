/* SPDX-License-Identifier: MIT */
/* order.c - sorts tens of millions of numbers in place, and finds IDs that are out of order. */
#include "decode/all.h"

#include <stdlib.h>
#include <string.h>

#define FEW 48

/* A range of the numbers: n, from the first on. */
struct part {
    struct numbers *numbers;
    size_t first, n;
};

static sfid_wide get(const struct part *part, size_t i) { return number_at(part->numbers, part->first + i); }
static void set(const struct part *part, size_t i, sfid_wide number) { number_set(part->numbers, part->first + i, number); }

static unsigned byte_of(sfid_wide number, unsigned shift) {
    return (shift < 64 ? number.low >> shift : number.high >> (shift - 64)) & 255;
}

static void insert(const struct part *part) {
    for (size_t i = 1; i < part->n; i++) {
        const sfid_wide value = get(part, i);
        size_t at = i;
        for (; at > 0 && is_below(value, get(part, at - 1)); at--)
            set(part, at, get(part, at - 1));
        set(part, at, value);
    }
}

static bool is_sorted(const struct numbers *numbers) {
    for (size_t i = 1; i < numbers->count; i++)
        if (is_below(number_at(numbers, i), number_at(numbers, i - 1)))
            return false;
    return true;
}

/* Moves each number to the bucket of its byte, along permutation cycles (American flag sort: McIlroy, Bostic, McIlroy). */
static void deal(const struct part *part, unsigned shift, const size_t *count, size_t *begin) {
    size_t next[256], end[256], sum = 0;
    for (int b = 0; b < 256; b++) {
        begin[b] = next[b] = sum;
        end[b] = sum += count[b];
    }
    for (int b = 0; b < 256; b++)
        while (next[b] < end[b]) {
            sfid_wide value = get(part, next[b]);
            unsigned to = byte_of(value, shift);
            while (to != (unsigned)b) {
                const sfid_wide other = get(part, next[to]);
                set(part, next[to]++, value);
                value = other;
                to = byte_of(value, shift);
            }
            set(part, next[b]++, value);
        }
}

/* Sorts by the bytes from `shift` down; the higher ones are equal. Each call goes one byte down, at most sixteen deep. */
static void sort_from(const struct part *part, unsigned shift) {
    size_t count[256] = {0}, begin[256];
    if (part->n <= FEW) {
        insert(part);
        return;
    }
    for (size_t i = 0; i < part->n; i++)
        count[byte_of(get(part, i), shift)]++;
    deal(part, shift, count, begin);
    for (int b = 0; b < 256 && shift > 0; b++)
        if (count[b] > 1)
            sort_from(&(struct part){part->numbers, part->first + begin[b], count[b]}, shift - 8);
}

void sort_numbers(struct numbers *numbers) {
    if (!is_sorted(numbers))
        sort_from(&(struct part){numbers, 0, numbers->count}, numbers->wide ? 120 : 56);
}

/* ---- what is out of order ------------------------------------------------- */

/*
 * The smallest set of IDs whose removal leaves the others in ascending order is
 * out of place; their neighbours are not at fault. So the code finds a longest
 * increasing subsequence by patience sorting (Fredman 1975). There is one pile
 * for each length; its top is the lowest ID that ends such a subsequence. IDs
 * in order start a new pile without a search.
 */

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
