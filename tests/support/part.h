/* SPDX-License-Identifier: MIT */
/**
 * part.h - runs a piece of the library again and again in this process, while
 * one of its calls fails (inject.h), or two do.
 *
 * Whatever comes of that: a failure says what failed, on which path, and why, in
 * the kernel's words; as many descriptors, threads, locks, blocks of memory,
 * streams and mapped bytes are there as before; and the next run ends as the
 * first did. trial.h has processes around whole opens and renewals, and looks at
 * the IDs; a trial of it takes fifty times as long.
 *
 * With $SFID_TEST_VERBOSE each message is printed. $SFID_TEST_ONLY is the name
 * of a part.
 */
#ifndef SFID_TESTS_PART_H
#define SFID_TESTS_PART_H

#include "base/error.h"
#include "support/inject.h"

struct part {
    const char *name;
    /* what is there before; it may be NULL, and so may undo and end: their calls do not fail */
    void (*set)(void);
    void (*run)(struct sfid__error *err); /* err->code 0: it went well, or tells nobody */
    /* gives back what a run that went well has; then comes the count */
    void (*undo)(void);
    void (*end)(void);
    bool keeps; /* a descriptor, which it looks at before it closes it: one that cannot be looked at
                   stays open, as it may be the program's by now */
    bool links; /* it needs a hard link */
    /* so many pages of which the begin may stay, for threads that are late; and a handle, after a
     * run that went well */
    int stays;
};

/*
 * Each step-th call fails with each of its errors: alone, with all calls of its kind after it, and
 * with a disk that is dead from then on. With its first error, each step-th call after it fails as
 * well: a cause that ended the run alone has to be told then, too. Prints two checks: one if no
 * call fails, one if calls do.
 */
void part_test(const struct part *p, unsigned step);

/* Whole opens, in directories of the test. */
void parts_open(unsigned step);

/* Prints how many calls failed in all parts. */
void parts_end(void);

#endif
