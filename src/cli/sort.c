/* SPDX-License-Identifier: MIT */
/* sort.c - numbers in order, by the tens of millions, where they are. */
#include "stats.h"

#include <string.h>

#define FEW 48

static void insert(uint64_t *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const uint64_t value = a[i];
        size_t at = i;
        for (; at > 0 && a[at - 1] > value; at--)
            a[at] = a[at - 1];
        a[at] = value;
    }
}

static bool is_sorted(const uint64_t *a, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (a[i] < a[i - 1])
            return false;
    return true;
}

/* Moves each number to the bucket of its byte, along the cycles of the permutation (McIlroy, Bostic, McIlroy: American flag). */
static void deal(uint64_t *a, unsigned shift, const size_t *count, size_t *begin) {
    size_t next[256], end[256], sum = 0;
    for (int b = 0; b < 256; b++) {
        begin[b] = next[b] = sum;
        end[b] = sum += count[b];
    }
    for (int b = 0; b < 256; b++)
        while (next[b] < end[b]) {
            uint64_t value = a[next[b]];
            unsigned to = value >> shift & 255;
            while (to != (unsigned)b) {
                const uint64_t other = a[next[to]];
                a[next[to]++] = value;
                value = other;
                to = value >> shift & 255;
            }
            a[next[b]++] = value;
        }
}

/* By the bytes from `shift` down: those above are equal. Each call goes a byte further down, so eight are the deepest. */
static void sort_from(uint64_t *a, size_t n, unsigned shift) {
    size_t count[256] = {0}, begin[256];
    if (n <= FEW) {
        insert(a, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        count[a[i] >> shift & 255]++;
    deal(a, shift, count, begin);
    for (int b = 0; b < 256 && shift > 0; b++)
        if (count[b] > 1)
            sort_from(a + begin[b], count[b], shift - 8);
}

void sort_numbers(uint64_t *a, size_t n) {
    if (!is_sorted(a, n))
        sort_from(a, n, 56);
}
