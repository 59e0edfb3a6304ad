/* SPDX-License-Identifier: MIT */
/* files.h - small files of ours in a directory of ours: each a plain file that nobody else may
 * write to. */
#ifndef SFID_HOST_FILES_H
#define SFID_HOST_FILES_H

#include "host/dirs.h"

#include <sys/stat.h>

/* Tells a file from every other at its path. */
struct sfid__file_id {
    uint64_t device, inode;
};

static inline struct sfid__file_id sfid__file_id(const struct stat *st) {
    return (struct sfid__file_id){st->st_dev, st->st_ino};
}

static inline bool sfid__file_same(const struct stat *st, const struct sfid__file_id *id) {
    return st->st_dev == id->device && st->st_ino == id->inode;
}

/* Fills in err for errnum of a call on a file: SFID_ESTATE. Returns -1. */
int sfid__file_fail(struct sfid__error *err, const struct sfid__dir *dir, const char *name,
                    int errnum);

/*
 * Opens `name` in dir. flags: as of open(2); links are not followed. Returns a descriptor
 * (close-on-exec), or -1 with SFID_ESTATE: a symbolic link, another owner and so on. Without
 * O_CREAT, a missing file gives -1 with err->code 0; so does with O_EXCL one that is there.
 */
int sfid__file_open(const struct sfid__dir *dir, const char *name, int flags, struct stat *st,
                    struct sfid__error *err);

/*
 * Opens `name` in dir for reading and writing, and takes its lock, shared (LOCK_SH) or not
 * (LOCK_EX). A lock changes its kind by dropping the old one first, so that is done inside the
 * door.
 *
 * Returns a descriptor (close-on-exec), or -1 with err filled in:
 *   SFID_EBUSY   someone else holds the lock
 *   SFID_ESTATE  as from sfid__file_open()
 * A missing file gives -1 with err->code 0.
 */
int sfid__file_lock(const struct sfid__dir *dir, const char *name, int how, struct stat *st,
                    struct sfid__error *err);

/*
 * Finds out whether mappings keep locks on the file system of a directory,
 * without giving up a lock. False also if it cannot be known.
 */
bool sfid__file_mapping_keeps(const struct sfid__dir *dir);

/*
 * True if `name` in dir still is the file `id`. False with errno: ENOENT if it
 * is another one or none, else why that is not known.
 */
bool sfid__file_is(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id);

/*
 * Lists the processes that took the locks of the files `prefix`N in dir, for N
 * from first to last, each once: "12, 34". The list is cut off if it is too
 * long, and "" if the kernel does not tell. For messages only: a listed process
 * may have ended, while a child of it has the lock.
 */
void sfid__file_list_lockers(const struct sfid__dir *dir, const char *prefix, uint64_t first,
                             uint64_t last, char *out, size_t size);

/* The process that took a flock(2) lock on a file, by /proc/locks. 0: none is listed; -1: the list
 * cannot be read. */
long sfid__file_locker(const struct stat *st);

/*
 * Gives a file a name unless that is there. 0 or an errno: EEXIST. Where hard links are refused
 * (exFAT, CIFS, a sandbox), it is renamed without replacing, which NFS in turn refuses. The error
 * is that of the link, unless renaming failed for another reason than a refusal; *links: the
 * file system has them.
 */
int sfid__file_name_new(const struct sfid__dir *dir, const char *temp, const char *name,
                        bool *links);

/* Removes all names of the file `id` in dir but `name`. Only for the process that holds its lock
 * alone. */
void sfid__file_remove_others(const struct sfid__dir *dir, const char *name,
                              const struct sfid__file_id *id);

/*
 * The name ".NAME.new", for a process that alone may make the file NAME at this moment. Removes
 * what a process that was killed left there. Nothing is searched for: the directory may have
 * thousands of files.
 */
#define SFID__TEMP_NAME 128
void sfid__file_maker_name(const struct sfid__dir *dir, char out[SFID__TEMP_NAME],
                           const char *name);

/*
 * Makes `name` with the given content, whole or not at all. The content is durable; so is the name
 * if `named` says so, else once the directory is synced. Returns 0; 1 if a file of that name
 * exists, which stays as it is; or SFID_ESTATE.
 */
int sfid__file_publish(const struct sfid__dir *dir, const char *name, const char *content,
                       bool named, struct sfid__error *err);

/* Opens `name` for somebody who looks: its time of access stays, if the kernel allows that. A
 * descriptor, or -1 with errno. */
int sfid__file_look(const struct sfid__dir *dir, const char *name);

/* Reads at most size - 1 bytes of `name` and adds a NUL. Returns the length; -1 with err filled in,
 * err->code 0 if missing. */
long sfid__file_read(const struct sfid__dir *dir, const char *name, char *buf, size_t size,
                     struct sfid__error *err);

#endif
