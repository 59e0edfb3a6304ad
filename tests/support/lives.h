/* SPDX-License-Identifier: MIT */
/**
 * lives.h - a storm of short lives on one shared page, beside local.h.
 *
 * The test program starts itself again and again. Each start is a life: it
 * opens, generates for some milliseconds, and closes, ends without a close, or
 * is killed at any moment, in sfid_open() and sfid_close() too. All report to
 * one file, and log their IDs for the checker.
 */
#ifndef SFID_TESTS_LIVES_H
#define SFID_TESTS_LIVES_H

#include "support/local.h"

enum { LIVES_FIRSTS = 1 << 15 };

struct lives_report {
    _Atomic uint64_t lives, keepers; /* keepers: kept the pid at their end */
    _Atomic int64_t highest;         /* ID that any process has got */
    /* IDs not above every one that a process had before it was asked for */
    _Atomic int64_t behind;
    _Atomic int64_t errors, an_error, pid, other_pids, closed;
    _Atomic int64_t ids;
    _Atomic uint64_t firsts_n;
    _Atomic int64_t firsts[LIVES_FIRSTS]; /* sfid_open() to first ID */
    char text[400];
};

/* In the test and in a life: the file they share. Zeroed at first. */
struct lives_report *lives_begin(void);

/* A life. The rest of the program's arguments is the test's. Returns the status to end with. */
int lives_live(struct lives_report *report, uint64_t random, const sfid_options *opt);

struct lives_tally {
    unsigned started, kills, failed, hung, most_alive;
};

/*
 * Starts a life each every_ns for for_ns, with the arguments "live", a random number, and
 * `argument`. Kills a quarter of them. Calls meanwhile(arg) again and again, unless that is NULL.
 * Returns when all have ended.
 */
void lives_rage(int64_t for_ns, int64_t every_ns, uint64_t *rng, const char *argument,
                void (*meanwhile)(void *arg), void *arg, struct lives_tally *t);

/*
 * Lives one after another, a third of them closed, exited and killed each, draw two IDs under these
 * options: one check that the numbers have no gap. Returns how many had another pid than the one
 * before.
 */
unsigned lives_without_gap(const sfid_options *opt, int lives);

/* Prints the figures, and checks what holds in any storm: no life hangs or fails, no call and no
 * open fails, the order. */
void lives_judge(struct lives_report *report, const struct lives_tally *t);

#endif
