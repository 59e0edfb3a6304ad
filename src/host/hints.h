/* SPDX-License-Identifier: MIT */
/*
 * hints.h - where the search for a free number begins: a slot number, or a pid
 * of this host.
 *
 * Each number has a byte in the file of the doors, `lock` (held.h): 1 if it was
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

/* The order of a search: the first number; those that were taken, because a holder may have been
 * killed, or two of them at random if there are many; those that were not taken, ascending, or
 * spread once one was refused; and the rest. */
struct sfid__search {
    const struct sfid__dir *dir;
    uint64_t first, last; /* both included */
    /* a byte a number from the first one on; NULL: none is known to be taken */
    unsigned char *taken;
    uint64_t room, known; /* how many bytes there are; how many of them are the file's */
    /* of the numbers without a byte, how far they were tried, counted from the first one */
    uint64_t beyond;
    uint64_t taken_count; /* when they were read */
    bool first_again;
    unsigned stage, tries, refused; /* refused: tries of numbers that were not taken */
};

/* Begins a search from first to last. dir: of the app, and in use until the end. Without memory or
 * file it has no hints. */
void sfid__search_begin(struct sfid__search *s, const struct sfid__dir *dir, uint64_t first,
                        uint64_t last);

/* Sets *number to the next one to try, each once. False at the end. */
bool sfid__search_next(struct sfid__search *s, uint64_t *number);

/* True if the number just set can come once more: then a door that is shut says that another
 * process looks at it, or takes it. */
bool sfid__search_may_pass(const struct sfid__search *s, uint64_t number);

/* The number just set comes once more, after all others or, the first one, with those taken. Only
 * if its door was not waited for. */
void sfid__search_again(struct sfid__search *s, uint64_t number);

/* Notes that a number is taken, by this process or another. */
void sfid__search_taken(struct sfid__search *s, uint64_t number);

void sfid__search_end(struct sfid__search *s);

/* Notes that a number was given back, which was not the first of its range. path: the app's
 * directory. */
void sfid__hint_free(const char *path, uint64_t number);

#endif
