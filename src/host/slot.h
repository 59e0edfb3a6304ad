/* SPDX-License-Identifier: MIT */
/*
 * slot.h - a page in a locked file of the run directory.
 *
 * The file is 1 MiB long and has memory behind it block by block, written
 * once before it is touched through the mapping: a full file system is an
 * error here and never a SIGBUS there. Its lock is held through the mapping
 * (files.h). A file that fails any check is put aside: a new one, made whole
 * under another name and locked already, is renamed over it. It is never
 * reset in place, since someone might still have it mapped.
 *
 * A page stays mapped up to its last record when a handle is closed, for
 * threads that come late; the next slot of this process that gets the same
 * file uses the same mapping. A page that is replaced leaves a closed copy.
 */
#ifndef SFID_HOST_SLOT_H
#define SFID_HOST_SLOT_H

#include "draw/page.h"
#include "host/family.h"
#include "host/files.h"

struct sfid__slot_map; /* a mapping of this process */

struct sfid__slot {
    struct sfid__page *page;
    struct sfid__slot_map *map;
    struct sfid__dir dir; /* of the app in the run directory, with a shared lock that keeps systemd-tmpfiles out */
    struct stat dir_stat;
    char name[32];
    struct sfid__file_id id;
    struct sfid__family family; /* of slots taken with SFID__ANY_PID: who shares the lock, should the file be gone */
    bool mapped_before;         /* by an earlier slot of this process */
    int kept_fd;                /* that keeps the lock where the mapping does not; 0: it does */
    uint32_t records;           /* how many the page has; 0: it is new */
    char put_aside[96];         /* why the file found there was not used, or "" */
};

/* Wanted by who has no right to a pid yet, but comes by one with the slot: then it is the slot that says who is last. */
#define SFID__ANY_PID UINT64_MAX

/* What a page has to be to be believed. */
struct sfid__slot_want {
    uint64_t layout;    /* fingerprint */
    uint64_t pid;       /* SFID__ANY_PID: any */
    uint64_t max_limit; /* no record may allow ticks from there on */
};

/*
 * Takes the slot `name` of an app, to which the caller has the right: finds
 * its page or makes a new one, locked by this process alone. Takes over dir,
 * also when it fails.
 *
 * 0, or SFID_EBUSY, SFID_ESTATE, SFID_ENOMEM.
 */
int sfid__slot_take(struct sfid__slot *slot, struct sfid__dir *dir, const char *name, const struct sfid__slot_want *want,
                    struct sfid__error *err);

/* Replaces the file by a new one, when its page is full or its current record of no use. As sfid__slot_take. */
int sfid__slot_renew(struct sfid__slot *slot, uint64_t layout, struct sfid__error *err);

/* True when the path of the slot still leads to its file. */
bool sfid__slot_in_place(const struct sfid__slot *slot);

/* Sees to it that record i has memory behind it. 0 or SFID_ESTATE; i below SFID__PAGE_RECORDS. */
int sfid__slot_reserve(struct sfid__slot *slot, uint32_t i, struct sfid__error *err);

/*
 * Asks whether this process is the last that holds the slot, as
 * sfid__mark_is_last() does for a mark. Only for slots taken with SFID__ANY_PID. Where the file is gone the family says
 * (family.h). False also when it cannot be known; the hold is given up then or with sfid__slot_leave().
 */
bool sfid__slot_is_last(struct sfid__slot *slot);

/*
 * Lets go of the lock as far as this process holds it. The page stays readable
 * and, where the file is still there, shared with forked children; else this
 * process is left with a closed copy.
 */
void sfid__slot_leave(struct sfid__slot *slot);

/* Fine on a zeroed slot and after sfid__slot_leave. */
void sfid__slot_drop(struct sfid__slot *slot);

#endif
