/* SPDX-License-Identifier: MIT */
/*
 * id_set.h - the IDs of a layout as a set of numbers: whether two sets are in order, and where they
 * meet.
 *
 * This is arithmetic alone and knows only the public header. So a test can hold it against all IDs
 * of small layouts.
 */
#ifndef CMD_LAYOUT_ID_SET_H
#define CMD_LAYOUT_ID_SET_H

#include <sfid.h>
#include <stdbool.h>
#include <stdint.h>

/* Some bits of an ID, and the values that they have in the set. */
struct id_field {
    unsigned shift, bits;
    uint64_t least, most;
};

struct id_set {
    int64_t epoch_ms;
    uint32_t unit_ms;
    /* how many fields there are, and which of them is the pid, or -1 */
    int count, pid;
    /* the first is the tick, above all others; a bit of no field is 0 */
    struct id_field fields[SFID_LAYOUT_FIELDS];
};

/*
 * Sets the fields, from those of a layout; epoch and unit must be set. The layout's last tick ends
 * at last_ms. `zero` is its ID of tick, pid and sequence 0, which has the bits that are the same in
 * all IDs.
 */
void id_set_fields(struct id_set *set, const sfid_field *fields, int count, int64_t last_ms,
                   sfid_wide zero);

/* Keeps the IDs with these pids. A layout without a pid has pid 0. */
void id_set_pids(struct id_set *set, uint64_t least, uint64_t most);

/* Keeps the IDs of ticks that are in progress at some moment from since_ms to until_ms. Returns
 * false if there is none. */
bool id_set_span(struct id_set *set, int64_t since_ms, int64_t until_ms);

/* The lowest and the highest ID. */
sfid_wide id_set_lowest(const struct id_set *set);
sfid_wide id_set_highest(const struct id_set *set);

/* When the tick of an ID begins. */
int64_t id_set_time(const struct id_set *set, sfid_wide id);

/* Finds when the first tick begins of which all IDs are above this one. Returns false if there is
 * no such tick. */
bool id_set_above(const struct id_set *set, sfid_wide id, int64_t *ms);

/* Finds the lowest ID that is in both sets. It is also the first in time: a higher ID has a later
 * tick, or the same, in both. */
bool id_sets_meet(const struct id_set *a, const struct id_set *b, sfid_wide *id);

/*
 * The sets are in order at a moment if each ID of `next` whose tick has not ended is above each ID
 * of `old` whose tick has begun.
 *
 * id_sets_order_from() finds the moment from which on they are always in order, at the latest the
 * end of the last tick of `next`. Returns false if they always were.
 *
 * id_sets_order_until() is for a moment at which they are in order. It finds the next one at which
 * they are not. Returns false if there is none.
 */
bool id_sets_order_from(const struct id_set *old, const struct id_set *next, int64_t *ms);
bool id_sets_order_until(const struct id_set *old, const struct id_set *next, int64_t after_ms,
                         int64_t *ms);

#endif
