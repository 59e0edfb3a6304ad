/* SPDX-License-Identifier: MIT */
/*
 * family.h - whether this process is the last of a fork family, asked without
 * a path.
 *
 * The lock of a file answers that where the file can be opened anew (slot.c,
 * mark.c). Where its directory was removed it cannot. So a family has a second
 * lock, on a memory file that has no name at all. The lock lives in a mapping
 * (files.h): forked children share it, and no descriptor is left that a daemon
 * could close. To ask, a process gives up its mapping, and looks whether the
 * kernel still lists the lock in /proc/locks. If it does, another process of
 * the family is alive.
 *
 * A wrong "last" would close a record under a child that draws from it: the
 * child's calls fail then, and no ID repeats. "Not last" leaves a lease to its
 * end. So the answer is "not last" where it cannot be known: without /proc, or
 * in a PID namespace that does not show the lock, since the process that took
 * it has ended.
 */
#ifndef SFID_HOST_FAMILY_H
#define SFID_HOST_FAMILY_H

#include "base/compiler.h"

#include <sys/stat.h>

struct sfid__family {
    void *map; /* keeps the lock; NULL: nothing is known */
    struct stat st;
};

/* Founds a family of this process alone. A failure is none: then nothing is known. */
void sfid__family_begin(struct sfid__family *family);

/* True: no other process of the family is alive. In any case this process has left it. */
bool sfid__family_is_last(struct sfid__family *family);

/* Leaves the family. Fine on a zeroed one, and twice. */
void sfid__family_leave(struct sfid__family *family);

#endif
