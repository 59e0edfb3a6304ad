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
 *   T1  At most three turns with servers are under way: two with one server, one
 *       with a server in doubt. One turn is under way with a disk.
 *   T2  Of the groups that T1 allows another turn, and that have a berth due,
 *       those without a turn come first, then those with one, both by the times of
 *       their berths. Servers in doubt come last: first the one that has been
 *       without a turn for longest.
 *   T3  But a server in doubt comes first if a berth of it has been due for 20 s,
 *       and no server in doubt has begun a turn for as long.
 *
 * A dead server does not hold up a sound one. It has two of the three places
 * until its first turn has failed, and one from then on. A berth of the sound
 * server is due: it comes behind those servers only that were due before it and
 * have not failed yet. Once they have, it waits for one turn at most, since all
 * that is due beside it comes behind it. So what it waits for is one turn for
 * each server that dies, three at a time, however many berths these have: 20 s
 * for 30 servers that die at one moment, with turns of 2 s.
 *
 * Each berth that is due gets its turn, as long as turns end; those with servers
 * do. A turn ends at a time behind that of all berths that are due, so a group
 * comes before another one finitely often, and a berth before others of its
 * group. A group that has a turn under way has none once that ends. By T3 servers in
 * doubt get turns whatever the others need, and by T2 all of them in turn. What a
 * disk holds up waits until that goes on.
 *
 * So one of five threads is left for berths that depend on neither, and for those
 * of another disk.
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

/* The berth, which depends on `group`, gets a number, and waits until then; and: it is not here any more. */
void sfid__turns_enter(struct sfid__turns *t, struct sfid__berth *b, uint64_t group, int64_t due_ms);
void sfid__turns_leave(struct sfid__turns *t, struct sfid__berth *b);

/* The berth waits until then. */
void sfid__turns_wait(struct sfid__turns *t, struct sfid__berth *b, int64_t due_ms);

/* The berth whose turn is next, perhaps not yet due; NULL: none may have one. */
struct sfid__berth *sfid__turns_next(const struct sfid__turns *t, int64_t now_ms);

/* A berth that waits has its turn; and: that is over. failed: it got no answer. group: as before, or what the berth depends on by now. */
void sfid__turns_begin(struct sfid__turns *t, struct sfid__berth *b, int64_t now_ms);
void sfid__turns_end(struct sfid__turns *t, struct sfid__berth *b, bool failed, uint64_t group);

#endif
