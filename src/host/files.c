/* SPDX-License-Identifier: MIT */
#include "host/files.h"

#include "base/fd.h"
#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE /* of linux/fs.h; not every C library has it */
#define RENAME_NOREPLACE 1
#endif

static int reject(struct sfid__error *err, const struct sfid__dir *dir, const char *name,
                  const char *why) {
    sfid__fail(err, SFID_ESTATE, "%s/%s %s", dir->path, name, why);
    err->one_file = true;
    return -1;
}

int sfid__file_fail(struct sfid__error *err, const struct sfid__dir *dir, const char *name,
                    int errnum) {
    if (errnum == ELOOP)
        return reject(err, dir, name, "is a symbolic link, which is not followed; remove it");
    if (errnum == EISDIR)
        return reject(err, dir, name, "is not a plain file; remove it");
    sfid__fail_errno(err, SFID_ESTATE, errnum, "cannot use file %s/%s", dir->path, name);
    err->one_file =
        errnum == EACCES || errnum == EPERM || errnum == EIO || errnum == ENXIO || errnum == ENODEV;
    return -1;
}

/* Checks an open file. Returns -1 with err filled in if it is not a plain file of ours. */
static int inspect(const struct sfid__dir *dir, const char *name, int fd, struct stat *st,
                   struct sfid__error *err) {
    if (fstat(fd, st) < 0)
        return sfid__file_fail(err, dir, name, errno);
    if (!S_ISREG(st->st_mode))
        return reject(err, dir, name, "is not a plain file; remove it");
    if (st->st_uid != geteuid())
        return reject(err, dir, name, "belongs to another user");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return reject(err, dir, name, "may be written to by others; its mode should be 0600");
    return 0;
}

/* Returns -1 with errno on failure. */
static int open_file(const struct sfid__dir *dir, const char *name, int flags) {
    return sfid__fd_above_standard(
        openat(dir->fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
}

int sfid__file_open(const struct sfid__dir *dir, const char *name, int flags, struct stat *st,
                    struct sfid__error *err) {
    const int fd = open_file(dir, name, flags);
    if (fd < 0 && errno == (flags & O_CREAT ? EEXIST : ENOENT)) {
        err->code = 0;
        return -1;
    }
    if (fd < 0)
        return sfid__file_fail(err, dir, name, errno);
    if (inspect(dir, name, fd, st, err) == 0)
        return fd;
    close(fd);
    return -1;
}

bool sfid__file_is(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id) {
    struct stat at;
    if (fstatat(dir->fd, name, &at, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    errno = ENOENT;
    return sfid__file_same(&at, id);
}

int sfid__file_lock(const struct sfid__dir *dir, const char *name, int how, struct stat *st,
                    struct sfid__error *err) {
    for (int round = 0; round < 100; round++) {
        const int fd = sfid__file_open(dir, name, O_RDWR, st, err);
        if (fd < 0)
            return -1;
        if (flock(fd, how | LOCK_NB) < 0) {
            if (errno == EWOULDBLOCK)
                sfid__fail(err, SFID_EBUSY, "another process holds the lock of %s/%s", dir->path,
                           name);
            else
                sfid__fail_errno(err, SFID_ESTATE, errno, "cannot lock file %s/%s", dir->path,
                                 name);
            close(fd);
            return -1;
        }
        /* If someone removed or replaced the file between open and lock, this lock is worth
         * nothing. */
        const struct sfid__file_id id = sfid__file_id(st);
        if (sfid__file_is(dir, name, &id))
            return fd;
        const int why = errno;
        close(fd);
        if (why != ENOENT)
            return sfid__file_fail(err, dir, name, why);
    }
    return reject(err, dir, name, "is replaced repeatedly while it is being locked");
}

/* File systems that are no layer above another one. */
static bool is_plain_system(const struct sfid__dir *dir) {
    static const uint32_t plain[] = {0x01021994 /* tmpfs */, 0xef53 /* ext4 */,
                                     0x58465342 /* xfs */, 0x9123683e /* btrfs */};
    struct statfs fs;
    if (fstatfs(dir->fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if ((uint32_t)fs.f_type == plain[i])
            return true;
    return false;
}

/* A name that nobody else has in the directory, ".NAME.random". */
static void temp_name(char out[SFID__TEMP_NAME], const char *name) {
    char text[SFID__UUID_STR_LEN];
    sfid__random_uuid(text);
    snprintf(out, SFID__TEMP_NAME, ".%.64s.%s", name, text);
}

/* Tries it with a file of its own. */
static bool probe(const struct sfid__dir *dir) {
    char name[SFID__TEMP_NAME];
    temp_name(name, "probe");
    const int fd = open_file(dir, name, O_RDWR | O_CREAT | O_EXCL),
              again = open_file(dir, name, O_RDWR);
    unlinkat(dir->fd, name, 0);
    void *map = MAP_FAILED;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        map = mmap(NULL, 1, PROT_NONE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    const bool keeps = map != MAP_FAILED && again >= 0 && flock(again, LOCK_EX | LOCK_NB) < 0 &&
                       errno == EWOULDBLOCK;
    if (map != MAP_FAILED)
        munmap(map, 1);
    if (again >= 0)
        close(again);
    return keeps;
}

bool sfid__file_mapping_keeps(const struct sfid__dir *dir) {
    return is_plain_system(dir) || probe(dir);
}

/* ---- files --------------------------------------------------------------- */

void sfid__file_maker_name(const struct sfid__dir *dir, char out[SFID__TEMP_NAME],
                           const char *name) {
    snprintf(out, SFID__TEMP_NAME, ".%.64s.new", name);
    unlinkat(dir->fd, out, 0);
}

static DIR *list(const struct sfid__dir *dir) {
    const int fd =
        sfid__fd_above_standard(openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL && fd >= 0)
        close(fd);
    return entries;
}

void sfid__file_remove_others(const struct sfid__dir *dir, const char *name,
                              const struct sfid__file_id *id) {
    DIR *entries = list(dir);
    for (const struct dirent *e; entries && (e = readdir(entries)) != NULL;)
        if (e->d_ino == id->inode && strcmp(e->d_name, name) != 0 &&
            sfid__file_is(dir, e->d_name, id))
            unlinkat(dir->fd, e->d_name, 0);
    if (entries)
        closedir(entries);
}

static int write_whole(int fd, const char *content) {
    const size_t len = strlen(content);
    const ssize_t n = write(fd, content, len);
    if (n == (ssize_t)len)
        return fsync(fd) == 0 ? 0 : errno;
    return n < 0 ? errno : ENOSPC;
}

static bool is_refused(int why) {
    return why == EPERM || why == EOPNOTSUPP || why == ENOSYS || why == EINVAL;
}

int sfid__file_name_new(const struct sfid__dir *dir, const char *temp, const char *name,
                        bool *links) {
    if (linkat(dir->fd, temp, dir->fd, name, 0) == 0)
        return 0;
    const int why = errno;
    *links = !is_refused(why);
    if (*links || syscall(SYS_renameat2, dir->fd, temp, dir->fd, name, RENAME_NOREPLACE) == 0)
        return *links ? why : 0;
    *links = !is_refused(errno);
    return *links ? errno : why;
}

int sfid__file_publish(const struct sfid__dir *dir, const char *name, const char *content,
                       bool named, struct sfid__error *err) {
    char temp[SFID__TEMP_NAME];
    temp_name(temp, name);
    const int fd = open_file(dir, temp, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot make file %s/%s", dir->path, name);
    bool links = true;
    int why = write_whole(fd, content);
    close(fd);
    if (why == 0)
        why = sfid__file_name_new(dir, temp, name, &links);
    const bool exists = why == EEXIST;
    why = exists ? 0 : why;
    unlinkat(dir->fd, temp, 0);
    if (why == 0 && named && fsync(dir->fd) < 0)
        why = errno;
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write file %s/%s%s", dir->path,
                                  name, links ? "" : ": hard links are refused there")
               : exists;
}

int sfid__file_look(const struct sfid__dir *dir, const char *name) {
    const int fd = open_file(dir, name, O_RDONLY | O_NOATIME);
    return fd < 0 && errno == EPERM ? open_file(dir, name, O_RDONLY) : fd;
}

long sfid__file_read(const struct sfid__dir *dir, const char *name, char *buf, size_t size,
                     struct sfid__error *err) {
    struct stat st;
    const int fd = sfid__file_open(dir, name, O_RDONLY, &st, err);
    if (fd < 0)
        return -1;
    /* As much as there is: no second read to see that there is no more. */
    const ssize_t n = sfid__fd_read(fd, buf, SFID__MIN(size - 1, (size_t)st.st_size));
    if (n < 0)
        sfid__file_fail(err, dir, name, errno);
    close(fd);
    if (n >= 0)
        buf[n] = '\0';
    return n;
}
