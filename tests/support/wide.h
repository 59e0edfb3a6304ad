/* SPDX-License-Identifier: MIT */
/**
 * wide.h - shared by tests of generators of wide IDs: layouts by name, options,
 * and a record of the IDs of all processes, for comparison at the end.
 */
#ifndef SFID_TESTS_WIDE_H
#define SFID_TESTS_WIDE_H

#include "support/local.h"

/* One of the kinds, with a pid of no real host. */
struct kind {
    const char *name;
    int64_t pid; /* -1: leased */
    const char *app, *store;
};

extern const struct kind kinds[4];

sfid_wide_layout wide_layout(const char *name);
sfid_options wide_options(const struct kind *k, const sfid_wide_layout *l);

/* As next_within(). */
int wide_within(sfid *g, sfid_wide *id, unsigned limit_ms);

/* ---- generated IDs ------------------------------------------------------- */

/* IDs in shared memory, which survives SIGKILL. The count follows the ID that it counts. */
struct drawn {
    _Atomic uint64_t count;
    _Atomic int64_t error;
    uint64_t room;
    sfid_wide ids[];
};

struct drawn *drawn_new(uint64_t room);

/* One caller at a time. Returns false if the room is full or there is no ID. */
bool drawn_add(struct drawn *d, sfid *g);
bool increases(const sfid_wide *ids, uint64_t n);

/* Counts IDs that are in the lists twice, without their random bits: UUIDs have to differ by more
 * than chance. */
uint64_t repeated(struct drawn *const *lists, size_t n, const sfid_wide_layout *l);

#endif
