/* SPDX-License-Identifier: MIT */
/*
 * crew.h - the one background thread of a process, for all its generators.
 *
 * Each generator has a berth. The thread sleeps until the earliest berth is due,
 * or until a bell rings (base/watch.h): then it gives the berth a turn. A turn
 * may hang, because a server or a disk does. While all threads hang, there is
 * one more, a helper, that does the same. There are four at most, and each ends
 * once it is not needed and has found nothing to do for a second.
 *
 * The crew of a process begins with the first berth and ends with the last one.
 * A forked child has none of it; its first call that needs a turn makes another.
 */
#ifndef SFID_LEASE_CREW_H
#define SFID_LEASE_CREW_H

#include "base/compiler.h"

struct sfid__berth;
struct sfid__crew;

struct sfid__berth_ops {
    /*
     * Does what is due. number: of the berth, for the bell of `watch`. Returns when the next turn is due, in monotonic
     * milliseconds (INT64_MAX: once the bell rings). No two turns of a berth run at once.
     */
    int64_t (*turn)(struct sfid__berth *b, uint64_t watch, uint32_t number);

    /* True if the next turn should come at once. Not beside a turn. */
    bool (*is_poked)(const struct sfid__berth *b);

    /* True if the last turn got no answer. Not beside a turn. */
    bool (*has_failed)(const struct sfid__berth *b);

    /* What the berth depends on: of a server the same number for all its berths, of a disk too; 0: on none. Not beside a turn. */
    uint64_t (*group)(const struct sfid__berth *b);

    /* The crew has lost its watch, or found none, and ends. The last call: from now on the berth may come again, or be freed. */
    void (*left)(struct sfid__berth *b);
};

struct sfid__berth {
    const struct sfid__berth_ops *ops;
    bool remote; /* its turns depend on a server; otherwise on a disk, if on anything */

    /* The crew's. */
    uint64_t group;
    struct sfid__crew *crew; /* all zero: in none */
    uint32_t number;
    size_t place; /* in the order of times, from 1; 0: its turn is under way */
    int64_t due_ms;
    bool failed;   /* in its last turn */
    bool doubtful; /* turns.h */
};

/*
 * Takes the berth into this process's crew; its first turn is due at once. 0 or SFID_ENOMEM. Not if it is there already. ops and
 * remote are set once: a late sfid__crew_look() may be under way.
 */
int sfid__crew_join(struct sfid__berth *b);

/* Takes it out of this process's crew, if it is there. Waits for its own turn, if that is under way, and for no other one. */
void sfid__crew_leave(struct sfid__berth *b);

/* If the berth is poked, its turn is due now: its bell may have rung for another crew, which had its page. */
void sfid__crew_look(struct sfid__berth *b);

#endif
