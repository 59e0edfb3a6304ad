/* SPDX-License-Identifier: MIT */
/*
 * mark.h - the durable mark: how far the numbers of a pid may have been used.
 *
 * The file of a mark lies in the state directory of its app, survives power
 * loss, and its lock is the right to the pid on this host. It has two entries
 * in different blocks, written in turn and each with a checksum, so that a
 * write torn by power loss leaves the one before:
 *
 *   - while a generator runs, the mark is ahead of it: written and synced
 *     before any number below it is issued. Losing the newer entry loses only
 *     what was not yet allowed;
 *   - on a clean close the exact position is written; losing that leaves the
 *     one ahead.
 *
 * The older entry is overwritten only when the newer one is known to be
 * durable. After a failed sync, and in a process that did not see its
 * predecessor's, the newer one is written and synced again first.
 *
 * A mark says no more than a lower bound: a page of this boot may know better
 * (grant.c). What is not the mark's file any more bounds nothing, so a
 * writer makes sure that its path still leads to it. After chroot(2) a path
 * leads to another place, and there is nothing to make sure of: the mapping is
 * the file, wherever that lies.
 */
#ifndef SFID_HOST_MARK_H
#define SFID_HOST_MARK_H

#include "host/files.h"

#define SFID__MARK_PREFIX "pid-" /* of a mark's file; then the pid */

/* Which mark is wanted. */
struct sfid__mark_want {
    uint64_t pid;
    uint64_t layout; /* fingerprint */
    bool synced;     /* what is written is waited for until it is durable; else it outlives the process, and no power loss */
};

struct sfid__mark {
    char *dir_path; /* of the app's state directory */
    char name[32];
    struct sfid__file_id id;
    struct sfid__file_id root; /* what "/" was when dir_path was looked up */
    void *map;                 /* of the file, shared: keeps the lock; NULL when not held */
    int kept_fd;               /* that keeps the lock where the mapping does not; 0: it does */
    struct sfid__mark_want want;
    uint64_t settled; /* sfid__process() of who has seen the newest entry synced */
};

/* What a mark says: every number below the word may have been issued, and last on which page. */
struct sfid__position {
    uint64_t word;
    uint64_t page; /* its nonce: any other page of this pid is out of date. 0: none so far */
    bool exact;    /* written on a clean close: no number from there on was issued */
    bool damaged;  /* one of the two entries is not good, perhaps the newest: torn by power loss, or worse */
};

/*
 * Takes the lock of a pid's mark, making the file where it is missing. *at
 * gets what it says, the word 0 for a pid never used here. That need not be
 * durable yet: who wrote it may have died before it was.
 *
 * 0, or SFID_EBUSY (someone holds it), SFID_ELAYOUT, SFID_ESTATE, SFID_ENOMEM.
 */
int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app, const struct sfid__mark_want *want,
                    struct sfid__position *at, struct sfid__error *err);

/*
 * Writes a position, and waits until it is durable where the mark is synced.
 * One writer at a time. 0, SFID_ESTATE, or SFID_ELEASE when the file was
 * removed or replaced: the lock held keeps nobody out any more.
 *
 * The file is opened by its path, so that a program may close all descriptors.
 * A program that has changed its user or its root directory cannot open it any
 * more: then the position is written through the mapping.
 */
int sfid__mark_write(struct sfid__mark *mark, struct sfid__position at, struct sfid__error *err);

/* True when the mark is held and its path still leads to the file: then what it says counts, and is put into *at. */
bool sfid__mark_in_place(const struct sfid__mark *mark, struct sfid__position *at);

/*
 * Asks whether this process is the last that holds the lock, by letting go of
 * its share and taking it anew, which no newcomer sees (sfid__door_enter). True:
 * it is, and holds it alone. False: a forked child holds it, or it cannot be
 * known; this process has let go, or does so with sfid__mark_drop().
 */
bool sfid__mark_is_last(struct sfid__mark *mark);

/* Lets go of the lock and frees everything. Fine on a zeroed mark. */
void sfid__mark_drop(struct sfid__mark *mark);

#endif
