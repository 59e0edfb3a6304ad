/* SPDX-License-Identifier: MIT */
#include "host/mark.h"

#include "base/fd.h"
#include "base/hash.h"
#include "base/process.h"
#include "id/layout.h"

#include <sfid.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define ENTRY_SPACING 4096 /* one block: power loss tears blocks one by one */
#define FILE_SIZE (2 * ENTRY_SPACING)

struct entry {
    char magic[8];
    uint64_t layout;
    uint64_t pid;
    uint64_t serial; /* the higher one is newer */
    uint64_t position;
    uint64_t page;
    uint64_t exact;
    uint64_t checksum;
};

static const char magic[8] = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '1'};

static uint64_t checksum(const struct entry *e) { return sfid__hash(SFID__HASH_SEED, e, offsetof(struct entry, checksum)); }

static bool good(const struct entry *e) { return memcmp(e->magic, magic, sizeof magic) == 0 && e->checksum == checksum(e); }

/* Reads the blocks of the file; what the file lacks is zero. */
static int read_blocks(int fd, char blocks[FILE_SIZE]) {
    memset(blocks, 0, FILE_SIZE);
    return pread(fd, blocks, FILE_SIZE, 0) < 0 ? errno : 0;
}

/* Which of two entries is the newest good one; -1 if neither is good. */
static int newest_of(const struct entry *a, const struct entry *b) {
    if (!good(a) && !good(b))
        return -1;
    return good(a) && (!good(b) || a->serial > b->serial) ? 0 : 1;
}

static const struct entry *entry_in(const char *blocks, int which) {
    return (const struct entry *)(const void *)(blocks + which * ENTRY_SPACING);
}

static struct entry make_entry(const struct sfid__mark *mark, uint64_t serial, struct sfid__position at) {
    struct entry e = {.layout = mark->want.layout,
                      .pid = mark->want.pid,
                      .serial = serial,
                      .position = at.word,
                      .page = at.page,
                      .exact = at.exact};
    memcpy(e.magic, magic, sizeof magic);
    e.checksum = checksum(&e);
    return e;
}

static bool all_zero(const char blocks[FILE_SIZE]) {
    for (size_t i = 0; i < FILE_SIZE; i++)
        if (blocks[i])
            return false;
    return true;
}

static int write_blocks(const struct sfid__mark *mark, const struct sfid__dir *app, int fd, const char blocks[FILE_SIZE],
                        struct sfid__error *err) {
    const ssize_t n = pwrite(fd, blocks, FILE_SIZE, 0);
    int why = n == FILE_SIZE ? 0 : n < 0 ? errno : ENOSPC;
    if (why == 0 && mark->want.synced && (fsync(fd) < 0 || fsync(app->fd) < 0))
        why = errno;
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write file %s/%s", app->path, mark->name) : 0;
}

/*
 * Reads the position in the file. A file without any entry was just made, or
 * its maker died before it wrote one: nothing was issued under it. A file that
 * is short or has a hole is written in full, because a mapping of it would
 * fault.
 */
static int read_position(const struct sfid__mark *mark, const struct sfid__dir *app, int fd, struct sfid__position *at,
                         struct sfid__error *err) {
    _Alignas(struct entry) char blocks[FILE_SIZE];
    const int why = read_blocks(fd, blocks);
    if (why) {
        sfid__fail_errno(err, SFID_ESTATE, why, "cannot read %s/%s", app->path, mark->name);
        err->one_file = true;
        return SFID_ESTATE;
    }
    if (all_zero(blocks)) {
        for (int i = 0; i < 2; i++) { /* both, so that from now on a blank entry means damage */
            const struct entry first = make_entry(mark, (uint64_t)i + 1, (struct sfid__position){0});
            memcpy(blocks + i * ENTRY_SPACING, &first, sizeof first);
        }
        *at = (struct sfid__position){0};
        return write_blocks(mark, app, fd, blocks, err);
    }
    const int which = newest_of(entry_in(blocks, 0), entry_in(blocks, 1));
    if (which < 0) {
        sfid__fail(err, SFID_ESTATE,
                   "%s/%s is damaged, so the last use of this pid is unknown; remove the file once that is over a day ago",
                   app->path, mark->name);
        err->one_file = true;
        return SFID_ESTATE;
    }
    const struct entry *newest = entry_in(blocks, which);
    if (newest->layout != mark->want.layout || newest->pid != mark->want.pid)
        return sfid__fail(err, SFID_ELAYOUT, "%s/%s is the mark of another layout or pid", app->path, mark->name);
    const bool damaged = !good(entry_in(blocks, 0)) || !good(entry_in(blocks, 1));
    *at = (struct sfid__position){newest->position, newest->page, newest->exact != 0, damaged};
    const off_t backed = lseek(fd, 0, SEEK_HOLE);
    return backed < FILE_SIZE ? write_blocks(mark, app, fd, blocks, err) : 0;
}

int sfid_mark_check(const void *content, size_t size) {
    _Alignas(struct entry) char blocks[FILE_SIZE] = {0};
    if (content == NULL && size > 0)
        return SFID_EINVAL;
    if (size > 0)
        memcpy(blocks, content, SFID__MIN(size, sizeof blocks));
    return all_zero(blocks) || newest_of(entry_in(blocks, 0), entry_in(blocks, 1)) >= 0 ? 0 : SFID_ESTATE;
}

static void let_go(struct sfid__mark *mark) {
    if (mark->map)
        munmap(mark->map, FILE_SIZE);
    mark->map = NULL;
    sfid__file_close_kept(mark->kept_fd, &mark->id);
    mark->kept_fd = 0;
}

/* True if paths still begin where they did when the mark was taken. False if it cannot be known. */
static bool root_is(const struct sfid__file_id *root) {
    struct stat st;
    return stat("/", &st) == 0 && st.st_dev == root->device && st.st_ino == root->inode;
}

/* Opens the file anew; -1 with errno set on failure. ESTALE: another file has its place, or none. */
static int open_again(const struct sfid__mark *mark) {
    char path[4096];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/%s", mark->dir_path, mark->name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = sfid__fd_above_standard(open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0) {
        errno = errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? ESTALE : errno;
        return -1;
    }
    if (fstat(fd, &st) == 0 && st.st_dev == mark->id.device && st.st_ino == mark->id.inode)
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

/* Locks and maps the file. It runs inside the door, so it must not wait for a disk. */
static int lock_and_map(struct sfid__mark *mark, const struct sfid__dir *app, struct sfid__error *err) {
    struct stat st;
    const int fd = sfid__file_lock(app, mark->name, true, &st, err);
    if (fd < 0)
        return err->code;
    mark->id = sfid__file_id(&st);
    void *map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* keeps the lock, too: files.h */
    if (map == MAP_FAILED) {
        sfid__fail_errno(err, SFID_ESTATE, errno, "cannot map %s/%s", app->path, mark->name);
        close(fd);
        return err->code;
    }
    mark->map = map; /* nobody may touch it before read_position() has checked the length of the file */
    mark->kept_fd = sfid__file_keep_lock(app, mark->name, fd, err);
    return mark->kept_fd < 0 ? err->code : 0;
}

static int lock_by_door(struct sfid__mark *mark, const struct sfid__dir *app, struct sfid__error *err) {
    const int door = sfid__door_enter(app, mark->want.pid, err);
    const int rc = door < 0 ? err->code : lock_and_map(mark, app, err);
    if (door >= 0)
        sfid__door_leave(door);
    if (rc == SFID_EBUSY)
        sfid__fail(err, SFID_EBUSY, "pid %" PRIu64 " is in use: another process or handle holds the lock of %s/%s", mark->want.pid,
                   app->path, mark->name);
    return rc;
}

int sfid__mark_take(struct sfid__mark *mark, const struct sfid__dir *app, const struct sfid__mark_want *want,
                    struct sfid__position *at, struct sfid__error *err) {
    struct stat root;
    *mark = (struct sfid__mark){.want = *want};
    snprintf(mark->name, sizeof mark->name, SFID__MARK_PREFIX "%" PRIu64, want->pid);
    if (stat("/", &root) < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot look at the root directory");
    mark->root = sfid__file_id(&root);
    mark->dir_path = strdup(app->path);
    if (mark->dir_path == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    int rc = lock_by_door(mark, app, err);
    const int fd = rc == 0 ? open_again(mark) : -1;
    if (rc == 0)
        rc = fd < 0 ? sfid__fail_errno(err, SFID_ESTATE, errno, "cannot use file %s/%s", app->path, mark->name)
                    : read_position(mark, app, fd, at, err);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        sfid__mark_drop(mark);
    return rc;
}

static int store_entry(const struct sfid__mark *mark, int fd, int which, const struct entry *e) {
    const off_t at = (off_t)which * ENTRY_SPACING;
    if (fd < 0) {
        memcpy((char *)mark->map + at, e, sizeof *e);
        return mark->want.synced && msync((char *)mark->map + at, ENTRY_SPACING, MS_SYNC) < 0 ? errno : 0;
    }
    const ssize_t n = pwrite(fd, e, sizeof *e, at);
    if (n != (ssize_t)sizeof *e)
        return n < 0 ? errno : ENOSPC;
    return mark->want.synced && fdatasync(fd) < 0 ? errno : 0;
}

/*
 * Finds the newest entry of a mark that is held. Returns which one it is; -1 if none is good. Reads from the file if there is a
 * descriptor: copying a backup over the file truncates it first, and reading the mapping would then raise SIGBUS.
 */
static int newest_in_place(const struct sfid__mark *mark, int fd, struct entry *newest) {
    _Alignas(struct entry) char read_now[FILE_SIZE];
    if (fd >= 0 && read_blocks(fd, read_now) != 0)
        return -1;
    const char *blocks = fd >= 0 ? read_now : mark->map;
    const int which = newest_of(entry_in(blocks, 0), entry_in(blocks, 1));
    if (which >= 0)
        *newest = *entry_in(blocks, which);
    return which;
}

static int write_next(struct sfid__mark *mark, int fd, struct sfid__position at) {
    struct entry newest;
    const int which = newest_in_place(mark, fd, &newest);
    if (which < 0)
        return EIO;
    if (mark->settled != sfid__process()) {
        const int why = store_entry(mark, fd, which, &newest);
        if (why)
            return why;
    }
    /*
     * While a page is in use its mark never goes back, whatever the writer knows. A keeper that takes itself for the only one may
     * be late with a bound that another process of the family has passed since.
     */
    if (!at.exact && !newest.exact && newest.page == at.page)
        at.word = SFID__MAX(at.word, newest.position);
    const struct entry next = make_entry(mark, newest.serial + 1, at);
    const int why = store_entry(mark, fd, 1 - which, &next);
    mark->settled = why == 0 ? sfid__process() : 0;
    return why;
}

int sfid__mark_write(struct sfid__mark *mark, struct sfid__position at, struct sfid__error *err) {
    if (mark->map == NULL) /* a forked child has a copy of a mark that its parent had just lost */
        return sfid__fail(err, SFID_ELEASE, "the mark is not held by this process");
    const int fd = open_again(mark);
    if (fd < 0 && errno == ESTALE && root_is(&mark->root))
        return sfid__fail(err, SFID_ELEASE, "%s/%s was removed or replaced while in use", mark->dir_path, mark->name);
    const int why = write_next(mark, fd, at); /* without a descriptor, through the mapping: see mark.h */
    if (fd >= 0)
        close(fd);
    return why ? sfid__fail_errno(err, SFID_ESTATE, why, "cannot write %s/%s", mark->dir_path, mark->name) : 0;
}

bool sfid__mark_in_place(const struct sfid__mark *mark, struct sfid__position *at) {
    struct entry newest;
    const int fd = mark->map ? open_again(mark) : -1;
    if (fd < 0)
        return false;
    const int which = newest_in_place(mark, fd, &newest);
    close(fd);
    if (which < 0)
        return false;
    *at = (struct sfid__position){newest.position, newest.page, newest.exact != 0, false};
    return true;
}

/* Runs inside the door. */
static bool is_last(struct sfid__mark *mark) {
    const int fd = open_again(mark);
    if (fd < 0)
        return false;
    /* The new mapping replaces the old one, and so gives up our share of the old lock. */
    if (mmap(mark->map, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
        return sfid__file_is_last(fd, &mark->kept_fd, &mark->id);
    close(fd);
    return false;
}

bool sfid__mark_is_last(struct sfid__mark *mark) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    if (mark->map == NULL || sfid__dir_reopen(&dir, mark->dir_path, &ignored) < 0)
        return false;
    const int door = sfid__door_enter(&dir, mark->want.pid, &ignored);
    const bool last = door >= 0 && is_last(mark);
    if (door >= 0)
        sfid__door_leave(door);
    sfid__dir_close(&dir);
    return last;
}

void sfid__mark_drop(struct sfid__mark *mark) {
    let_go(mark);
    free(mark->dir_path);
    *mark = (struct sfid__mark){.map = NULL};
}
