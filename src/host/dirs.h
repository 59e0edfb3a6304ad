/* SPDX-License-Identifier: MIT */
/*
 * dirs.h - the run and the state directory, opened with distrust.
 *
 * A directory that is used belongs to the effective user and is writable by
 * nobody else; it is no symbolic link; a missing one is made with mode 0700.
 * There is no falling through from one place to the next: two processes that
 * chose differently would be two owners of one pid. So a directory that somebody
 * else made first is refused, and the message says who can remove it, and what
 * else can be given.
 */
#ifndef SFID_HOST_DIRS_H
#define SFID_HOST_DIRS_H

#include "base/error.h"

struct sfid__dir {
    int fd;     /* close-on-exec, or -1 */
    char *path; /* absolute */
};

#define SFID__DIR_NONE \
    { -1, NULL }

/* The names of the run and the state directory: option, environment, default. To be freed; NULL with err filled in. */
char *sfid__dir_name_run(const char *option, struct sfid__error *err);
char *sfid__dir_name_state(const char *option, struct sfid__error *err);

/* Open the run directory and the state directory, making them. 0, SFID_ESTATE or SFID_ENOMEM. */
int sfid__dir_open_run(struct sfid__dir *dir, const char *option, struct sfid__error *err);
int sfid__dir_open_state(struct sfid__dir *dir, const char *option, struct sfid__error *err);

/* Opens the directory `name` inside another one, making it where it is missing. */
int sfid__dir_open_sub(struct sfid__dir *dir, const struct sfid__dir *in, const char *name, struct sfid__error *err);

/* Opens a directory again by its path, in a process that keeps no descriptor of it. Never creates it. */
int sfid__dir_reopen(struct sfid__dir *dir, const char *path, struct sfid__error *err);

bool sfid__dir_is_tmpfs(const struct sfid__dir *dir);

void sfid__dir_close(struct sfid__dir *dir);

#endif
