/* SPDX-License-Identifier: MIT */
/*
 * numbered.h - slots 0, 1, 2, … of an app, for processes whose pid comes from a
 * server. A process takes slot 0 if it is free, else one that hints.h finds;
 * its page says which pid was used there last.
 */
#ifndef SFID_HOST_NUMBERED_H
#define SFID_HOST_NUMBERED_H

#include "host/slot.h"

struct sfid__numbered {
    const struct sfid__dir *run;
    const char *app;
    uint64_t pids;                  /* at most as many slots as pids */
    uint64_t number;                /* slot number of the slot taken */
    struct sfid__passed_over *over; /* slots with unusable files */
};

/*
 * Takes a free slot of an app, and passes over slots whose files cannot be used. want->pid is
 * SFID__ANY_PID, and want->until_ms the end of the whole search. Returns 0, SFID_ESTATE,
 * SFID_ENOMEM, or SFID_ENOPID if as many processes of this host hold a slot as there are pids, or
 * time is over.
 */
int sfid__numbered_take(struct sfid__slot *slot, struct sfid__numbered *row,
                        const struct sfid__slot_want *want, struct sfid__error *err);

/* Before the slot is left for good, by the last process that has it: notes that it is free. */
void sfid__numbered_leave(const struct sfid__slot *slot);

#endif
