/* SPDX-License-Identifier: MIT */
/**
 * wide.h - what the tests of generators of wide IDs share: a layout by name,
 * options, and all IDs drawn by any process, to be compared in the end.
 */
#ifndef SFID_TESTS_WIDE_H
#define SFID_TESTS_WIDE_H

#include "support/local.h"

/* One of the three kinds, and a pid for it that is no real host's. */
struct kind {
    const char *name;
    int64_t pid; /* -1: leased */
    const char *app, *store;
};

extern const struct kind kinds[3];

sfid_wide_layout wide_layout(const char *name);
sfid_options wide_options(const struct kind *k, const sfid_wide_layout *l);

/* As next_within(): patiently. */
int wide_within(sfid *g, sfid_wide *id, unsigned limit_ms);

/* ---- what was drawn ------------------------------------------------------ */

/* In shared memory, which a SIGKILL leaves as it is; the count follows the ID it counts. */
struct drawn {
    _Atomic uint64_t count;
    _Atomic int64_t error;
    uint64_t room;
    sfid_wide ids[];
};

struct drawn *drawn_new(uint64_t room);

/* By one at a time. False when it is full, or no ID came. */
bool drawn_add(struct drawn *d, sfid *g);
bool increases(const sfid_wide *ids, uint64_t n);

/* How many IDs of some lists, random bits aside, are there twice: two UUIDs are to differ by more than chance. */
uint64_t repeated(struct drawn *const *lists, size_t n, const sfid_wide_layout *l);

#endif
