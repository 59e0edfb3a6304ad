/* SPDX-License-Identifier: MIT */
/*
 * trust.h - paths that nobody else can lead elsewhere.
 *
 * Who may write to a directory may rename what is in it, whoever owns that. So a
 * file is as safe as the least safe directory above it. A path is walked from /
 * one name at a time, each held by a descriptor: the next step goes on from what
 * was looked at. A directory on the way is trusted if
 *
 *   - root, this process's user, or the owner of / owns it (in a user namespace
 *     that has no root, / belongs to nobody, as does all of other users), and
 *   - others may not write to it; or it is sticky, and what is taken from it
 *     belongs to one of those. The group may write if that is root's, or this
 *     process's own and has the number of its user (distributions make such a
 *     group for each user).
 *
 * A symbolic link counts for its owner, and is followed by the same rule. An
 * access control list shows in the group's bits, which are its mask; where
 * those are set, none may be there.
 *
 * SFID_TRUST_PARENTS is a list of paths with colons in between: what lies there
 * is trusted whoever may write there. It is for volumes of which only the
 * operator can know who else sees them.
 */
#ifndef SFID_BASE_TRUST_H
#define SFID_BASE_TRUST_H

#include "base/error.h"

/*
 * Opens the directory above an absolute path; *name is the last part of path.
 * make: directories that are missing are made, durably, with mode 0700. *doubt
 * tells of the first directory that is not trusted; code 0: all are. Returns a
 * descriptor (O_PATH), or -1 with errno.
 */
int sfid__trust_parent(const char *path, bool make, const char **name, struct sfid__error *doubt);

/* Makes a directory with mode 0700, durably: a mark below it must not vanish with it. 0, also if it
 * is there, or an errno. */
int sfid__trust_make(int parent, const char *name);

/*
 * Opens a file that the user names, for reading. The way to it has to be
 * trusted, and nobody else may write to it. A pipe opens without waiting for a
 * writer. Returns a descriptor, or -1 with errno and err->code 0; or, where one of
 * them is not so, with err filled in: its text goes on behind the file's name.
 */
int sfid__trust_open(const char *path, struct sfid__error *err);

#endif
