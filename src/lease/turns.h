/* SPDX-License-Identifier: MIT */
/*
 * turns.h - the berths of a crew, and which of them has the next turn. The crew's
 * lock guards all of it.
 *
 * What can hang is a server, for as long as an exchange may take, or a disk, for
 * as long as it likes. Berths that depend on the same one are a group, and wait
 * in the order of their times. A server is in doubt if the last turn with it
 * failed.
 *
 *   T1  At most three turns with servers are under way, two of them with one
 *       server, or one if that is in doubt. With a disk there is one. Berths that
 *       depend on neither have no limit.
 *   T2  Of the groups that T1 allows a turn, and that have a berth due, those
 *       without a turn under way come first, then servers with one, both by the
 *       times of their berths. Servers in doubt come last: first the one whose last
 *       turn began longest ago.
 *   T3  But a server in doubt comes first if a berth of it has been due for 20 s,
 *       and no turn with a server in doubt has begun for as long.
 *
 * A dead server does not hold up a sound one. A berth of the sound one is due, and
 * no turn with that server is under way. By T2 it comes behind those servers only
 * that have no turn either, were due earlier, and are not in doubt. A dead one of
 * them has one turn before it: that fails. So the berth waits for the end of one turn,
 * and for one turn with each server that has died and not failed yet, three at a
 * time, however many berths they have: 20 s for 30 that die at one moment, with
 * turns of 2 s. T3 adds one turn in 20 s.
 *
 * Each berth that is due gets its turn. Turns with servers end. The next time of a
 * berth is no earlier than the end of its turn, so finitely many turns come before
 * one that is due, of its group and, by T2, of others: a server with a turn under
 * way is without one when that ends. Servers in doubt have a turn in 20 s by T3,
 * whatever the others need, and by T2 one after the other. What depends on a disk
 * waits for as long as that hangs.
 *
 * Three of five threads wait for servers at most, and one for each disk. So one is
 * left for berths that depend on neither, unless two disks hang.
 *
 * A turn of a pool counts for the server that had the lease when it began, also
 * while a claim asks the others.
 */
#ifndef SFID_LEASE_TURNS_H
#define SFID_LEASE_TURNS_H

#include "lease/berth.h"

#define SFID__TURNS_REMOTE 3
#define SFID__TURNS_OF_SERVER 2
#define SFID__TURNS_OWED_MS 20000

struct sfid__group {
    uint64_t number; /* of what its berths depend on; 0: on nothing */
    bool remote, doubtful;
    uint32_t members, under_way; /* berths; turns. No members: not in use */
    int64_t began_ms;            /* its last turn */
    struct sfid__berth *first;   /* of those that wait: the top of a heap; NULL: none */
};

struct sfid__turns {
    size_t room, count, groups; /* of berths; groups: how many have been in use at once */
    struct sfid__berth **berth; /* by number - 1; NULL: not in use */
    uint32_t *spare;            /* numbers not in use: room - count of them */
    struct sfid__group *group;  /* as many as berths */
    uint32_t under_way;         /* turns with servers */
    int64_t doubtful_began_ms;  /* the last turn with a server in doubt */
};

/* Makes room for one more. False: out of memory, and nothing has changed. */
bool sfid__turns_grow(struct sfid__turns *t);

/* The berth, which depends on `group`, gets a number, and waits until then. */
void sfid__turns_enter(struct sfid__turns *t, struct sfid__berth *b, uint64_t group,
                       int64_t due_ms);
/* It is not here any more. */
void sfid__turns_leave(struct sfid__turns *t, struct sfid__berth *b);

/* The berth waits until then. */
void sfid__turns_wait(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms);

/* The berth whose turn is next, perhaps not yet due; NULL: none may have one. */
struct sfid__berth *sfid__turns_next(const struct sfid__turns *t, int64_t now_ms);

/* A berth that waits has its turn. */
void sfid__turns_begin(struct sfid__turns *t, struct sfid__berth *b, int64_t now_ms);
/* The turn is over. failed: it got no answer. group: as before, or what the berth depends on by
 * now. */
void sfid__turns_end(struct sfid__turns *t, struct sfid__berth *b, bool failed, uint64_t group);

#endif
