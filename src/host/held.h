/* SPDX-License-Identifier: MIT */
/*
 * held.h - the lock of a mapped file that stands for a right: a slot or a mark.
 *
 * A lock of flock(2) belongs to the open file description, which a mapping keeps alive after its
 * last descriptor is closed. So such a file is locked, mapped and closed. No descriptor is left
 * that a daemon could close, exec could pass on, or a reused descriptor could be taken for. fork()
 * copies the mapping, and with it a share of the lock; munmap, exec and exit give the share up. On
 * a file system stacked on another (overlayfs, seen with Linux 6.18) a mapping belongs to the file
 * below, and keeps no lock. There a descriptor stays open.
 *
 * Invariants of a lock that is held:
 *
 *   1. The file is mapped. The mapping keeps the lock or, if by_fd, the descriptor `fd` does.
 *   2. fd is of the description that has the lock, and open only if by_fd or the kind is FIRST. Its
 *      number may be the program's by now: a daemon may have closed it and opened another. So it is
 *      used only if it is the file `id`.
 *   3. The lock of OWN and FIRST is exclusive, that of SHARED is LOCK_SH. Only after a share() that
 *      failed it is still exclusive, so that nobody comes in.
 *   4. Only FIRST is unlocked, which takes the lock from forked children as well: no child goes on
 *      with what this process alone had begun, or has ended. The others are only closed.
 *   5. The lock changes its kind inside the door alone, because flock(2) drops the old lock before
 *      it takes the new one.
 */
#ifndef SFID_HOST_HELD_H
#define SFID_HOST_HELD_H

#include "host/files.h"

enum sfid__held_kind {
    SFID__HELD_OWN,   /* this process and its children have it, and let nobody in */
    SFID__HELD_FIRST, /* this process is alone: before it lets others in, or after they left */
    SFID__HELD_SHARED /* others have it as well */
};

/* Zeroed: none. Before begin or join the owner sets `id`, and before begin `kind`, not to OWN if
 * others will be let in. */
struct sfid__held {
    struct sfid__file_id id;
    enum sfid__held_kind kind;
    int fd; /* 0: none */
    bool by_fd;
};

/*
 * Begins with a file that is mapped and locked by fd alone; `name` leads to it now. Takes over fd,
 * also on failure. *reader, if given, becomes a descriptor of the file, which the caller closes
 * unless it is h->fd; it is left as it was if another file has the name by now. Returns 0, or
 * SFID_ESTATE if it cannot be known whether the mapping keeps the lock.
 */
int sfid__held_begin(struct sfid__held *h, const struct sfid__dir *dir, const char *name, int fd,
                     int *reader, struct sfid__error *err);

/* Begins with a file that others have, and by whose fd this process has LOCK_SH. Takes over fd.
 * by_fd: as they say. */
void sfid__held_join(struct sfid__held *h, int fd, bool by_fd);

/* Lets others in, inside the door. False with errno if there is no lock to share. */
bool sfid__held_share(struct sfid__held *h);

/* True if no other process, but children, may use the file beside this one. */
static inline bool sfid__held_alone(const struct sfid__held *h) {
    return h->kind != SFID__HELD_SHARED;
}

/*
 * Finds out, inside the door, whether nobody else has the lock. The caller has mapped the file anew
 * through fd, which has no lock, and so given up its share. Takes over fd, and with it the lock if
 * the result is true. unlocks: the kind is FIRST then, of an OWN lock, too. until_ms (monotonic):
 * how long it waits for a process that is leaving as well; 0: not at all.
 */
bool sfid__held_is_last(struct sfid__held *h, int fd, bool unlocks, int64_t until_ms);

/* Gives up what the mapping does not keep. May be called on a zeroed one, and twice. */
void sfid__held_drop(struct sfid__held *h);

/* Opens the file anew by a path below the directory `dir`. A descriptor, or -1 with errno: ESTALE
 * if another file lies there. */
int sfid__held_open(const struct sfid__held *h, int dir, const char *path);

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
int sfid__door_enter(const struct sfid__dir *dir, uint64_t number, int64_t until_ms,
                     struct sfid__error *err);
void sfid__door_leave(int door); /* -1: none */

#endif
