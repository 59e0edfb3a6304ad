/* SPDX-License-Identifier: MIT */
/*
 * family.h - finds out without a path whether this process is the last of a
 * fork family.
 *
 * The lock of a file answers that, if the file can be opened anew (slot.c,
 * mark.c). If its directory was removed, it cannot. So a family has a second
 * lock, on a memory file without a name. The lock lives in a mapping (held.h):
 * forked children share it, and no descriptor is left that a daemon could
 * close. To ask, a process gives up its mapping, and looks whether /proc/locks
 * still lists the lock. If it does, another process of the family is alive.
 *
 * A wrong "last" would close a record that a child still uses: the child's
 * calls would fail, and no ID would repeat. "Not last" lets a lease run out. So
 * the answer is "not last" if it cannot be known: without /proc, or in a PID
 * namespace that hides the lock because the process that took it has ended.
 */
#ifndef SFID_HOST_FAMILY_H
#define SFID_HOST_FAMILY_H

#include "base/compiler.h"

#include <sys/stat.h>

struct sfid__family {
    void *map; /* keeps the lock; NULL: unknown */
    struct stat st;
};

/* Founds a family of this process alone. It cannot fail: without a lock the answer is always "not
 * last". */
void sfid__family_begin(struct sfid__family *family);

/* True if no other process of the family is alive. Either way this process has left the family. */
bool sfid__family_is_last(struct sfid__family *family);

/* Leaves the family. May be called on a zeroed one, and twice. */
void sfid__family_leave(struct sfid__family *family);

#endif
