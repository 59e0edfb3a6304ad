/* SPDX-License-Identifier: MIT */
/* berth.h - a generator's place in the crew of its process (crew.h): what the crew asks of it, and
 * what the crew notes of it. */
#ifndef SFID_LEASE_BERTH_H
#define SFID_LEASE_BERTH_H

#include "base/compiler.h"

struct sfid__berth;
struct sfid__crew;

struct sfid__berth_ops {
    /*
     * Does what is due. number: of the berth, for the bell of `watch`. Returns when the next turn
     * is due, in monotonic milliseconds (INT64_MAX: once the bell rings). No two turns of a berth
     * run at once.
     */
    int64_t (*turn)(struct sfid__berth *b, uint64_t watch, uint32_t number);

    /* True if the next turn should come at once. Not beside a turn. */
    bool (*is_poked)(const struct sfid__berth *b);

    /* True if the last turn got no answer. Not beside a turn. */
    bool (*has_failed)(const struct sfid__berth *b);

    /* What the berth depends on: of a server the same number for all its berths, of a disk too; 0:
     * on none. Not beside a turn. */
    uint64_t (*group)(const struct sfid__berth *b);

    /* The crew has lost its watch, or found none, and ends. The last call: from now on the berth
     * may come again, or be freed. */
    void (*left)(struct sfid__berth *b);
};

struct sfid__berth {
    const struct sfid__berth_ops *ops;
    bool remote; /* its turns depend on a server; otherwise on a disk, if on anything */

    /* The crew's. */
    struct sfid__crew *crew; /* all zero: in none */
    uint32_t number;
    bool leaves; /* somebody waits for the end of its turn */

    /* turns.h: */
    bool waits;  /* false: its turn is under way */
    uint32_t at; /* its group's index */
    int64_t due_ms;
    /* in the heap of those that wait: below it the first one; beside; the other way */
    struct sfid__berth *child, *next, *before;
};

#endif
