/* SPDX-License-Identifier: MIT */
/*
 * dirs.h - opens the run and the state directory, and trusts neither.
 *
 * A directory must belong to the effective user, nobody else may write to it,
 * and it must not be a symbolic link. Whether others can put another one in its
 * place is told; what then is the caller's to say. A missing one is made with mode 0700. No
 * second place is tried: two processes that chose differently would both own
 * one pid. So a directory that someone else made first is refused. The message
 * says who can remove it, and what else the user can give.
 */
#ifndef SFID_HOST_DIRS_H
#define SFID_HOST_DIRS_H

#include "base/error.h"

struct sfid__dir {
    int fd;     /* close-on-exec; -1: none */
    char *path; /* absolute */
    uint64_t device, inode;
    /* of the run or state directory: why others can put another one in its place; NULL: they
     * cannot */
    char *doubt;
    /* the run directory, or in it: a power loss may take what is there, so no name is synced */
    bool brief;
    bool unsynced; /* a name was made in it that need not be durable yet */
};

#define SFID__DIR_NONE \
    { -1, NULL, 0, 0, NULL, false, false }

/* Names of the run and the state directory: option, environment, default. The caller frees them.
 * NULL with err filled in. */
char *sfid__dir_name_run(const char *option, struct sfid__error *err);
char *sfid__dir_name_state(const char *option, struct sfid__error *err);

/* Open the run or the state directory, and make it if it is missing. Return 0, SFID_ESTATE or
 * SFID_ENOMEM. */
int sfid__dir_open_run(struct sfid__dir *dir, const char *option, struct sfid__error *err);
int sfid__dir_open_state(struct sfid__dir *dir, const char *option, struct sfid__error *err);

/* Takes over a state directory that is open, once: **opened becomes none and *opened NULL. If that
 * is NULL, opens one. */
int sfid__dir_go_on_state(struct sfid__dir *dir, struct sfid__dir **opened, const char *option,
                          struct sfid__error *err);

/* Refuses a directory that others can replace, where it proves that IDs are unique. 0 or
 * SFID_ESTATE. */
int sfid__dir_refuse_doubt(const struct sfid__dir *dir, struct sfid__error *err);

/* Opens the directory `name` inside another one, and makes it if it is missing. */
int sfid__dir_open_sub(struct sfid__dir *dir, const struct sfid__dir *in, const char *name,
                       struct sfid__error *err);

/* Opens a directory again by its path, in a process that keeps no descriptor of it. Never creates
 * it. */
int sfid__dir_reopen(struct sfid__dir *dir, const char *path, struct sfid__error *err);

bool sfid__dir_is_tmpfs(const struct sfid__dir *dir);

void sfid__dir_close(struct sfid__dir *dir);

#endif
