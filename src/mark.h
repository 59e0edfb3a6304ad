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
 */
#ifndef SFID_MARK_H
#define SFID_MARK_H

#include "files.h"

struct sfid__mark {
    char *dir_path; /* of the app's state directory */
    char name[32];
    struct sfid__file_id id;
    void *hold; /* the mapping that keeps the lock; NULL when not held */
    uint64_t layout, pid;
};

/*
 * Takes the lock of a pid's mark, making the file where it is missing.
 * *position gets the word below which every number may have been issued; 0
 * for a pid never used here.
 *
 * 0, or SFID_EBUSY (someone holds it), SFID_ELAYOUT, SFID_ESTATE, SFID_ENOMEM.
 */
int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app, uint64_t pid, uint64_t layout, uint64_t *position,
                    struct sfid__error *err);

/* Writes a position and waits until it is durable. One writer at a time. 0 or SFID_ESTATE. */
int sfid__mark_write(struct sfid__mark *mark, uint64_t position, struct sfid__error *err);

/*
 * Lets go of the lock as far as this process holds it, and takes it anew.
 * Returns a descriptor when nobody else held it either: the caller is the last
 * and alone until it hands that to sfid__mark_left(); -1 when somebody does (a forked child), or
 * when it cannot be known.
 */
int sfid__mark_leave(struct sfid__mark *mark);

/* Ends what a successful sfid__mark_leave() began: gives the lock up. */
void sfid__mark_left(int fd);

/* Lets go of the lock and frees everything. Fine on a zeroed mark. */
void sfid__mark_drop(struct sfid__mark *mark);

#endif
