/* SPDX-License-Identifier: MIT */
/*
 * files.h - small files of ours, and locks that live in a mapping.
 *
 * A lock of flock(2) belongs to the open file description, and a mapping keeps
 * that description alive after its last descriptor is closed. So the files that
 * stand for a right (slots and marks) are locked, mapped and closed. No
 * descriptor is left that a daemon could close, exec could pass on, or a reused
 * descriptor could be taken for. fork() copies the mapping, and with it a share
 * of the lock; munmap, exec and exit give the share up. LOCK_UN would take the
 * lock from a child as well. Only a process that shares a file with unrelated
 * ones, and is alone with it, uses that when it leaves (sfid__file_relock).
 *
 * On a file system stacked on another (overlayfs, seen with Linux 6.18) a
 * mapping belongs to the file below, and keeps no lock. There a descriptor
 * stays open.
 */
#ifndef SFID_HOST_FILES_H
#define SFID_HOST_FILES_H

#include "host/dirs.h"

#include <sys/stat.h>

/* Tells a file from every other at its path. */
struct sfid__file_id {
    uint64_t device, inode;
};

/*
 * Opens `name` in dir for reading and writing, and takes its lock.
 *
 * Returns a descriptor (close-on-exec), or -1 with err filled in:
 *   SFID_EBUSY   someone else holds the lock
 *   SFID_ESTATE  anything else: a symbolic link, another owner and so on
 * If create is false, a missing file gives -1 with err->code 0.
 */
int sfid__file_lock(const struct sfid__dir *dir, const char *name, bool create, struct stat *st, struct sfid__error *err);

/*
 * The same with a lock that is shared (LOCK_SH) or not (LOCK_EX). A lock changes
 * its kind by dropping the old one first, so that is done inside the door.
 */
int sfid__file_lock_as(const struct sfid__dir *dir, const char *name, bool create, int how, struct stat *st,
                       struct sfid__error *err);

/*
 * Gives the lock of *fd's description the kind `how` (LOCK_SH, LOCK_UN), and
 * closes *fd, which becomes 0. A child that another thread forked in the middle
 * of opening or closing has the same description, and so the same lock. False
 * if *fd is no descriptor of the file `id` any more, or the lock is refused.
 */
bool sfid__file_relock(int *fd, const struct sfid__file_id *id, int how);

/*
 * The door of right `number` in this directory. A process passes through it to
 * take the lock that stands for the right, or to give up its share and see
 * whether a forked child still has one. Without the door, a newcomer that holds
 * the lock for a moment could be mistaken for a child.
 *
 * until_ms (monotonic): how long it is waited for while somebody else is
 * inside. 0: SFID__DOOR_MS from now on, for callers without a deadline.
 * SFID__DOOR_LOOK: not at all, for callers to whom another door may do as well.
 *
 * Returns a descriptor for sfid__door_leave(), or -1 with err filled in:
 *   SFID_EBUSY   someone else stays inside
 *   SFID_EAGAIN  someone else is inside, and was not waited for
 *   SFID_ESTATE  the file of the doors, `lock`, cannot be used
 *
 * The lock is on one byte and belongs to the open file description (fcntl(2),
 * F_OFD_SETLK). Leaving unlocks it explicitly, so a child forked meanwhile does
 * not keep it.
 */
#define SFID__DOOR_MS 100
#define SFID__DOOR_LOOK INT64_MIN
int sfid__door_enter(const struct sfid__dir *dir, uint64_t number, int64_t until_ms, struct sfid__error *err);
void sfid__door_leave(int door); /* -1: none */

/*
 * Closes the descriptor of a file that is locked and mapped, and checks whether
 * the mapping keeps the lock. Returns 0 if it does. Otherwise returns a
 * descriptor to keep open as long as the lock, or -1 with SFID_ESTATE if it
 * cannot be known. The caller must be alone with the file, which is `id`.
 *
 * If reader is given and the result is 0, *reader becomes a descriptor of the
 * file, which has no part in the lock. The caller closes it. It is left as it
 * was if another file has the name by now.
 */
int sfid__file_keep_lock(const struct sfid__dir *dir, const char *name, int fd, const struct sfid__file_id *id, int *reader,
                         struct sfid__error *err);

/*
 * Finds out whether mappings keep locks on the file system of a directory,
 * without giving up a lock. False also if it cannot be known. For files whose
 * descriptor stays open for sfid__file_relock().
 */
bool sfid__file_mapping_keeps(const struct sfid__dir *dir);

/* Closes such a descriptor if it still is that: a daemon may have closed it and opened another as the same number. 0: none. */
void sfid__file_close_kept(int fd, const struct sfid__file_id *id);

/*
 * Finds out whether nobody else has the lock of a file, after this process has given up its mapping. It takes the lock through
 * fd, a new description, inside the door. *kept_fd is what sfid__file_keep_lock() returned; if the result is true fd takes its
 * place, otherwise it becomes 0. Takes over fd. alone_fd is NULL for a mark that is not shared. Otherwise what a call before has
 * left there is closed, and *alone_fd becomes a descriptor for sfid__file_relock() if the result is true, or 0. until_ms
 * (monotonic): how long it waits for a process that is leaving as well; 0: not at all.
 */
bool sfid__file_is_last(int fd, int *kept_fd, int *alone_fd, const struct sfid__file_id *id, int64_t until_ms);

/*
 * True if `name` in dir still is the file `id`. False with errno: ENOENT if it
 * is another one or none, else why that is not known.
 */
bool sfid__file_is(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id);

static inline struct sfid__file_id sfid__file_id(const struct stat *st) { return (struct sfid__file_id){st->st_dev, st->st_ino}; }

/*
 * Lists the processes that took the locks of the files `prefix`N in dir, for N
 * from first to last, each once: "12, 34". The list is cut off if it is too
 * long, and "" if the kernel does not tell. For messages only: a listed process
 * may have ended, while a child of it has the lock.
 */
void sfid__file_list_lockers(const struct sfid__dir *dir, const char *prefix, uint64_t first, uint64_t last, char *out,
                             size_t size);

/* The process that took a flock(2) lock on a file, by /proc/locks. 0: none is listed; -1: the list cannot be read. */
long sfid__file_locker(const struct stat *st);

/* Removes all names of the file `id` in dir but `name`. Only for the process that holds its lock alone. */
void sfid__file_remove_others(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id);

/*
 * The name ".NAME.new", for a process that alone may make the file NAME at this moment. Removes what a process that was killed left there.
 * Nothing is searched for: the directory may have thousands of files.
 */
#define SFID__TEMP_NAME 128
void sfid__file_maker_name(const struct sfid__dir *dir, char out[SFID__TEMP_NAME], const char *name);

/*
 * Makes `name` with the given content, whole or not at all. The content is durable; so is the name if `named` says so, else once
 * the directory is synced. Returns 0; 1 if a file of that name exists, which stays as it is; or SFID_ESTATE.
 */
int sfid__file_publish(const struct sfid__dir *dir, const char *name, const char *content, bool named, struct sfid__error *err);

/* Opens `name` for somebody who looks: its time of access stays, if the kernel allows that. A descriptor, or -1 with errno. */
int sfid__file_look(const struct sfid__dir *dir, const char *name);

/* Reads at most size - 1 bytes of `name` and adds a NUL. Returns the length; -1 with err filled in, err->code 0 if missing. */
long sfid__file_read(const struct sfid__dir *dir, const char *name, char *buf, size_t size, struct sfid__error *err);

#endif
