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
    uint64_t exact;
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

static struct entry make_entry(const struct sfid__mark *mark, uint64_t serial, struct sfid__position at) {
    struct entry e = {.layout = mark->layout, .pid = mark->pid, .serial = serial, .position = at.word, .exact = at.exact};
    memcpy(e.magic, magic, sizeof magic);
    e.checksum = checksum(&e);
    return e;
}

/*
 * A file without any entry was made just now, or its maker died before it
 * wrote one: nothing was issued under it. Every block is written, so that a
 * store through the mapping never has to find room for it.
 */
static int begin(const struct sfid__mark *mark, const struct sfid__dir *app, int fd, struct sfid__error *err) {
    char blocks[FILE_SIZE] = {0};
    const struct entry first = make_entry(mark, 1, (struct sfid__position){0, false});
    memcpy(blocks, &first, sizeof first);
    const ssize_t n = pwrite(fd, blocks, sizeof blocks, 0);
    int why = n == (ssize_t)sizeof blocks ? 0 : n < 0 ? errno : ENOSPC;
    if (why == 0 && (fsync(fd) < 0 || fsync(app->fd) < 0))
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

static int read_position(const struct sfid__mark *mark, const struct sfid__dir *app, int fd, struct sfid__position *at,
                         struct sfid__error *err) {
    struct entry newest;
    if (read_newest(fd, &newest) < 0) {
        *at = (struct sfid__position){0, false};
        if (all_zero(fd))
            return begin(mark, app, fd, err);
        return sfid__fail(err, SFID_ESTATE,
                          "%s/%s is damaged: how far this pid was used is not known; remove the file once that was over a day ago",
                          app->path, mark->name);
    }
    if (newest.layout != mark->layout || newest.pid != mark->pid)
        return sfid__fail(err, SFID_ELAYOUT, "%s/%s is the mark of another layout or pid", app->path, mark->name);
    *at = (struct sfid__position){newest.position, newest.exact != 0};
    return 0;
}

int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app, uint64_t pid, uint64_t layout, struct sfid__position *at,
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
    int rc = read_position(mark, app, fd, at, err);
    if (rc == 0) {
        mark->map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* holds the lock, too: files.h */
        if (mark->map == MAP_FAILED) {
            mark->map = NULL;
            rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot map %s/%s", app->path, mark->name);
        }
    }
    close(fd);
    if (rc < 0)
        sfid__mark_drop(mark);
    return rc;
}

/* False when the file is known to have lost its name: then another process can get the pid. */
static bool still_there(const struct sfid__mark *mark) {
    char path[4096];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/%s", mark->dir_path, mark->name) >= (int)sizeof path)
        return false;
    if (lstat(path, &st) < 0)
        return errno != ENOENT && errno != ENOTDIR; /* a user or root that cannot see it any more knows nothing */
    return st.st_dev == mark->id.device && st.st_ino == mark->id.inode;
}

static struct entry *entry_at(const struct sfid__mark *mark, int which) {
    return (struct entry *)(void *)((char *)mark->map + which * ENTRY_SPACING);
}

int sfid__mark_write(struct sfid__mark *mark, struct sfid__position at, struct sfid__error *err) {
    if (!still_there(mark))
        return sfid__fail(err, SFID_ESTATE, "%s/%s was removed or replaced while in use", mark->dir_path, mark->name);
    const struct entry *e[2] = {entry_at(mark, 0), entry_at(mark, 1)};
    const int newest = good(e[0]) && (!good(e[1]) || e[0]->serial > e[1]->serial) ? 0 : 1;
    const struct entry next = make_entry(mark, e[newest]->serial + 1, at);
    struct entry *older = entry_at(mark, 1 - newest);
    memcpy(older, &next, sizeof next);
    if (msync(older, ENTRY_SPACING, MS_SYNC) < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot write %s/%s", mark->dir_path, mark->name);
    return 0;
}

static void let_go(struct sfid__mark *mark) {
    if (mark->map)
        munmap(mark->map, FILE_SIZE);
    mark->map = NULL;
}

/* The file through a description of its own; -1 when it is gone or out of reach. */
static int open_again(const struct sfid__mark *mark) {
    struct sfid__error ignored;
    struct sfid__dir app;
    if (sfid__dir_reopen(&app, mark->dir_path, &ignored) < 0)
        return -1;
    int fd = sfid__fd_above_standard(openat(app.fd, mark->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0 && !sfid__file_is(&app, mark->name, &mark->id)) {
        close(fd);
        fd = -1;
    }
    sfid__dir_close(&app);
    return fd;
}

bool sfid__mark_is_last(struct sfid__mark *mark) {
    const int fd = open_again(mark);
    if (fd < 0)
        return false;
    /* The new mapping takes the old one's place, and with that goes our share of the old lock. */
    const bool last = mmap(mark->map, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED &&
                      flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return last;
}

void sfid__mark_drop(struct sfid__mark *mark) {
    let_go(mark);
    free(mark->dir_path);
    *mark = (struct sfid__mark){.map = NULL};
}
