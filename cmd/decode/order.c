/* SPDX-License-Identifier: MIT */
/*
 * order.c - sorts tens of millions of IDs in place, and finds those that are out of order.
 *
 * The smallest set of IDs whose removal leaves the others in ascending order is
 * out of place; their neighbours are not at fault. So the code finds a longest
 * increasing subsequence by patience sorting (Fredman 1975). There is one pile
 * for each length; its top is the lowest ID that ends such a subsequence. IDs
 * in order start a new pile without a search.
 *
 * A hundred million IDs take 800 MB, so what is kept beside them must be small:
 * - A pile whose top is below all IDs to come never changes again. Only the
 *   others are kept; for IDs that are nearly in order, they are few.
 * - Of each ID, the distance of its pile from that of the ID before it is kept,
 *   in a byte or two. They are read back from the end: the last ID of the last
 *   pile is in order, then the last one before it of the pile below, and so on.
 * - IDs in order are marked in a bitmap.
 */
#include "decode/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- room --------------------------------------------------------------------- */

/* Grows by an eighth and more. The kernel moves large blocks without a copy. */
static size_t more_room(size_t room) { return room + room / 8 + 65536; }

bool numbers_resize(struct numbers *numbers, size_t room) {
    uint64_t *words = realloc(numbers->words, (room + 1) * sizeof *words << numbers->wide);
    if (words) {
        numbers->words = words;
        numbers->room = room;
    }
    return words != NULL;
}

bool number_add(struct numbers *numbers, sfid_wide number) {
    if (numbers->count == numbers->room && !numbers_resize(numbers, more_room(numbers->room)))
        return false;
    number_set(numbers, numbers->count++, number);
    return true;
}

/* Returns the list, grown, or NULL: then the list is as before. */
static void *grow(void *list, size_t *room, size_t size) {
    const size_t more = more_room(*room);
    void *larger = realloc(list, more * size);
    if (larger)
        *room = more;
    return larger;
}

/* ---- sorting ------------------------------------------------------------------ */

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

/* ---- distances ---------------------------------------------------------------- */

/* A stack of distances. The last byte of each tells its form: 0 to 127 is all of it, 128 to 239 has
 * a byte below it, and from 241 to 245 it counts the bytes below it. */
struct distances {
    unsigned char *bytes;
    size_t len, room;
};

enum { TWO = 128, MORE = 240, MOST = 6 };

static bool room_for_distance(struct distances *d) {
    unsigned char *bytes = grow(d->bytes, &d->room, sizeof *bytes);
    d->bytes = bytes ? bytes : d->bytes;
    return bytes != NULL;
}

static bool push(struct distances *d, int64_t distance) {
    uint64_t value = distance < 0 ? ~(uint64_t)distance * 2 + 1 : (uint64_t)distance * 2;
    if (d->room - d->len < MOST && !room_for_distance(d))
        return false;
    if (value < TWO) {
        d->bytes[d->len++] = (unsigned char)value;
    } else if (value < (MORE - TWO) * 256) {
        d->bytes[d->len++] = (unsigned char)value;
        d->bytes[d->len++] = (unsigned char)(TWO + (value >> 8));
    } else {
        unsigned count = 0;
        for (; value > 0; value >>= 8, count++)
            d->bytes[d->len++] = (unsigned char)value;
        d->bytes[d->len++] = (unsigned char)(MORE + count);
    }
    return true;
}

static int64_t pop(struct distances *d) {
    const unsigned last = d->bytes[--d->len];
    uint64_t value = last < TWO ? last : last < MORE ? last - TWO : 0;
    for (unsigned left = last < TWO ? 0 : last < MORE ? 1 : last - MORE; left > 0; left--)
        value = value << 8 | d->bytes[--d->len];
    return value % 2 ? (int64_t) ~(value / 2) : (int64_t)(value / 2);
}

/* ---- piles -------------------------------------------------------------------- */

#define BLOCK 4096 /* IDs; at the begin of each, piles are dropped */

struct piles {
    const struct numbers *ids;
    sfid_wide *least; /* of each block: the lowest ID from its begin to the end of all */
    uint32_t *top;    /* the places of the tops: top[first] to top[end - 1] */
    size_t first, end, room;
    size_t dropped; /* piles before top[first] */
    size_t last;    /* the pile of the ID before */
    struct distances distances;
};

static bool find_least(struct piles *piles) {
    const size_t count = piles->ids->count;
    sfid_wide least = {UINT64_MAX, UINT64_MAX};
    piles->least = malloc((count / BLOCK + 1) * sizeof *piles->least);
    for (size_t i = count; piles->least && i-- > 0;) {
        const sfid_wide id = number_at(piles->ids, i);
        least = is_below(id, least) ? id : least;
        piles->least[i / BLOCK] = least;
    }
    return piles->least != NULL;
}

static sfid_wide top_id(const struct piles *piles, size_t i) {
    return number_at(piles->ids, piles->top[i]);
}

/* Returns the first top that is not below `id`, or the end. */
static size_t first_not_below(const struct piles *piles, sfid_wide id) {
    size_t low = piles->first, high = piles->end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_below(top_id(piles, middle), id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Drops the piles that no ID from here on can change. */
static void drop(struct piles *piles, size_t block) {
    const size_t first = first_not_below(piles, piles->least[block]), kept = piles->end - first;
    piles->dropped += first - piles->first;
    piles->first = first;
    if (first <= kept)
        return;
    /* more are dropped than kept, so they do not overlap */
    memcpy(piles->top, piles->top + first, kept * sizeof *piles->top);
    piles->first = 0;
    piles->end = kept;
}

static bool room_for_top(struct piles *piles) {
    uint32_t *top = grow(piles->top, &piles->room, sizeof *top);
    piles->top = top ? top : piles->top;
    return top != NULL;
}

/* Puts the ID at a place on its pile. */
static bool put(struct piles *piles, size_t place) {
    const sfid_wide id = number_at(piles->ids, place);
    if (place % BLOCK == 0)
        drop(piles, place / BLOCK);
    const bool on_top = piles->first == piles->end || is_below(top_id(piles, piles->end - 1), id);
    if (on_top && piles->end == piles->room && !room_for_top(piles))
        return false;
    const size_t at = on_top ? piles->end++ : first_not_below(piles, id),
                 pile = piles->dropped + at - piles->first;
    const bool kept = push(&piles->distances, (int64_t)pile - (int64_t)piles->last);
    piles->top[at] = (uint32_t)place;
    piles->last = pile;
    return kept;
}

/* ---- IDs in order -------------------------------------------------------------- */

struct in_order {
    const struct numbers *ids;
    uint64_t *bits;  /* a bit for each ID */
    uint32_t *first; /* the first place in order in each word that has one */
    size_t firsts;
};

static bool is_in_order(const struct in_order *in, size_t place) {
    return in->bits[place / 64] >> place % 64 & 1;
}

/* Takes the piles back from the end. `want`: how many there are. */
static void mark(struct in_order *in, struct piles *piles, size_t want) {
    for (size_t place = in->ids->count, pile = piles->last; place-- > 0;
         pile -= (size_t)pop(&piles->distances))
        if (pile + 1 == want) {
            in->bits[place / 64] |= UINT64_C(1) << place % 64;
            want--;
        }
}

static void find_firsts(struct in_order *in) {
    for (size_t i = 0; i <= in->ids->count / 64; i++)
        if (in->bits[i])
            in->first[in->firsts++] = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(in->bits[i]));
}

static bool is_place_below(const struct in_order *in, size_t place, sfid_wide id) {
    return is_below(number_at(in->ids, place), id);
}

/* Returns the first place in order whose ID is not below `id`, or the count. */
static size_t find_place(const struct in_order *in, sfid_wide id) {
    size_t low = 0, high = in->firsts;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_place_below(in, in->first[middle], id))
            low = middle + 1;
        else
            high = middle;
    }
    /* It lies in the word before, or begins the next. */
    const size_t word = low > 0 ? in->first[low - 1] / 64 : 0;
    for (uint64_t left = low > 0 ? in->bits[word] : 0; left; left &= left - 1) {
        const size_t place = word * 64 + (size_t)__builtin_ctzll(left);
        if (!is_place_below(in, place, id))
            return place;
    }
    return low < in->firsts ? in->first[low] : in->ids->count;
}

/* ---- what is out of place ------------------------------------------------------- */

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

static void note_all(const struct in_order *in, struct order *order) {
    for (size_t i = 0; i < in->ids->count; i++) {
        if (is_in_order(in, i))
            continue;
        const sfid_wide id = number_at(in->ids, i);
        const size_t place = find_place(in, id);
        /* not a copy of an ID in order */
        if (place == in->ids->count || !is_same(number_at(in->ids, place), id))
            note(order, id, i, place);
    }
}

static bool find_misplaced(struct piles *piles, struct order *order) {
    struct in_order in = {.ids = piles->ids};
    const size_t words = piles->ids->count / 64 + 1;
    in.bits = calloc(words, sizeof *in.bits);
    in.first = malloc(words * sizeof *in.first);
    const bool enough = in.bits && in.first;
    if (enough) {
        mark(&in, piles, order->in_order);
        find_firsts(&in);
        note_all(&in, order);
    }
    free(in.bits);
    free(in.first);
    return enough;
}

bool stats_order(const struct numbers *ids, struct order *order) {
    struct piles piles = {.ids = ids};
    memset(order, 0, sizeof *order);
    bool enough = ids->count <= UINT32_MAX && find_least(&piles);
    for (size_t i = 0; enough && i < ids->count; i++)
        enough = put(&piles, i);
    order->in_order = piles.dropped + piles.end - piles.first;
    free(piles.top);
    free(piles.least);
    if (enough && order->in_order < ids->count)
        enough = find_misplaced(&piles, order);
    free(piles.distances.bytes);
    return enough;
}
