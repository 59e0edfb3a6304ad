/* SPDX-License-Identifier: MIT */
/*
 * slot.h - a page in a locked file of the run directory.
 *
 * The file is 1 MiB long. Its blocks are written before they are touched
 * through the mapping, so a full file system is an error, never a SIGBUS. The
 * mapping keeps the lock (files.h). A file that fails a check is put aside: a
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

#include "draw/page.h"
#include "host/family.h"
#include "host/files.h"
#include "host/mapping.h"

struct sfid__slot {
    struct sfid__page *page;
    struct sfid__mapping *map;
    struct sfid__dir dir; /* the app's place in the run directory, with a shared lock that keeps systemd-tmpfiles out */
    struct stat dir_stat;
    char name[32];
    struct sfid__file_id id;
    struct sfid__family family; /* if taken with SFID__ANY_PID: who shares the lock, should the file be gone */
    bool mapped_before;         /* an earlier slot of this process has mapped the page */
    int kept_fd;                /* keeps the lock if the mapping does not; 0: the mapping does */
    uint32_t records;           /* how many records the page has; 0: it is new */
    char put_aside[96];         /* why the file that was found is not used, or "" */
};

/* For callers that obtain their pid together with the slot. The slot then shows which process is the last one. */
#define SFID__ANY_PID UINT64_MAX

/* What a page must fit to be trusted. */
struct sfid__slot_want {
    uint64_t layout;    /* fingerprint */
    uint64_t pid;       /* SFID__ANY_PID: any */
    uint64_t max_limit; /* no record may allow ticks from this one on */
};

/*
 * Takes the slot `name` of an app, to which the caller has the right. It finds
 * the page of the slot or makes a new one, locked by this process alone. Takes
 * over dir, also on failure.
 *
 * Returns 0, SFID_EBUSY, SFID_ESTATE or SFID_ENOMEM.
 */
int sfid__slot_take(struct sfid__slot *slot, struct sfid__dir *dir, const char *name, const struct sfid__slot_want *want,
                    struct sfid__error *err);

/* Replaces the file by a new one, if its page is full or its current record is of no use. Returns as sfid__slot_take(). */
int sfid__slot_renew(struct sfid__slot *slot, uint64_t layout, struct sfid__error *err);

/* True if the path of the slot still leads to its file. */
bool sfid__slot_in_place(const struct sfid__slot *slot);

/* Puts memory behind record i, which is below SFID__PAGE_RECORDS. Returns 0 or SFID_ESTATE. */
int sfid__slot_reserve(struct sfid__slot *slot, uint32_t i, struct sfid__error *err);

/*
 * Finds out whether this process is the last that holds the slot, as sfid__mark_is_last() does for a mark. Only for slots taken
 * with SFID__ANY_PID. If the file is gone, the family decides (family.h). Also false if it cannot be known. After false this
 * process has given up its share of the lock, or does so with sfid__slot_leave().
 */
bool sfid__slot_is_last(struct sfid__slot *slot);

/*
 * Gives up this process's share of the lock. The page stays readable. If the
 * file is still there, it also stays shared with forked children; otherwise
 * this process keeps a closed copy.
 */
void sfid__slot_leave(struct sfid__slot *slot);

/* Leaves the slot and closes its directory. May be called on a zeroed slot and after sfid__slot_leave(). */
void sfid__slot_drop(struct sfid__slot *slot);

#endif
