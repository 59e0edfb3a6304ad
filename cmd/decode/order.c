/* SPDX-License-Identifier: MIT */
/* order.c - sorts tens of millions of numbers in place, and small lists. */
#include "decode/order.h"

#include <stdlib.h>

#define FEW 48

/* A range of the numbers: n, from the first on. */
struct part {
    struct numbers *numbers;
    size_t first, n;
};

static sfid_wide get(const struct part *part, size_t i) {
    return number_at(part->numbers, part->first + i);
}
static void set_part(const struct part *part, size_t i, sfid_wide number) {
    number_set(part->numbers, part->first + i, number);
}

static unsigned byte_of(sfid_wide number, unsigned shift) {
    return (shift < 64 ? number.low >> shift : number.high >> (shift - 64)) & 255;
}

static void insert(const struct part *part) {
    for (size_t i = 1; i < part->n; i++) {
        const sfid_wide value = get(part, i);
        size_t at = i;
        for (; at > 0 && is_below(value, get(part, at - 1)); at--)
            set_part(part, at, get(part, at - 1));
        set_part(part, at, value);
    }
}

static bool is_sorted(const struct numbers *numbers) {
    for (size_t i = 1; i < numbers->count; i++)
        if (is_below(number_at(numbers, i), number_at(numbers, i - 1)))
            return false;
    return true;
}

/* Moves each number to the bucket of its byte, along permutation cycles (American flag sort:
 * McIlroy, Bostic, McIlroy). */
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
                set_part(part, next[to]++, value);
                value = other;
                to = byte_of(value, shift);
            }
            set_part(part, next[b]++, value);
        }
}

/* Sorts by the bytes from `shift` down; the higher ones are equal. Each call goes one byte down, at
 * most sixteen deep. */
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

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void sort_values(uint64_t *value, size_t count) { qsort(value, count, sizeof *value, by_value); }
