/* SPDX-License-Identifier: MIT */
#include "host/files.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/number.h"
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
#define OPEN_FLAGS (O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

static int reject(struct sfid__error *err, const struct sfid__dir *dir, const char *name, const char *why) {
    sfid__fail(err, SFID_ESTATE, "%s/%s %s", dir->path, name, why);
    err->one_file = true;
    return -1;
}

static int fail_errno(struct sfid__error *err, const struct sfid__dir *dir, const char *name, int errnum) {
    if (errnum == ELOOP)
        return reject(err, dir, name, "is a symbolic link, which is not followed; remove it");
    if (errnum == EISDIR)
        return reject(err, dir, name, "is not a plain file; remove it");
    sfid__fail_errno(err, SFID_ESTATE, errnum, "cannot use file %s/%s", dir->path, name);
    err->one_file = errnum == EACCES || errnum == EPERM || errnum == EIO || errnum == ENXIO || errnum == ENODEV;
    return -1;
}

/* Checks an open file. Returns -1 with err filled in if it is not a plain file of ours. */
static int inspect(const struct sfid__dir *dir, const char *name, int fd, struct stat *st, struct sfid__error *err) {
    if (fstat(fd, st) < 0)
        return fail_errno(err, dir, name, errno);
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
    const int fd = openat(dir->fd, name, flags, 0600);
    return fd < 0 ? fd : sfid__fd_above_standard(fd);
}

bool sfid__file_is(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id) {
    struct stat at;
    if (fstatat(dir->fd, name, &at, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    errno = ENOENT;
    return at.st_dev == id->device && at.st_ino == id->inode;
}

int sfid__file_lock(const struct sfid__dir *dir, const char *name, bool create, struct stat *st, struct sfid__error *err) {
    return sfid__file_lock_as(dir, name, create, LOCK_EX, st, err);
}

int sfid__file_lock_as(const struct sfid__dir *dir, const char *name, bool create, int how, struct stat *st,
                       struct sfid__error *err) {
    for (int round = 0; round < 100; round++) {
        const int fd = open_file(dir, name, create ? OPEN_FLAGS | O_CREAT : OPEN_FLAGS);
        if (fd < 0 && errno == ENOENT && !create) {
            err->code = 0;
            return -1;
        }
        if (fd < 0)
            return fail_errno(err, dir, name, errno);
        int rc = inspect(dir, name, fd, st, err);
        if (rc == 0 && flock(fd, how | LOCK_NB) < 0) {
            if (errno == EWOULDBLOCK)
                sfid__fail(err, SFID_EBUSY, "another process holds the lock of %s/%s", dir->path, name);
            else
                sfid__fail_errno(err, SFID_ESTATE, errno, "cannot lock file %s/%s", dir->path, name);
            rc = -1;
        }
        if (rc < 0) {
            close(fd);
            return -1;
        }
        /* If someone removed or replaced the file between open and lock, this lock is worth nothing. */
        const struct sfid__file_id id = sfid__file_id(st);
        if (sfid__file_is(dir, name, &id))
            return fd;
        const int why = errno;
        close(fd);
        if (why != ENOENT)
            return fail_errno(err, dir, name, why);
    }
    return reject(err, dir, name, "is replaced repeatedly while it is being locked");
}

int sfid__file_keep_lock(const struct sfid__dir *dir, const char *name, int fd, const struct sfid__file_id *id, int *reader,
                         struct sfid__error *err) {
    struct stat st;
    const int again = open_file(dir, name, OPEN_FLAGS);
    if (again < 0 || fstat(again, &st) < 0) {
        fail_errno(err, dir, name, errno);
        close(fd);
        if (again >= 0)
            close(again);
        return -1;
    }
    close(fd);
    const bool same = st.st_dev == id->device && st.st_ino == id->inode;
    if (same && flock(again, LOCK_EX | LOCK_NB) == 0)
        return again;
    if (same && reader)
        *reader = again;
    else
        close(again);
    return 0;
}

/* File systems that are no layer above another one. */
static bool is_plain_system(const struct sfid__dir *dir) {
    static const uint32_t plain[] = {0x01021994 /* tmpfs */, 0xef53 /* ext4 */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */};
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
    const int fd = sfid__fd_above_standard(openat(dir->fd, name, OPEN_FLAGS | O_CREAT | O_EXCL, 0600));
    const int again = sfid__fd_above_standard(openat(dir->fd, name, OPEN_FLAGS));
    unlinkat(dir->fd, name, 0);
    void *map = MAP_FAILED;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        map = mmap(NULL, 1, PROT_NONE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    const bool keeps = map != MAP_FAILED && again >= 0 && flock(again, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (map != MAP_FAILED)
        munmap(map, 1);
    if (again >= 0)
        close(again);
    return keeps;
}

bool sfid__file_mapping_keeps(const struct sfid__dir *dir) { return is_plain_system(dir) || probe(dir); }

/* If the file cannot be looked at, the descriptor stays open: its number may be the program's by now. */
void sfid__file_close_kept(int fd, const struct sfid__file_id *id) {
    struct stat st;
    if (fd > 0 && fstat(fd, &st) == 0 && st.st_dev == id->device && st.st_ino == id->inode)
        close(fd);
}

bool sfid__file_relock(int *fd, const struct sfid__file_id *id, int how) {
    struct stat st;
    const int own = *fd;
    *fd = 0;
    if (own <= 0 || fstat(own, &st) < 0 || st.st_dev != id->device || st.st_ino != id->inode)
        return false;
    const bool done = flock(own, how | LOCK_NB) == 0;
    close(own);
    return done;
}

/* Sleeps before the next look at a lock, each time for longer. False, without sleeping, once the time is over. */
static bool nap_until(int64_t until_ms, int64_t *nap_ns) {
    const int64_t now_ms = sfid__deadline_now_ms();
    if (now_ms >= until_ms)
        return false;
    const int64_t left_ns = SFID__MIN(until_ms - now_ms, SFID__PAUSE_MOST_NS) * 1000000; /* the last look is at the end */
    sfid__system_clock.sleep_ns(&sfid__system_clock, SFID__MIN(sfid__pause_ns(nap_ns), left_ns));
    return true;
}

bool sfid__file_is_last(int fd, int *kept_fd, int *alone_fd, const struct sfid__file_id *id, int64_t until_ms) {
    const bool keeps_fd = *kept_fd > 0;
    sfid__file_close_kept(*kept_fd, id);
    if (alone_fd) /* of a call before: closed, not unlocked, since a child may have that lock */
        sfid__file_close_kept(*alone_fd, id);
    bool last = flock(fd, LOCK_EX | LOCK_NB) == 0;
    for (int64_t nap_ns = SFID__PAUSE_FIRST_NS; !last && nap_until(until_ms, &nap_ns);)
        last = flock(fd, LOCK_EX | LOCK_NB) == 0;
    *kept_fd = last && keeps_fd ? fd : 0;
    if (alone_fd) {
        const int own = last ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
        *alone_fd = own < 0 ? 0 : own;
    }
    if (*kept_fd == 0)
        close(fd);
    return last;
}

/* ---- the door ------------------------------------------------------------ */

#define DOORS ((UINT64_C(1) << 40) - 1) /* rights that share a byte only wait for each other */

int sfid__door_enter(const struct sfid__dir *dir, uint64_t number, int64_t until_ms, struct sfid__error *err) {
    const int64_t end_ms = until_ms ? until_ms : sfid__deadline_now_ms() + SFID__DOOR_MS;
    int64_t nap_ns = SFID__PAUSE_FIRST_NS;
    struct stat st;
    const int fd = open_file(dir, "lock", OPEN_FLAGS | O_CREAT);
    if (fd < 0)
        return fail_errno(err, dir, "lock", errno);
    int rc = inspect(dir, "lock", fd, &st, err);
    while (rc == 0) {
        struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(number & DOORS), .l_len = 1};
        if (fcntl(fd, F_OFD_SETLK, &byte) == 0)
            return fd;
        if (errno != EAGAIN && errno != EACCES)
            rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot lock file %s/lock", dir->path);
        else if (!nap_until(end_ms, &nap_ns))
            rc = sfid__fail(err, until_ms == SFID__DOOR_LOOK ? SFID_EAGAIN : SFID_EBUSY,
                            "another process is taking or leaving this pid or slot and does not finish: see %s/lock", dir->path);
    }
    close(fd);
    return -1;
}

void sfid__door_leave(int door) {
    if (door < 0)
        return;
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(door, F_OFD_SETLK, &all); /* closing alone is not enough: a child forked just now has the descriptor, too */
    close(door);
}

/* ---- files --------------------------------------------------------------- */

void sfid__file_maker_name(const struct sfid__dir *dir, char out[SFID__TEMP_NAME], const char *name) {
    snprintf(out, SFID__TEMP_NAME, ".%.64s.new", name);
    unlinkat(dir->fd, out, 0);
}

static DIR *list(const struct sfid__dir *dir) {
    const int fd = sfid__fd_above_standard(openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL && fd >= 0)
        close(fd);
    return entries;
}

void sfid__file_remove_others(const struct sfid__dir *dir, const char *name, const struct sfid__file_id *id) {
    DIR *entries = list(dir);
    for (const struct dirent *e; entries && (e = readdir(entries)) != NULL;)
        if (e->d_ino == id->inode && strcmp(e->d_name, name) != 0 && sfid__file_is(dir, e->d_name, id))
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

static bool is_refused(int why) { return why == EPERM || why == EOPNOTSUPP || why == ENOSYS || why == EINVAL; }

/*
 * Gives a file its name unless that is there. 0 or an errno: EEXIST. Where hard links are refused (exFAT, CIFS, a sandbox), it is
 * renamed without replacing, which NFS in turn refuses. The error is that of the link, unless renaming failed for
 * another reason than a refusal.
 */
static int name_new(const struct sfid__dir *dir, const char *temp, const char *name, bool *links) {
    if (linkat(dir->fd, temp, dir->fd, name, 0) == 0)
        return 0;
    const int why = errno;
    *links = !is_refused(why);
    if (*links || syscall(SYS_renameat2, dir->fd, temp, dir->fd, name, RENAME_NOREPLACE) == 0)
        return *links ? why : 0;
    *links = !is_refused(errno);
    return *links ? errno : why;
}

int sfid__file_publish(const struct sfid__dir *dir, const char *name, const char *content, bool named, struct sfid__error *err) {
    char temp[SFID__TEMP_NAME];
    temp_name(temp, name);
    const int fd = open_file(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot make file %s/%s", dir->path, name);
    bool links = true;
    int why = write_whole(fd, content);
    close(fd);
    if (why == 0)
        why = name_new(dir, temp, name, &links);
    const bool exists = why == EEXIST;
    why = exists ? 0 : why;
    unlinkat(dir->fd, temp, 0);
    if (why == 0 && named && fsync(dir->fd) < 0)
        why = errno;
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write file %s/%s%s", dir->path, name,
                                  links ? "" : ": hard links are refused there")
               : exists;
}

int sfid__file_look(const struct sfid__dir *dir, const char *name) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, fd = open_file(dir, name, flags | O_NOATIME);
    return fd < 0 && errno == EPERM ? open_file(dir, name, flags) : fd;
}

long sfid__file_read(const struct sfid__dir *dir, const char *name, char *buf, size_t size, struct sfid__error *err) {
    const int fd = open_file(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 && errno == ENOENT) {
        err->code = 0;
        return -1;
    }
    if (fd < 0)
        return fail_errno(err, dir, name, errno);
    ssize_t n = inspect(dir, name, fd, &st, err);
    /* As much as there is: no second read to see that there is no more. */
    if (n == 0 && (n = sfid__fd_read(fd, buf, SFID__MIN(size - 1, (size_t)st.st_size))) < 0)
        fail_errno(err, dir, name, errno);
    close(fd);
    if (n >= 0)
        buf[n] = '\0';
    return n;
}
