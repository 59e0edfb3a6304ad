/* SPDX-License-Identifier: MIT */
/*
 * mark.h - the durable mark: how far the positions of a pid may have been used.
 *
 * The file of a mark lies in the state directory of its app and survives power
 * loss. Its lock is the right to the pid on this host. A keeper has two entries in
 * the file (mark_entries.h), in different blocks, each with a checksum. They are
 * written in turn, so a write torn by power loss leaves the other one:
 *
 *   - While a generator runs, the mark is ahead of it: it is written and synced
 *     before any position below it is issued. If the newer entry is lost, only
 *     what was not yet allowed is lost.
 *   - A clean close writes the exact position. If that entry is lost, the one
 *     ahead is left.
 *
 * The older entry is overwritten only if the newer one is known to be durable.
 * After a failed sync, and in a process that did not see the newer one synced,
 * the entry goes to the place of one that is needed no more; if none is known,
 * the newer one is written and synced again first.
 *
 * A new file is synced behind its first window, and then its name: before both
 * are durable, no ID is issued under it. So an open takes two syncs for a pid
 * that is new here, and one for another.
 *
 * A mark is only a lower bound: a page of this boot may know better (grant.c). A
 * file that is no longer the mark's file bounds nothing, so a writer checks that
 * its path still leads to the file. After chroot(2) a path leads to another
 * place, and there is nothing to check: the mapping is the file, wherever it is.
 */
#ifndef SFID_HOST_MARK_H
#define SFID_HOST_MARK_H

#include "host/held.h"

#define SFID__MARK_PREFIX "pid-" /* prefix of the names of marks; the pid follows */

struct sfid__mark_want {
    uint64_t pid;
    uint64_t layout; /* fingerprint */
    /* writes wait until they are durable; otherwise they outlive the process, but no power loss */
    bool synced;
    bool shared;      /* other processes are let in: sfid__mark_share() */
    int64_t until_ms; /* take, join: as in a slot */
};

struct sfid__mark {
    char *dir_path; /* the app's state directory */
    char *path;     /* of the file */
    char name[32];
    struct sfid__held held;
    struct sfid__file_id root; /* what "/" was when dir_path was looked up */
    struct sfid__disk *map;    /* shared mapping of the file: keeps the lock; NULL when not held. A
                                  load or a store there can be SIGBUS, so the type has no members:
                                  sfid__mark_entry_copy() */
    struct sfid__mark_want want;
    unsigned seat; /* of the keeper that writes; 0 if the pid is not shared */
    /* sfid__process() of the process that saw the newest entry of that seat synced */
    uint64_t settled;
    uint64_t serial; /* of that entry */
    bool named;      /* the name of the file is durable, whatever its entries note */
};

/* What a mark says: every position below the word may have been issued, and on which page last. */
struct sfid__position {
    uint64_t word;
    uint64_t page_nonce; /* every other page of this pid is out of date. 0: none so far */
    bool exact;          /* written on a clean close: no position from the word on was issued */
    /* one entry is not good, perhaps the newest: torn by power loss, or worse */
    bool damaged;
};

/*
 * Takes the lock of a pid's mark, and makes the file if it is missing. *at gets
 * what the mark says, with word 0 for a pid never used here. That need not be
 * durable yet: its writer may have died before the sync.
 *
 * Returns 0, SFID_EBUSY (someone holds it), SFID_ELAYOUT, SFID_ESTATE or
 * SFID_ENOMEM.
 */
int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app,
                    const struct sfid__mark_want *want, struct sfid__position *at,
                    struct sfid__error *err);

/*
 * What the mark of a pid says, without its lock: nothing is changed. word 0: there is none. layout:
 * fingerprint. Returns 0, SFID_ELAYOUT or SFID_ESTATE.
 */
int sfid__mark_look(const struct sfid__dir *app, uint64_t pid, uint64_t layout,
                    struct sfid__position *at, struct sfid__error *err);

/*
 * Shares the lock with other processes: sfid__mark_share() by the process that
 * has it alone, sfid__mark_join() by one that found the page in use. The mark
 * has to name that page: a mark that was made anew under it gives no right.
 *
 * Return 0, SFID_EBUSY (a process has the mark for itself), SFID_ESTATE,
 * SFID_ELAYOUT or SFID_ENOMEM. by_fd: a mapping does not keep the lock here.
 */
int sfid__mark_share(struct sfid__mark *mark, bool *by_fd, struct sfid__error *err);
int sfid__mark_join(struct sfid__mark *mark, const struct sfid__dir *app,
                    const struct sfid__mark_want *want, uint64_t page_nonce, bool by_fd,
                    struct sfid__error *err);

/*
 * Writes a position, and waits until it is durable if the mark is synced. One
 * writer at a time. Returns 0, SFID_ESTATE, or SFID_ELEASE if the file was
 * removed or replaced: the lock then keeps nobody out any more.
 *
 * The file is opened by its path, so that a program may close all descriptors.
 * A program that has changed its user or its root directory, or has no
 * descriptor left, cannot open it: then the position is written through the
 * mapping. If the file system is at fault nothing is written.
 */
int sfid__mark_write(struct sfid__mark *mark, struct sfid__position at, struct sfid__error *err);

/*
 * True if the mark is held and its path still leads to the file. Then *at gets what the mark says.
 * False with errno: ESTALE if it does not, else why that cannot be known.
 */
bool sfid__mark_in_place(const struct sfid__mark *mark, struct sfid__position *at);

/*
 * Finds out whether this process is the last that holds the lock. It gives up
 * its share and takes the lock anew, which no newcomer sees (sfid__door_enter).
 * True: it is the last, and holds the lock alone. False: a forked child holds
 * it, or it cannot be known. Then this process has given up its share, or does
 * so with sfid__mark_drop().
 */
bool sfid__mark_is_last(struct sfid__mark *mark);

/* Gives up the lock and frees everything. May be called on a zeroed mark. */
void sfid__mark_drop(struct sfid__mark *mark);

#endif
