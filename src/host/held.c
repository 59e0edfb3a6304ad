/* SPDX-License-Identifier: MIT */
#include "host/held.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sfid.h>
#include <sys/file.h>
#include <unistd.h>

/* Sleeps before the next look at a lock, each time for longer. False, without sleeping, once the
 * time is over. */
static bool nap_until(int64_t until_ms, int64_t *nap_ns) {
    const int64_t now_ms = sfid__deadline_now_ms();
    if (now_ms >= until_ms)
        return false;
    /* the last look is at the end */
    const int64_t left_ns = SFID__MIN(until_ms - now_ms, SFID__PAUSE_MOST_NS) * 1000000;
    sfid__system_clock.sleep_ns(&sfid__system_clock, SFID__MIN(sfid__pause_ns(nap_ns), left_ns));
    return true;
}

static bool lock_alone(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

/* If the file cannot be looked at, the descriptor stays open: its number may be the program's by
 * now. */
static bool has_fd(const struct sfid__held *h) {
    struct stat st;
    return h->fd > 0 && fstat(h->fd, &st) == 0 && sfid__file_same(&st, &h->id);
}

static void close_fd(struct sfid__held *h) {
    if (has_fd(h))
        close(h->fd);
    h->fd = 0;
}

int sfid__held_open(const struct sfid__held *h, int dir, const char *path) {
    struct stat st;
    const int fd =
        sfid__fd_above_standard(openat(dir, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    const int why = fd < 0 || fstat(fd, &st) < 0   ? errno
                    : sfid__file_same(&st, &h->id) ? 0
                                                   : ESTALE;
    if (why && fd >= 0)
        close(fd);
    if (why)
        errno = why;
    return why ? -1 : fd;
}

int sfid__held_begin(struct sfid__held *h, const struct sfid__dir *dir, const char *name, int fd,
                     int *reader, struct sfid__error *err) {
    h->fd = 0;
    if (h->kind != SFID__HELD_OWN) {
        h->kind = SFID__HELD_FIRST;
        h->by_fd = !sfid__file_mapping_keeps(dir);
        h->fd = fd;
        if (reader)
            *reader = fd;
        return 0;
    }
    const int again = sfid__held_open(h, dir->fd, name), why = again < 0 ? errno : 0;
    close(fd);
    if (why && why != ESTALE)
        return sfid__file_fail(err, dir, name, why), err->code;
    h->by_fd = again >= 0 && lock_alone(again); /* the lock was gone */
    if (h->by_fd)
        h->fd = again;
    if (again >= 0 && reader)
        *reader = again;
    else if (again >= 0 && !h->by_fd)
        close(again);
    return 0;
}

void sfid__held_join(struct sfid__held *h, int fd, bool by_fd) {
    h->kind = SFID__HELD_SHARED;
    h->by_fd = by_fd;
    h->fd = by_fd ? fd : 0;
    if (!by_fd)
        close(fd);
}

bool sfid__held_share(struct sfid__held *h) {
    errno = ESTALE;
    const bool done =
        h->kind == SFID__HELD_FIRST && has_fd(h) && flock(h->fd, LOCK_SH | LOCK_NB) == 0;
    const int why = errno;
    h->kind = SFID__HELD_SHARED;
    if (!h->by_fd)
        close_fd(h);
    errno = why;
    return done;
}

bool sfid__held_is_last(struct sfid__held *h, int fd, bool unlocks, int64_t until_ms) {
    close_fd(h); /* not unlocked, also if a call before left it: a child may have that lock */
    bool last = lock_alone(fd);
    for (int64_t nap_ns = SFID__PAUSE_FIRST_NS; !last && nap_until(until_ms, &nap_ns);)
        last = lock_alone(fd);
    if (last && unlocks)
        h->kind = SFID__HELD_FIRST;
    else if (h->kind == SFID__HELD_FIRST)
        h->kind = SFID__HELD_SHARED;
    if (last && (unlocks || h->by_fd))
        h->fd = fd;
    else
        close(fd);
    return last;
}

void sfid__held_drop(struct sfid__held *h) {
    /* A child that another thread forked in the middle of opening or closing has the same
     * description, and so the same lock. */
    if (h->kind == SFID__HELD_FIRST && has_fd(h))
        flock(h->fd, LOCK_UN);
    close_fd(h);
}

/* ---- the door ------------------------------------------------------------ */

#define DOORS ((UINT64_C(1) << 40) - 1) /* rights that share a byte only wait for each other */

int sfid__door_enter(const struct sfid__dir *dir, uint64_t number, int64_t until_ms,
                     struct sfid__error *err) {
    const int64_t end_ms = until_ms ? until_ms : sfid__deadline_now_ms() + SFID__DOOR_MS;
    int64_t nap_ns = SFID__PAUSE_FIRST_NS;
    struct stat st;
    const int fd = sfid__file_open(dir, "lock", O_RDWR | O_CREAT, &st, err);
    for (int rc = 0; fd >= 0 && rc == 0;) {
        struct flock byte = {.l_type = F_WRLCK,
                             .l_whence = SEEK_SET,
                             .l_start = (off_t)(number & DOORS),
                             .l_len = 1};
        if (fcntl(fd, F_OFD_SETLK, &byte) == 0)
            return fd;
        if (errno != EAGAIN && errno != EACCES)
            rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot lock file %s/lock", dir->path);
        else if (!nap_until(end_ms, &nap_ns))
            rc = sfid__fail(
                err, until_ms == SFID__DOOR_LOOK ? SFID_EAGAIN : SFID_EBUSY,
                "another process is taking or leaving this pid or slot and does not finish: see %s/lock",
                dir->path);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

void sfid__door_leave(int door) {
    if (door < 0)
        return;
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    /* closing alone is not enough: a child forked just now has the descriptor, too */
    fcntl(door, F_OFD_SETLK, &all);
    close(door);
}
