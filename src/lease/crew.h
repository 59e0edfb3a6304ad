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

#include "lease/berth.h"

/*
 * Takes the berth into this process's crew; its first turn is due at once. 0 or an errno. Not if it
 * is there already. ops and remote are set once: a late sfid__crew_look() may be under way.
 */
int sfid__crew_join(struct sfid__berth *b);

/* Takes it out of this process's crew, if it is there. Waits for its own turn, if that is under
 * way, and for no other one. */
void sfid__crew_leave(struct sfid__berth *b);

/* If the berth is poked, its turn is due now: its bell may have rung for another crew, which had
 * its page. */
void sfid__crew_look(struct sfid__berth *b);

#endif
