/* SPDX-License-Identifier: MIT */
/*
 * numbered.h - slots 0, 1, 2, … of an app, for processes whose pid comes from a
 * server: the first that is free is taken, and what it holds says which pid was
 * had there last.
 */
#ifndef SFID_HOST_NUMBERED_H
#define SFID_HOST_NUMBERED_H

#include "host/slot.h"

/* The slots of an app. */
struct sfid__numbered {
    const struct sfid__dir *run;
    const char *app;
    uint64_t pids;                  /* there are no more slots than pids */
    uint64_t number;                /* of the slot taken */
    struct sfid__passed_over *over; /* slots whose files cannot be used */
};

/*
 * Takes the first free slot of a row. want->pid is SFID__ANY_PID. A slot whose
 * file cannot be used is passed over. 0, or SFID_ESTATE, SFID_ENOMEM, or SFID_ENOPID
 * when as many processes of this host hold one as there are pids.
 */
int sfid__numbered_take(struct sfid__slot *slot, struct sfid__numbered *row, const struct sfid__slot_want *want,
                        struct sfid__error *err);

#endif
