/* SPDX-License-Identifier: MIT */
/*
 * slot.h - a page in a locked file of the run directory.
 *
 * The file is 256 KiB long. Its blocks are written before they are touched
 * through the mapping, so a full file system is an error, never a SIGBUS. The
 * mapping keeps the lock (held.h). A file that fails a check is put aside: a
 * new one, made whole under another name and already locked, is renamed over
 * it. It is never reset in place, because someone might still have it mapped.
 *
 * When a handle closes, its page stays mapped up to its last record, for late
 * threads. The next slot of this process with the same file uses the same
 * mapping. A page that is replaced leaves a closed copy. slot.c has the
 * argument.
 */
#ifndef SFID_HOST_SLOT_H
#define SFID_HOST_SLOT_H

#include "host/slot_parts.h"

/*
 * Takes the slot `name` of an app, to which the caller has the right. It finds
 * the page of the slot or makes a new one, locked by this process alone. Takes
 * over dir, also on failure.
 *
 * Returns 0, SFID_EBUSY, SFID_ESTATE or SFID_ENOMEM.
 */
int sfid__slot_take(struct sfid__slot *slot, struct sfid__dir *dir, const char *name,
                    const struct sfid__slot_want *want, struct sfid__error *err);

/*
 * Returns the word that the pid want->pid has come to, by the page of the slot `name`; 0 if there
 * is no page, or none that can be used. It takes no lock and changes nothing, so a page in use may
 * seem worse than it is.
 */
uint64_t sfid__slot_furthest(const struct sfid__dir *dir, const char *name,
                             const struct sfid__slot_want *want);

/*
 * Takes part in the slot `name`, which any number of processes may have at once.
 * *live: others have it, and IDs come from its current record. Otherwise this
 * process is alone with it, as after sfid__slot_take(), until
 * sfid__slot_share() lets others in. want->pid is SFID__ANY_PID. Takes over dir.
 *
 * Returns as sfid__slot_take(). SFID_EBUSY: a process begins or ends the slot, so
 * it is to be tried again. SFID_ELAYOUT: the others have another layout.
 */
int sfid__slot_join(struct sfid__slot *slot, struct sfid__dir *dir, const char *name,
                    const struct sfid__slot_want *want, bool *live, struct sfid__error *err);
int sfid__slot_share(struct sfid__slot *slot, struct sfid__error *err);

/*
 * Gives the file a second name, that of a pid's page. So its lock keeps out a
 * process that comes to the pid through a mark made anew. Only for the process
 * that is alone with the slot and has the pid's mark.
 *
 * begin looks at the page that has the name (n->found; all zero: there is none,
 * or it is the slot's own), and keeps others off it. After 0, end has to follow.
 * It puts the slot's page in that one's place, or (take is false) leaves it.
 * Before that, what was found has to stand in the slot's own page.
 *
 * Returns as sfid__slot_take(). SFID_EBUSY: that page is in use.
 */
struct sfid__slot_naming {
    const char *name;
    int door, other;
    struct sfid__slot_found found;
};

int sfid__slot_name_begin(const struct sfid__slot *slot, const char *name,
                          const struct sfid__slot_want *want, struct sfid__slot_naming *n,
                          struct sfid__error *err);
int sfid__slot_name_end(struct sfid__slot *slot, const struct sfid__slot_naming *n, bool take,
                        struct sfid__error *err);

/* The steps of a take, for slot_share.c: begins with the directory, enters the door of a name, and
 * takes the slot inside it. */
void sfid__slot_begin(struct sfid__slot *slot, struct sfid__dir *dir, const char *name);
int sfid__slot_door(const char *name, const struct sfid__dir *dir, int64_t until_ms,
                    struct sfid__error *err);
int sfid__slot_take_inside(struct sfid__slot *slot, const struct sfid__slot_want *want,
                           struct sfid__error *err);

/*
 * Replaces the file by a new one. Its page is empty or begins with a record of the old one, closed.
 * On failure the slot has the old page still. carried: that record, or NULL. Returns as
 * sfid__slot_take().
 */
int sfid__slot_replace(struct sfid__slot *slot, uint64_t layout, struct sfid__record *carried,
                       struct sfid__error *err);

/* True if the path of the slot still leads to its file. */
bool sfid__slot_in_place(const struct sfid__slot *slot);

/*
 * Puts memory behind record i, which is below SFID__PAGE_RECORDS. Of a slot that others have,
 * nothing that is there is touched. Returns 0 or SFID_ESTATE.
 */
int sfid__slot_reserve(struct sfid__slot *slot, uint32_t i, struct sfid__error *err);

/*
 * Finds out whether this process is the last that holds the slot, as sfid__mark_is_last() does for
 * a mark. Only for slots taken with SFID__ANY_PID. If the file is gone, the family decides
 * (family.h). Also false if it cannot be known. After true this process has the lock alone until
 * sfid__slot_leave(). After false it has given up its share, or does so there.
 */
bool sfid__slot_is_last(struct sfid__slot *slot);

/*
 * Gives up this process's share of the lock. The page stays readable. If the
 * file is still there, it also stays shared with forked children; otherwise
 * this process keeps a closed copy.
 */
void sfid__slot_leave(struct sfid__slot *slot);

/* Leaves the slot and closes its directory. May be called on a zeroed slot and after
 * sfid__slot_leave(). */
void sfid__slot_drop(struct sfid__slot *slot);

#endif
