/* SPDX-License-Identifier: MIT */
/**
 * wide.h - what the tests of generators of wide IDs share: a layout by name,
 * options, and all IDs drawn by any process, to be compared in the end.
 */
#ifndef SFID_TESTS_WIDE_H
#define SFID_TESTS_WIDE_H

#include "proc/local.h"

/* One of the three kinds, and a pid for it that is no real host's. */
struct kind {
    const char *name;
    int64_t pid; /* -1: leased */
    const char *app, *store;
};

static const struct kind kinds[] = {
    {"flake", INT64_C(0x02420a000001), NULL, NULL},
    {"awsflake", SFID_AWS_PID(4, 0x0a000102), NULL, NULL},
    {"uuid7", -1, "uuids", "local"},
};

UNUSED static sfid_wide_layout wide_layout(const char *name) {
    sfid_wide_layout l;
    if (sfid_wide_layout_parse(name, &l) != 0)
        die("no wide layout: %s", name);
    return l;
}

UNUSED static sfid_options wide_options(const struct kind *k, const sfid_wide_layout *l) {
    sfid_options opt = options_of(k->app, k->pid, NULL);
    opt.store = k->store;
    opt.wide = l;
    return opt;
}

/* As next_within(): patiently. */
UNUSED static int wide_within(sfid *g, sfid_wide *id, unsigned limit_ms) {
    const int64_t end = mono_ns() + (int64_t)limit_ms * NS_PER_MS;
    for (;;) {
        const int rc = sfid_next_wide(g, id);
        if ((rc != SFID_EAGAIN && rc != SFID_ECLOCK && rc != SFID_ELEASE) || mono_ns() > end)
            return rc;
        nap_us(1000);
    }
}

/* ---- what was drawn ------------------------------------------------------ */

/* In shared memory, which a SIGKILL leaves as it is; the count follows the ID it counts. */
struct drawn {
    _Atomic uint64_t count;
    _Atomic int64_t error;
    uint64_t room;
    sfid_wide ids[];
};

UNUSED static struct drawn *drawn_new(uint64_t room) {
    struct drawn *d = shared_memory(sizeof *d + room * sizeof *d->ids);
    d->room = room;
    return d;
}

/* By one at a time. False when it is full, or no ID came. */
UNUSED static bool drawn_add(struct drawn *d, sfid *g) {
    const uint64_t n = atomic_load_explicit(&d->count, memory_order_relaxed);
    const int rc = n < d->room ? wide_within(g, &d->ids[n], patience(20000)) : 0;
    if (rc < 0)
        atomic_store(&d->error, rc);
    if (rc < 0 || n == d->room)
        return false;
    atomic_store_explicit(&d->count, n + 1, memory_order_release);
    return true;
}

UNUSED static bool increases(const sfid_wide *ids, uint64_t n) {
    for (uint64_t i = 1; i < n; i++)
        if (sfid_wide_compare(ids[i - 1], ids[i]) >= 0)
            return false;
    return true;
}

UNUSED static int by_value(const void *a, const void *b) { return sfid_wide_compare(*(const sfid_wide *)a, *(const sfid_wide *)b); }

/* How many IDs of some lists, random bits aside, are there twice: two UUIDs are to differ by more than chance. */
UNUSED static uint64_t repeated(struct drawn *const *lists, size_t n, const sfid_wide_layout *l) {
    sfid_wide_facts facts;
    uint64_t total = 0, twice = 0;
    if (sfid_wide_layout_describe(l, &facts) < 0)
        die("no such layout");
    for (size_t i = 0; i < n; i++)
        total += lists[i]->count;
    sfid_wide *all = malloc((total + 1) * sizeof *all);
    if (all == NULL)
        die("out of memory");
    total = 0;
    for (size_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < lists[i]->count; k++, total++)
            all[total] = (sfid_wide){lists[i]->ids[k].high, lists[i]->ids[k].low & ~facts.max_random};
    qsort(all, total, sizeof *all, by_value);
    for (uint64_t i = 1; i < total; i++)
        twice += sfid_wide_compare(all[i - 1], all[i]) == 0;
    free(all);
    return twice;
}

#endif
