/* SPDX-License-Identifier: MIT */
/*
 * turns.h - the berths of a crew, and which of them has the next turn. The crew's
 * lock guards all of it.
 *
 * Berths wait in order of their times. What can hang is a server, for as long as
 * an exchange may take, or a disk, for as long as it likes. Berths that depend on
 * the same one are a group. A group is doubtful while a turn of it hangs; that of
 * a server also if its last turn failed. Doubtful berths come behind all others
 * that are due.
 *
 * A turn is risky if it hangs, or if its berth was doubtful when it began. While
 * three turns with servers are risky, no other turn with a server begins: any of
 * them may turn out to hang as well. While one with a disk is risky, no other
 * berth of a doubtful disk has one. So one of five threads is left for berths
 * that depend on neither, and for those of another disk.
 */
#ifndef SFID_LEASE_TURNS_H
#define SFID_LEASE_TURNS_H

#include "lease/berth.h"

#define SFID__RISKY_REMOTE 3
#define SFID__RISKY_LOCAL 1
#define SFID__GROUPS 64

/* A heap of berths by due_ms: place - 1 is the index. */
struct sfid__order {
    struct sfid__berth **at;
    size_t n;
};

struct sfid__turns {
    size_t room, count;              /* of berths */
    struct sfid__berth **berth;      /* by number - 1; NULL: not in use */
    uint32_t *spare;                 /* numbers not in use: room - count of them */
    struct sfid__order order[2][2];  /* by remote, doubtful */
    unsigned risky[2];               /* by remote: turns under way */
    uint64_t doubtful[SFID__GROUPS]; /* groups, each at its remainder; of two at one place the later one; 0: none */
};

/* Makes room for one more. False: out of memory, and nothing has changed. */
bool sfid__turns_grow(struct sfid__turns *t);

/* The berth gets a number, and waits until then; and: it is not here any more. */
void sfid__turns_enter(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms);
void sfid__turns_leave(struct sfid__turns *t, struct sfid__berth *b);

/* The berth waits until then; and: it waits no more. */
void sfid__turns_wait(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms);
void sfid__turns_pick(struct sfid__turns *t, struct sfid__berth *b);

/* The berth whose turn is next, perhaps not yet due; NULL: none may have one. */
struct sfid__berth *sfid__turns_next(struct sfid__turns *t, int64_t now_ms);

/* Notes that a turn with the berth's server or disk hangs or has failed, or that one was done. */
void sfid__turns_doubt(struct sfid__turns *t, const struct sfid__berth *b, bool doubtful);

#endif
