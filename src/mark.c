/* SPDX-License-Identifier: MIT */
#include "mark.h"

#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRY_SPACING 4096 /* a block: power loss tears blocks one by one */
#define FILE_SIZE (2 * ENTRY_SPACING)

struct entry {
    char magic[8];
    uint64_t layout;
    uint64_t pid;
    uint64_t serial; /* the higher is the newer */
    uint64_t position;
    uint64_t checksum;
};

static const char magic[8] = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '1'};

static uint64_t checksum(const struct entry *e) {
    return sfid__hash(SFID__HASH_SEED, e, offsetof(struct entry, checksum));
}

static bool good(const struct entry *e) {
    return memcmp(e->magic, magic, sizeof magic) == 0 && e->checksum == checksum(e);
}

static bool read_entry(int fd, int which, struct entry *e) {
    return pread(fd, e, sizeof *e, (off_t)which * ENTRY_SPACING) == (ssize_t)sizeof *e && good(e);
}

/* The newest good entry; -1 when there is none. */
static int read_newest(int fd, struct entry *newest) {
    struct entry e[2];
    const bool ok[2] = {read_entry(fd, 0, &e[0]), read_entry(fd, 1, &e[1])};
    if (!ok[0] && !ok[1])
        return -1;
    const int which = ok[0] && (!ok[1] || e[0].serial > e[1].serial) ? 0 : 1;
    *newest = e[which];
    return which;
}

static int write_entry(int fd, int which, const struct entry *e) {
    if (pwrite(fd, e, sizeof *e, (off_t)which * ENTRY_SPACING) != (ssize_t)sizeof *e)
        return errno ? errno : ENOSPC;
    return fdatasync(fd) == 0 ? 0 : errno;
}

static struct entry make_entry(const struct sfid__mark *mark, uint64_t serial, uint64_t position) {
    struct entry e = {.layout = mark->layout, .pid = mark->pid, .serial = serial, .position = position};
    memcpy(e.magic, magic, sizeof magic);
    e.checksum = checksum(&e);
    return e;
}

/* A file without any entry was made just now, or its maker died before it wrote one: nothing was issued under it. */
static int begin(const struct sfid__mark *mark, const struct sfid__dir *app, int fd, struct sfid__error *err) {
    const struct entry first = make_entry(mark, 1, 0);
    int why = posix_fallocate(fd, 0, FILE_SIZE);
    if (why == 0)
        why = write_entry(fd, 0, &first);
    if (why == 0 && fsync(app->fd) < 0)
        why = errno;
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write file %s/%s", app->path, mark->name) : 0;
}

static bool all_zero(int fd) {
    char block[ENTRY_SPACING];
    for (off_t at = 0;; at += (off_t)sizeof block) {
        const ssize_t n = pread(fd, block, sizeof block, at);
        if (n <= 0)
            return n == 0;
        for (ssize_t i = 0; i < n; i++)
            if (block[i])
                return false;
    }
}

static int read_position(const struct sfid__mark *mark, const struct sfid__dir *app, int fd, uint64_t *position,
                         struct sfid__error *err) {
    struct entry newest;
    if (read_newest(fd, &newest) < 0) {
        *position = 0;
        if (all_zero(fd))
            return begin(mark, app, fd, err);
        return sfid__fail(err, SFID_ESTATE,
                          "%s/%s is damaged: how far this pid was used is not known; remove the file once that was over a day ago",
                          app->path, mark->name);
    }
    if (newest.layout != mark->layout || newest.pid != mark->pid)
        return sfid__fail(err, SFID_ELAYOUT, "%s/%s is the mark of another layout or pid", app->path, mark->name);
    *position = newest.position;
    return 0;
}

int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app, uint64_t pid, uint64_t layout, uint64_t *position,
                    struct sfid__error *err) {
    *mark = (struct sfid__mark){.layout = layout, .pid = pid, .dir_path = strdup(app->path)};
    snprintf(mark->name, sizeof mark->name, "pid-%" PRIu64, pid);
    if (mark->dir_path == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    struct stat st;
    const int fd = sfid__file_lock(app, mark->name, true, &st, err);
    if (fd < 0) {
        if (err->code == SFID_EBUSY)
            sfid__fail(err, SFID_EBUSY, "pid %" PRIu64 " is in use: another process or handle holds the lock of %s/%s", pid,
                       app->path, mark->name);
        sfid__mark_drop(mark);
        return err->code;
    }
    mark->id = sfid__file_id(&st);
    int rc = read_position(mark, app, fd, position, err);
    if (rc == 0) {
        mark->hold = mmap(NULL, ENTRY_SPACING, PROT_READ, MAP_SHARED, fd, 0); /* for its hold on the lock: files.h */
        if (mark->hold == MAP_FAILED) {
            mark->hold = NULL;
            rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot map %s/%s", app->path, mark->name);
        }
    }
    close(fd);
    if (rc < 0)
        sfid__mark_drop(mark);
    return rc;
}

/* Opens the file anew, and only if it still is the one that was locked. */
static int reopen(const struct sfid__mark *mark, struct sfid__error *err) {
    struct sfid__dir app;
    if (sfid__dir_reopen(&app, mark->dir_path, err) < 0)
        return -1;
    int fd = sfid__fd_above_standard(openat(app.fd, mark->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    const int why = errno;
    if (fd >= 0 && !sfid__file_is(&app, mark->name, &mark->id)) {
        close(fd);
        fd = -1;
        sfid__fail(err, SFID_ESTATE, "%s/%s was removed or replaced while in use", mark->dir_path, mark->name);
    } else if (fd < 0) {
        sfid__fail_errno(err, SFID_ESTATE, why, "cannot open %s/%s", mark->dir_path, mark->name);
    }
    sfid__dir_close(&app);
    return fd;
}

int sfid__mark_write(struct sfid__mark *mark, uint64_t position, struct sfid__error *err) {
    const int fd = reopen(mark, err);
    if (fd < 0)
        return err->code;
    struct entry newest;
    const int which = read_newest(fd, &newest);
    const struct entry next = make_entry(mark, which < 0 ? 1 : newest.serial + 1, position);
    const int why = which < 0 ? EIO : write_entry(fd, 1 - which, &next);
    close(fd);
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write %s/%s", mark->dir_path, mark->name) : 0;
}

int sfid__mark_leave(struct sfid__mark *mark) {
    struct sfid__error ignored;
    struct sfid__dir app;
    struct stat st;
    if (mark->hold)
        munmap(mark->hold, ENTRY_SPACING);
    mark->hold = NULL;
    if (sfid__dir_reopen(&app, mark->dir_path, &ignored) < 0)
        return -1;
    int fd = sfid__file_lock(&app, mark->name, false, &st, &ignored);
    sfid__dir_close(&app);
    if (fd >= 0 && (st.st_dev != mark->id.device || st.st_ino != mark->id.inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void sfid__mark_left(int fd) {
    /* Unlocked by hand, against the rule of files.h: a child forked just now by another thread has a copy of this
       descriptor, but its handle is closing as well, and no right hangs on the lock any more. */
    flock(fd, LOCK_UN);
    close(fd);
}

void sfid__mark_drop(struct sfid__mark *mark) {
    if (mark->hold)
        munmap(mark->hold, ENTRY_SPACING);
    free(mark->dir_path);
    *mark = (struct sfid__mark){.hold = NULL};
}
