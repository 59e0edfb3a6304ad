/* SPDX-License-Identifier: MIT */
/*
 * slot.c - takes, maps and leaves slot files.
 *
 * What can go wrong, and what prevents it:
 *
 *   Two processes use one page: (1).
 *   The page is old, a copy, damaged or too far ahead: (2).
 *   The file system is full: an error where a file or a record is made (3),
 *     never a SIGBUS at an ID.
 *   A thread still has the address of a record after close: (4), (5).
 *   A fork at any moment: the child shares the mapping and its lock.
 *   The program closes all descriptors: the mapping keeps the lock (held.h).
 *     in_place, reserve, is_last and leave open the directory by its path.
 *   The file is gone: in_place says so, is_last asks the family (family.h),
 *     and leave puts a closed copy in the page's place.
 *
 * Invariants:
 *
 *   1. From take until is_last or leave this process has a share of the page's
 *      lock. A file is locked before it is mapped, a new one before it is named.
 *   2. A slot writes nothing to a file that fails a check. The check reads a
 *      private copy. Then a new file is renamed over the bad one, whose lock is
 *      held until its name is gone.
 *   3. No byte of a page is touched before its block has memory: it is written to
 *      the file or, of a page that others have, allocated as it is.
 *   4. The addresses of a page that threads have used stay its own (mapping.h).
 *   5. A slot never continues a record of an earlier slot of this process: take
 *      closes it. So what a late thread takes from it is dropped: (c) of slow.c.
 *
 * Who may run with whom:
 *
 *   take, is_last         One process at a time per name: they go through the
 *                         door (held.h). Slots of one process run in parallel.
 *   replace               The thread that took the slot, before others use it.
 *   in_place, reserve     One thread at a time: it opens the handle, or is the
 *                         keeper, or closes.
 *   is_last, leave, drop  The thread that closes, after its keeper has ended.
 *   threads that generate Beside all; replace meets late ones only.
 */
#include "host/slot.h"

#include "base/hash.h"
#include "draw/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BLOCK SFID__SLOT_BLOCK
#define ASKERS 4 /* of a process, for a directory */
/* and one of so many slots, so that some are left when the first ones are closed */
#define ASKS_EACH 64

/* ---- a file that is there ------------------------------------------------ */

/* The record of an open that failed, or was never closed, is worth what a kill leaves. */
static void close_own(struct sfid__record *r) {
    /* Relaxed: alone with the page. */
    if (atomic_load_explicit(&r->word, memory_order_relaxed) & SFID__CLOSED)
        return;
    sfid__record_close(r);
    sfid__record_leave(r, true);
}

/* Maps a locked file if its content is good; otherwise sets slot->put_aside. Returns 0, or an error
 * that is not due to the file. */
static int attach(struct sfid__slot *slot, int fd, const struct stat *st,
                  const struct sfid__slot_want *want, struct sfid__error *err) {
    struct sfid__slot_found found;
    if (sfid__slot_judge(slot, fd, st, want, &found, err) < 0)
        return err->code;
    if (found.bad) {
        snprintf(slot->put_aside, sizeof slot->put_aside, "%s", found.bad);
        return 0;
    }
    slot->records = found.records;
    if (sfid__slot_map(slot, fd, found.nonce, err) < 0)
        return err->code;
    if (slot->records > 0) {
        if (slot->mapped_before) /* (5) */
            close_own(&slot->page->records[slot->records - 1]);
        /* Relaxed: alone with the page, and threads get the address of the record with a
         * release. */
        atomic_store_explicit(&slot->page->current, slot->records - 1, memory_order_relaxed);
    }
    sfid__page_reset_keeper(slot->page);
    return 0;
}

int sfid__slot_take_inside(struct sfid__slot *slot, const struct sfid__slot_want *want,
                           struct sfid__error *err) {
    struct stat st;
    const int fd = sfid__file_lock(&slot->dir, slot->name, LOCK_EX, &st, err);
    if (fd < 0)
        return err->code ? err->code : sfid__slot_make_file(slot, want->layout, NULL, err);
    slot->held.id = sfid__file_id(&st);
    /* all that shared the page are gone, and no other is to come to it */
    if (slot->held.kind == SFID__HELD_OWN && st.st_nlink > 1)
        sfid__file_remove_others(&slot->dir, slot->name, &slot->held.id);
    int rc = attach(slot, fd, &st, want, err);
    if (rc == 0 && !slot->put_aside[0])
        return sfid__held_begin(&slot->held, &slot->dir, slot->name, fd, NULL, err);
    if (rc == 0)
        rc = sfid__slot_make_file(slot, want->layout, NULL, err);
    close(fd); /* (2) */
    return rc;
}

/* The number of the door comes from the slot's name. Two names with one number only wait for each
 * other. */
int sfid__slot_door(const char *name, const struct sfid__dir *dir, int64_t until_ms,
                    struct sfid__error *err) {
    return sfid__door_enter(dir, sfid__hash(SFID__HASH_SEED, name, strlen(name)), until_ms, err);
}

/*
 * The door is needed even if the caller holds the mark of the pid. A process with another state
 * directory may hold that pid's mark there; both would find no page and make one.
 */
static int take_by_door(struct sfid__slot *slot, const struct sfid__slot_want *want,
                        struct sfid__error *err) {
    const int door = sfid__slot_door(slot->name, &slot->dir, want->until_ms, err);
    if (door < 0)
        return err->code;
    const int rc = sfid__slot_take_inside(slot, want, err);
    sfid__door_leave(door);
    return rc;
}

/* Slots of this process that ask, by directory. A child has a copy, as it has of the
 * descriptors. */
static _Atomic int askers[256];

static _Atomic int *askers_of(const struct sfid__slot *slot) {
    return &askers[(slot->dir.device + slot->dir.inode) % (sizeof askers / sizeof askers[0])];
}

/*
 * Asks systemd-tmpfiles to keep out of the directory. Few of a process's slots do that: the kernel
 * goes through all locks of a directory whenever a descriptor of it is locked or closed. It gives
 * no right, so a refusal does not matter. Relaxed: how many ask decides nothing.
 */
static void ask_cleaners(struct sfid__slot *slot) {
    static _Atomic unsigned slots;
    const bool one_of_many =
        atomic_fetch_add_explicit(&slots, 1, memory_order_relaxed) % ASKS_EACH == 0;
    _Atomic int *ask = askers_of(slot);
    if (atomic_load_explicit(ask, memory_order_relaxed) >= ASKERS && !one_of_many)
        return;
    if (flock(slot->dir.fd, LOCK_SH | LOCK_NB) < 0)
        return;
    slot->asks = true;
    atomic_fetch_add_explicit(ask, 1, memory_order_relaxed);
}

static void begin(struct sfid__slot *slot, struct sfid__dir *dir, const char *name) {
    *slot = (struct sfid__slot){.dir = *dir};
    *dir = (struct sfid__dir)SFID__DIR_NONE;
    snprintf(slot->name, sizeof slot->name, "%s", name);
}

void sfid__slot_begin(struct sfid__slot *slot, struct sfid__dir *dir, const char *name) {
    begin(slot, dir, name);
    ask_cleaners(slot);
}

int sfid__slot_take(struct sfid__slot *slot, struct sfid__dir *dir, const char *name,
                    const struct sfid__slot_want *want, struct sfid__error *err) {
    begin(slot, dir, name);
    const int rc = take_by_door(slot, want, err);
    if (rc < 0) {
        sfid__slot_drop(slot);
        return rc;
    }
    ask_cleaners(slot); /* a search that tries many slots asks for one of them */
    if (want->pid == SFID__ANY_PID)
        sfid__family_begin(&slot->family);
    return 0;
}

uint64_t sfid__slot_furthest(const struct sfid__dir *dir, const char *name,
                             const struct sfid__slot_want *want) {
    const struct sfid__slot slot = {.dir = *dir};
    struct sfid__slot_found found = {.position = 0};
    struct sfid__error ignored;
    struct stat st;
    const int fd = sfid__file_look(dir, name);
    if (fd < 0)
        return 0;
    const bool known = fstat(fd, &st) == 0 &&
                       sfid__slot_judge(&slot, fd, &st, want, &found, &ignored) == 0 && !found.bad;
    close(fd);
    return known ? found.position : 0;
}

bool sfid__slot_in_place(const struct sfid__slot *slot) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    if (slot->dir.path == NULL || sfid__dir_reopen(&dir, slot->dir.path, &ignored) < 0)
        return false;
    const bool there = sfid__file_is(&dir, slot->name, &slot->held.id);
    sfid__dir_close(&dir);
    return there;
}

int sfid__slot_reserve(struct sfid__slot *slot, uint32_t i, struct sfid__error *err) {
    /* Another keeper may have records there by now, or may have left a block without memory in
     * which this one begins. */
    const bool beside = !sfid__held_alone(&slot->held);
    const off_t from = (off_t)(sfid__page_bytes(i) + (beside ? 0 : BLOCK - 1)) / BLOCK * BLOCK;
    const off_t to = (off_t)(sfid__page_bytes(i + 1) + BLOCK - 1) / BLOCK * BLOCK;
    if (from == to)
        return 0;
    const int fd = sfid__slot_open_again(slot);
    int why = fd < 0 ? errno : 0;
    /* somebody removed the file */
    if (why != 0 && sfid__mapping_populate(slot->map, (size_t)from, (size_t)to))
        return 0;
    if (why == 0 && beside)
        why = fallocate(fd, 0, from, to - from) < 0 ? errno : 0;
    else if (why == 0)
        why = sfid__slot_write_blocks(fd, from, to);
    if (fd >= 0)
        close(fd);
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot extend slot file %s/%s",
                                  slot->dir.path, slot->name)
               : 0;
}

/* ---- more records ---------------------------------------------------------- */

static int slot_replace(struct sfid__slot *slot, uint64_t layout, struct sfid__record *carried,
                        struct sfid__error *err) {
    struct sfid__slot old = *slot;
    slot->held.fd = 0;
    slot->map = NULL;
    const int rc = sfid__slot_make_file(slot, layout, carried, err);
    if (rc < 0) {
        *slot = old; /* all that has changed is that the carried record may be closed */
        return rc;
    }
    sfid__mapping_close(old.map, SFID__MAX(old.records, sfid__page_index(old.page) + 1));
    sfid__held_drop(&old.held);
    return 0;
}

int sfid__slot_replace(struct sfid__slot *slot, uint64_t layout, struct sfid__record *carried,
                       struct sfid__error *err) {
    const int door = sfid__slot_door(slot->name, &slot->dir, 0, err);
    const int rc = door < 0 ? err->code : slot_replace(slot, layout, carried, err);
    sfid__door_leave(door);
    return rc;
}

/* ---- leaving ------------------------------------------------------------- */

bool sfid__slot_is_last(struct sfid__slot *slot) {
    struct sfid__error ignored;
    struct sfid__dir dir = SFID__DIR_NONE;
    const int door = sfid__dir_reopen(&dir, slot->dir.path, &ignored) < 0
                         ? -1
                         : sfid__slot_door(slot->name, &dir, 0, &ignored);
    const int fd = door < 0 ? -1 : sfid__slot_map_again(slot);
    const bool last =
        fd < 0 ? sfid__family_is_last(&slot->family) : sfid__held_is_last(&slot->held, fd, true, 0);
    sfid__door_leave(door);
    sfid__dir_close(&dir);
    return last;
}

void sfid__slot_leave(struct sfid__slot *slot) {
    if (slot->page == NULL)
        return;
    /* A child may append more records; this process does not use those. Looked at before the page
     * is mapped again: memory that is not touched there costs nothing. */
    const uint32_t records = SFID__MAX(slot->records, sfid__page_index(slot->page) + 1);
    const int fd = sfid__slot_map_again(slot);
    if (fd < 0) {
        sfid__mapping_close(slot->map, records); /* stays in use: only late threads need it */
        /* narrowed after all of it was mapped: valgrind's account breaks down if one mapping has a
         * file under two names */
    } else {
        sfid__mapping_narrow(slot->map, records);
        close(fd);
    }
    sfid__held_drop(&slot->held);
    sfid__family_leave(&slot->family);
    if (fd >= 0)
        sfid__mapping_leave(slot->map);
    slot->page = NULL;
    slot->map = NULL;
}

/* A daemon may have closed our descriptor, and opened its own with the same number. That one stays
 * open. */
static void close_dir(struct sfid__slot *slot) {
    struct stat now;
    if (slot->dir.fd >= 0 && (fstat(slot->dir.fd, &now) < 0 || now.st_dev != slot->dir.device ||
                              now.st_ino != slot->dir.inode))
        slot->dir.fd = -1;
    if (slot->asks)
        atomic_fetch_sub_explicit(askers_of(slot), 1, memory_order_relaxed); /* as above */
    slot->asks = false;
    sfid__dir_close(&slot->dir);
}

void sfid__slot_drop(struct sfid__slot *slot) {
    sfid__slot_leave(slot);
    if (slot->dir.path)
        close_dir(slot);
    slot->dir = (struct sfid__dir)SFID__DIR_NONE;
}
