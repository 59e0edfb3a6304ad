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
 *   The program closes all descriptors: the mapping keeps the lock (files.h).
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
 *   3. No byte of a page is touched before its block is written to the file.
 *   4. The addresses of a page that threads have used stay its own (mapping.h).
 *   5. A slot never continues a record of an earlier slot of this process: take
 *      closes it. So what a late thread takes from it is dropped: (c) of slow.c.
 *
 * Who may run with whom:
 *
 *   take, is_last         One process at a time per name: they go through the
 *                         door (files.h). Slots of one process run in parallel.
 *   renew                 The thread that took the slot, before others use it.
 *   in_place, reserve     One thread at a time: it opens the handle, or is the
 *                         keeper, or closes.
 *   is_last, leave, drop  The thread that closes, after its keeper has ended.
 *   threads that generate Beside all; renew meets late ones only.
 */
#include "host/slot.h"

#include "base/fd.h"
#include "base/hash.h"
#include "base/random.h"
#include "draw/record.h"
#include "host/identity.h"
#include "id/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BLOCK 4096

/* ---- identity of a file -------------------------------------------------- */

/* The header that this file should have, but for nonce and checksum. */
static int expect(int fd, uint64_t layout, struct sfid__page_id *id) {
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &sx) < 0)
        return errno;
    *id = (struct sfid__page_id){.layout = layout, .device = makedev(sx.stx_dev_major, sx.stx_dev_minor), .inode = sx.stx_ino};
    if (sx.stx_mask & STATX_BTIME) {
        id->born_s = sx.stx_btime.tv_sec;
        id->born_ns = sx.stx_btime.tv_nsec;
    }
    sfid__boot_id(id->boot_id);
    return 0;
}

static int map_file(struct sfid__slot *slot, int fd, uint64_t nonce, struct sfid__error *err) {
    slot->map = sfid__mapping_take(fd, nonce, &slot->mapped_before);
    if (slot->map == NULL)
        return sfid__fail_errno(err, errno == ENOMEM ? SFID_ENOMEM : SFID_ESTATE, errno, "cannot map %s/%s", slot->dir.path,
                                slot->name);
    slot->page = slot->map->page;
    return 0;
}

/* Closes the descriptor of the slot's file, once it is mapped and named. Keeps one if the mapping does not keep the lock. */
static int keep_lock(struct sfid__slot *slot, int fd, struct sfid__error *err) {
    slot->kept_fd = sfid__file_keep_lock(&slot->dir, slot->name, fd, err);
    return slot->kept_fd < 0 ? err->code : 0;
}

/* ---- a new file ---------------------------------------------------------- */

static int write_blocks(int fd, off_t from, off_t to) {
    static const char zero[BLOCK];
    for (; from < to; from += BLOCK) {
        const ssize_t n = pwrite(fd, zero, BLOCK, from);
        if (n != BLOCK)
            return n < 0 ? errno : ENOSPC;
    }
    return 0;
}

static int fill_new(struct sfid__slot *slot, int fd, uint64_t layout, struct sfid__error *err) {
    struct sfid__page_id id;
    int why = write_blocks(fd, 0, BLOCK);
    if (why == 0 && ftruncate(fd, SFID__MAP_SIZE) < 0)
        why = errno;
    if (why == 0)
        why = expect(fd, layout, &id);
    if (why == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        why = errno;
    if (why)
        return sfid__fail_errno(err, SFID_ESTATE, why, "cannot make slot file %s/%s", slot->dir.path, slot->name);
    sfid__random(&id.nonce, sizeof id.nonce);
    id.nonce |= 1; /* never 0 */
    sfid__page_id_seal(&id);
    slot->id = (struct sfid__file_id){id.device, id.inode};
    slot->records = 0;
    if (map_file(slot, fd, id.nonce, err) < 0)
        return err->code;
    if ((why = sfid__page_init(slot->page, &id)) != 0)
        return sfid__fail_errno(err, SFID_ESTATE, why, "cannot set up slot file %s/%s", slot->dir.path, slot->name);
    return 0;
}

/*
 * Makes a new file under a name of its own, and renames it to the slot's name,
 * over an old one: the caller has the right to the name. First it removes files
 * of processes that were killed in here.
 */
static int make_file(struct sfid__slot *slot, uint64_t layout, struct sfid__error *err) {
    char temp[SFID__TEMP_NAME];
    sfid__file_remove_temps(&slot->dir, slot->name);
    sfid__file_temp_name(temp, slot->name);
    const int fd = sfid__fd_above_standard(openat(slot->dir.fd, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot make slot file %s/%s", slot->dir.path, slot->name);
    int rc = fill_new(slot, fd, layout, err);
    if (rc == 0 && renameat(slot->dir.fd, temp, slot->dir.fd, slot->name) < 0)
        rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot rename the new slot file to %s/%s", slot->dir.path, slot->name);
    if (rc == 0)
        return keep_lock(slot, fd, err);
    unlinkat(slot->dir.fd, temp, 0);
    close(fd);
    return rc;
}

/* ---- the door -------------------------------------------------------------- */

/* The number of the door comes from the slot's name. Two names with one number only wait for each other. */
static int enter_door(const struct sfid__slot *slot, const struct sfid__dir *dir, struct sfid__error *err) {
    return sfid__door_enter(dir, sfid__hash(SFID__HASH_SEED, slot->name, strlen(slot->name)), err);
}

/* ---- a file that is there ------------------------------------------------ */

/* How many bytes, from the beginning of the file, have memory behind them. */
static size_t backed_bytes(int fd, const struct stat *st) {
    if (st->st_size != SFID__MAP_SIZE)
        return 0;
    const off_t hole = lseek(fd, 0, SEEK_HOLE);
    return hole < 0 ? 0 : (size_t)hole / BLOCK * BLOCK;
}

/* Says why the content of a file cannot be used; NULL if it can. Sets slot->records. Checks a copy, before any mapping. */
static const char *judge(struct sfid__slot *slot, const struct sfid__page *copy, size_t bytes, const struct sfid__page_id *id,
                         const struct sfid__slot_want *want) {
    const char *why = sfid__page_check(copy, id, bytes, &slot->records);
    if (why)
        return why;
    const struct sfid__record *r = slot->records ? &copy->records[slot->records - 1] : NULL;
    if (r && want->pid != SFID__ANY_PID && sfid__record_pid(r) != want->pid)
        return "it has another pid";
    return r ? sfid__record_check_range(r, want->max_limit) : NULL;
}

/* Maps a locked file if its content is good; otherwise sets slot->put_aside. Returns 0, or an error that is not due to the file. */
static int attach(struct sfid__slot *slot, int fd, const struct stat *st, const struct sfid__slot_want *want,
                  struct sfid__error *err) {
    struct sfid__page_id id;
    const size_t bytes = backed_bytes(fd, st);
    if (bytes < BLOCK) {
        snprintf(slot->put_aside, sizeof slot->put_aside, "it is too short");
        return 0;
    }
    int why_not = expect(fd, want->layout, &id);
    /* mmap, not malloc: nothing of a large page stays with the allocator. */
    void *memory = why_not ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED && pread(fd, memory, bytes, 0) != (ssize_t)bytes)
        why_not = EIO;
    if (memory == MAP_FAILED || why_not) {
        if (memory != MAP_FAILED)
            munmap(memory, bytes);
        return sfid__fail_errno(err, SFID_ESTATE, why_not ? why_not : ENOMEM, "cannot read %s/%s", slot->dir.path, slot->name);
    }
    const struct sfid__page *copy = memory;
    const char *bad = judge(slot, copy, bytes, &id, want);
    const uint64_t nonce = copy->id.nonce;
    munmap(memory, bytes);
    if (bad) {
        snprintf(slot->put_aside, sizeof slot->put_aside, "%s", bad);
        return 0;
    }
    slot->id = sfid__file_id(st);
    if (map_file(slot, fd, nonce, err) < 0)
        return err->code;
    if (slot->records > 0) {
        if (slot->mapped_before) /* (5) */
            sfid__record_close(&slot->page->records[slot->records - 1]);
        /* Relaxed: alone with the page, and threads get the address of the record with a release. */
        atomic_store_explicit(&slot->page->current, slot->records - 1, memory_order_relaxed);
    }
    const int rc = sfid__page_reset_keeper(slot->page);
    return rc ? sfid__fail_errno(err, SFID_ESTATE, rc, "cannot set up %s/%s", slot->dir.path, slot->name) : 0;
}

static int take(struct sfid__slot *slot, const struct sfid__slot_want *want, struct sfid__error *err) {
    struct stat st;
    const int fd = sfid__file_lock(&slot->dir, slot->name, false, &st, err);
    if (fd < 0)
        return err->code ? err->code : make_file(slot, want->layout, err);
    int rc = attach(slot, fd, &st, want, err);
    if (rc == 0 && !slot->put_aside[0])
        return keep_lock(slot, fd, err);
    if (rc == 0)
        rc = make_file(slot, want->layout, err);
    close(fd); /* (2) */
    return rc;
}

/*
 * The door is needed even if the caller holds the mark of the pid. A process with another state directory may hold that pid's
 * mark there; both would find no page and make one.
 */
static int take_by_door(struct sfid__slot *slot, const struct sfid__slot_want *want, struct sfid__error *err) {
    const int door = enter_door(slot, &slot->dir, err);
    if (door < 0)
        return err->code;
    const int rc = take(slot, want, err);
    sfid__door_leave(door);
    return rc;
}

int sfid__slot_take(struct sfid__slot *slot, struct sfid__dir *dir, const char *name, const struct sfid__slot_want *want,
                    struct sfid__error *err) {
    *slot = (struct sfid__slot){.dir = *dir};
    *dir = (struct sfid__dir)SFID__DIR_NONE;
    snprintf(slot->name, sizeof slot->name, "%s", name);
    flock(slot->dir.fd, LOCK_SH | LOCK_NB); /* asks cleaners to keep out; it gives no right, so a refusal does not matter */
    int rc = fstat(slot->dir.fd, &slot->dir_stat) < 0
                 ? sfid__fail_errno(err, SFID_ESTATE, errno, "cannot look at directory %s", slot->dir.path)
                 : take_by_door(slot, want, err);
    if (rc < 0)
        sfid__slot_drop(slot);
    else if (want->pid == SFID__ANY_PID)
        sfid__family_begin(&slot->family);
    return rc;
}

int sfid__slot_renew(struct sfid__slot *slot, uint64_t layout, struct sfid__error *err) {
    struct sfid__mapping *old = slot->map;
    const struct sfid__file_id old_id = slot->id;
    const int old_fd = slot->kept_fd;
    const int rc = make_file(slot, layout, err);
    if (rc < 0)
        return rc;
    sfid__mapping_close(old);
    sfid__file_close_kept(old_fd, &old_id);
    return 0;
}

/*
 * Opens the slot's file by the path of its directory, because the program may
 * have closed the descriptor in slot->dir. Returns -1 with errno: ESTALE if
 * another file lies in its place.
 */
static int open_again(const struct sfid__slot *slot) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    errno = ENOENT;
    if (slot->dir.path == NULL || sfid__dir_reopen(&dir, slot->dir.path, &ignored) < 0)
        return -1;
    int fd = sfid__fd_above_standard(openat(dir.fd, slot->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    const int why = errno;
    sfid__dir_close(&dir);
    errno = why;
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_dev != slot->id.device || st.st_ino != slot->id.inode)) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

bool sfid__slot_in_place(const struct sfid__slot *slot) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    if (slot->dir.path == NULL || sfid__dir_reopen(&dir, slot->dir.path, &ignored) < 0)
        return false;
    const bool there = sfid__file_is(&dir, slot->name, &slot->id);
    sfid__dir_close(&dir);
    return there;
}

int sfid__slot_reserve(struct sfid__slot *slot, uint32_t i, struct sfid__error *err) {
    const off_t from = (off_t)(sfid__page_bytes(i) + BLOCK - 1) / BLOCK * BLOCK;
    const off_t to = (off_t)(sfid__page_bytes(i + 1) + BLOCK - 1) / BLOCK * BLOCK;
    if (from == to)
        return 0;
    const int fd = open_again(slot);
    const int why = fd < 0 ? errno : write_blocks(fd, from, to);
    if (fd >= 0)
        close(fd);
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot extend slot file %s/%s", slot->dir.path, slot->name) : 0;
}

/* ---- leaving ------------------------------------------------------------- */

/* Maps the file through a new description, not locked yet. Returns its descriptor, or -1. */
static int map_again(struct sfid__slot *slot) {
    const int fd = open_again(slot);
    if (fd < 0 || sfid__mapping_replace(slot->map, fd))
        return fd;
    close(fd);
    return -1;
}

bool sfid__slot_is_last(struct sfid__slot *slot) {
    struct sfid__error ignored;
    struct sfid__dir dir = SFID__DIR_NONE;
    const int door = sfid__dir_reopen(&dir, slot->dir.path, &ignored) < 0 ? -1 : enter_door(slot, &dir, &ignored);
    const int fd = door < 0 ? -1 : map_again(slot);
    const bool last = fd < 0 ? sfid__family_is_last(&slot->family) : sfid__file_is_last(fd, &slot->kept_fd, &slot->id);
    if (door >= 0)
        sfid__door_leave(door);
    sfid__dir_close(&dir);
    return last;
}

void sfid__slot_leave(struct sfid__slot *slot) {
    if (slot->page == NULL)
        return;
    /* Acquire, with [publish]. A child may append more records; this process does not use those. Looked at before the page is
       mapped again: memory that is not touched there costs nothing. */
    const uint32_t records = atomic_load_explicit(&slot->page->current, memory_order_acquire) + 1;
    const int fd = map_again(slot);
    if (fd < 0) {
        sfid__mapping_close(slot->map); /* stays in use: only late threads need it */
    } else { /* narrowed after all of it was mapped: valgrind's account breaks down if one mapping has a file under two names */
        sfid__mapping_narrow(slot->map, records);
        close(fd);
    }
    sfid__file_close_kept(slot->kept_fd, &slot->id);
    slot->kept_fd = 0;
    sfid__family_leave(&slot->family);
    if (fd >= 0)
        sfid__mapping_leave(slot->map);
    slot->page = NULL;
    slot->map = NULL;
}

/* A daemon may have closed our descriptor, and opened its own with the same number. That one stays open. */
static void close_dir(struct sfid__slot *slot) {
    struct stat now;
    if (slot->dir.fd >= 0 &&
        (fstat(slot->dir.fd, &now) < 0 || now.st_dev != slot->dir_stat.st_dev || now.st_ino != slot->dir_stat.st_ino))
        slot->dir.fd = -1;
    sfid__dir_close(&slot->dir);
}

void sfid__slot_drop(struct sfid__slot *slot) {
    sfid__slot_leave(slot);
    if (slot->dir.path)
        close_dir(slot);
    slot->dir = (struct sfid__dir)SFID__DIR_NONE;
}
