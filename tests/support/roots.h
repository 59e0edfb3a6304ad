/* SPDX-License-Identifier: MIT */
/** roots.h - what can happen to the directories of a generating process, one function each, for
 * proc/roots and proc/turmoil. */
#ifndef SFID_TESTS_ROOTS_H
#define SFID_TESTS_ROOTS_H

#include "support/local.h"

#include <grp.h>

enum { SOMEBODY = 65534, WHERE = 120 };

/* The directories of one round, in a new one on /dev/shm. */
struct place {
    char base[80];
    char run[WHERE], state[WHERE];           /* given to openers */
    char run_too[WHERE], state_too[WHERE];   /* second paths, or directories that replace these */
    char run_copy[WHERE], state_copy[WHERE]; /* early copies */
    char jail[WHERE];
};

/* ---- files -------------------------------------------------------------- */

void place_name(struct place *p, const char *name);
void make_dir(const char *path);

/* Copies a directory with all it holds, as `cp -a` does, while others may add and remove files
 * there. */
bool copy_as_it_goes(const char *from, const char *to);
void copy_tree(const char *from, const char *to);
void move(const char *from, const char *to);

/* Removes a directory even while a keeper adds files there. */
void remove_all(const char *path);

/* ---- namespaces --------------------------------------------------------- */

/* Makes later mounts private to this process. Without root, it enters a user namespace and keeps
 * its user. */
bool apart(void);
bool can_be_apart(void);
bool bind_over(const char *from, const char *to);
bool jail_in(const char *jail);
bool become_somebody(void);

/* Closes all descriptors as closefrom(3) does. A sanitizer would report a race with the keeper's
 * opens. */
void close_all(void);

/* Closes all descriptors, and opens a directory and one in it under their numbers. */
void take_descriptors(const char *decoy, const char *inside);

#endif
