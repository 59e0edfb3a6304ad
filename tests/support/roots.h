/* SPDX-License-Identifier: MIT */
/**
 * roots.h - what can happen to the directories under a process that generates,
 * one function each: for proc/roots and proc/turmoil.
 */
#ifndef SFID_TESTS_ROOTS_H
#define SFID_TESTS_ROOTS_H

#include "support/local.h"

#include <grp.h>

enum { SOMEBODY = 65534, WHERE = 120 };

/* The directories of one round, all below one of its own on /dev/shm. */
struct place {
    char base[80];
    char run[WHERE], state[WHERE];           /* what openers are given */
    char run_too[WHERE], state_too[WHERE];   /* second paths, or other directories for these places */
    char run_copy[WHERE], state_copy[WHERE]; /* as they were early */
    char jail[WHERE];
};

/* ---- files -------------------------------------------------------------- */

void place_name(struct place *p, const char *name);
void make_dir(const char *path);

/* A directory with all it holds, as `cp -a` does it: as far as that goes while others make and remove files there. */
bool copy_as_it_goes(const char *from, const char *to);
void copy_tree(const char *from, const char *to);
void move(const char *from, const char *to);

/* Removed whatever a keeper makes there meanwhile. */
void remove_all(const char *path);

/* ---- namespaces --------------------------------------------------------- */

/* Mounts made from here on are this process's own. Without root in a user namespace, in which it stays who it is. */
bool apart(void);
bool can_be_apart(void);
bool bind_over(const char *from, const char *to);
bool jail_in(const char *jail);
bool become_somebody(void);

/* As closefrom(3) of any program does it; a sanitizer takes what the keeper has just opened for a race. */
void close_all(void);

/* All descriptors closed, and copies of a directory and of one in it opened under their numbers. */
void take_descriptors(const char *decoy, const char *inside);

#endif
