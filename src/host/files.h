/* SPDX-License-Identifier: MIT */
/*
 * files.h - small files of ours, and locks that live in a mapping.
 *
 * A lock taken with flock(2) belongs to the open file description, and a
 * mapping keeps that description alive after its last descriptor is closed.
 * So the files that stand for a right - a slot, a mark - are locked, mapped
 * and closed: there is no descriptor that a daemon could close, an exec could
 * inherit, or a recycled number could confuse. fork() copies the mapping and
 * with it the hold on the lock; munmap, exec and exit let go. LOCK_UN is never
 * used on such a lock: it would take it from a child as well.
 *
 * On a file system stacked on another (overlayfs, seen with Linux 6.18) a
 * mapping is of the file below, and keeps no lock. There a descriptor is kept.
 */
#ifndef SFID_HOST_FILES_H
#define SFID_HOST_FILES_H

#include "host/dirs.h"

#include <sys/stat.h>

/* What tells a file from every other at its path. */
struct sfid__file_id {
    uint64_t device, inode;
};

/*
 * Opens `name` in dir for reading and writing and takes its lock.
 *
 * Returns a descriptor (close-on-exec); or -1 with err filled in:
 *   SFID_EBUSY   someone else holds the lock
 *   SFID_ESTATE  anything else, a symbolic link, another owner and so on
 * With create false a missing file is -1 with err->code 0.
 */
int sfid__file_lock(const struct sfid__dir *dir, const char *name, bool create, struct stat *st, struct sfid__error *err);

/*
 * The door of a right: whoever asks for the lock that stands for right
 * `number` of this directory, or lets go of it to see whether a forked child
 * holds it still, does so inside. Without it a newcomer's attempt, which takes
 * the lock of a file for a moment, could pass for a child.
 *
 * Returns a descriptor for sfid__door_leave(); or -1 with err filled in:
 *   SFID_EBUSY   someone else stays inside; it was tried for a tenth of a second
 *   SFID_ESTATE  the file of the doors, `lock`, cannot be used
 *
 * A lock of a byte, held by the open file description (fcntl(2), F_OFD_SETLK),
 * and let go of in so many words: a child forked meanwhile has no part in it.
 */
int sfid__door_enter(const struct sfid__dir *dir, uint64_t number, struct sfid__error *err);
void sfid__door_leave(int door);

/*
 * Closes the descriptor of a file that is locked and mapped, and looks whether
 * the mapping keeps the lock. 0: it does. A descriptor, which is to be kept for
 * as long as the lock: it does not. -1 with SFID_ESTATE: it cannot be known.
 * For who is alone with the file while it asks.
 */
int sfid__file_keep_lock(const struct sfid__dir *dir, const char *name, int fd, struct sfid__error *err);

/* Closes such a descriptor, if it still is that: a daemon may have closed it, and opened another of its number. 0: fine. */
void sfid__file_close_kept(int fd, const struct sfid__file_id *id);

/*
 * Asks whether nobody else has the lock of a file, when this process has let go of its mapping: takes the lock through fd, a
 * new description, inside the door. *kept_fd is what sfid__file_keep_lock() returned; on true fd takes its place, else it is
 * 0. fd is the callee's.
 */
bool sfid__file_is_last(int fd, int *kept_fd, const struct sfid__file_id *id);

/* True when `name` in dir still is the file `id`. */
bool sfid__file_is(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id);

static inline struct sfid__file_id sfid__file_id(const struct stat *st) { return (struct sfid__file_id){st->st_dev, st->st_ino}; }

/*
 * Lists the processes that took the locks of files `prefix`N, N from first to
 * last, in dir: "12, 34", cut off where it is too long; "" where the kernel
 * does not tell. For messages: a process named may have ended, and a child of
 * it hold the lock.
 */
void sfid__file_list_lockers(const struct sfid__dir *dir, const char *prefix, uint64_t first, uint64_t last, char *out,
                             size_t size);

/* The process that took a lock of flock(2) on a file, as /proc/locks has it. 0: none is listed; -1: the list cannot be read. */
long sfid__file_locker(const struct stat *st);

/* A name in the same directory that nobody else has, ".NAME.random": for files that are made whole, then named. */
#define SFID__TEMP_NAME 128
void sfid__file_temp_name(char out[SFID__TEMP_NAME], const char *name);

/* Removes such names that were left behind. Only for who alone may make them. */
void sfid__file_remove_temps(const struct sfid__dir *dir, const char *name);

/*
 * Makes `name` with the given content, whole and durable or not at all, unless
 * there is a file of that name already. 0 in both cases, or SFID_ESTATE.
 */
int sfid__file_publish(const struct sfid__dir *dir, const char *name, const char *content, struct sfid__error *err);

/* Reads `name`, at most size - 1 bytes, NUL-terminated. Its length; -1 with err filled in, err->code 0 when missing. */
long sfid__file_read(const struct sfid__dir *dir, const char *name, char *buf, size_t size, struct sfid__error *err);

#endif
