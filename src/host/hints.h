/* SPDX-License-Identifier: MIT */
/*
 * hints.h - where the search for a free number begins: a slot number, or a pid
 * of this host.
 *
 * Each number has a byte in the file of the doors, `lock` (files.h): 1 if it was
 * taken when somebody last looked. So the n-th process finds its number in a few
 * tries, and not after n - 1 busy ones. Nothing is believed: the lock of slot or
 * mark decides, and a search that finds nothing has tried every number. A byte
 * that is wrong, or a file that is lost, costs tries. The first number of a range
 * is tried without a hint, so that a process alone on its host reads and writes
 * none.
 */
#ifndef SFID_HOST_HINTS_H
#define SFID_HOST_HINTS_H

#include "host/dirs.h"

/* The order of a search: the first number; those that were taken, because a holder may have been killed, or two of them at random
   if there are many; those that were not taken, ascending; and the rest. */
struct sfid__search {
    const struct sfid__dir *dir;
    uint64_t first, last; /* both included */
    uint64_t known;       /* numbers below this one have a byte in `taken` */
    unsigned char *taken; /* NULL: none is known to be taken */
    uint64_t next;        /* where this stage goes on */
    uint64_t taken_count; /* when they were read */
    unsigned stage, tries;
};

/* Begins a search from first to last. dir: of the app, and in use until the end. Without memory or file it has no hints. */
void sfid__search_begin(struct sfid__search *s, const struct sfid__dir *dir, uint64_t first, uint64_t last);

/* Sets *number to the next one to try, each once. False at the end. */
bool sfid__search_next(struct sfid__search *s, uint64_t *number);

/* Notes that a number is taken, by this process or another. */
void sfid__search_taken(struct sfid__search *s, uint64_t number);

void sfid__search_end(struct sfid__search *s);

/* Notes that a number was given back, which was not the first of its range. path: the app's directory. */
void sfid__hint_free(const char *path, uint64_t number);

#endif
