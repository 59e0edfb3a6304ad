/* SPDX-License-Identifier: MIT */
/**
 * trial.h - opens, renews, closes or forks while one call fails (inject.h), and
 * says what is wrong after that.
 *
 * Each trial has directories and processes of its own. One process has the
 * failing call. Another, its neighbour, opens the same app before, between and
 * after. All IDs of both have to differ. The next try of what failed has to
 * work, and nothing may be left over.
 *
 * For a look at one of them: $SFID_TEST_ONLY is the name of a scenario,
 * $SFID_TEST_WORK one of open, renew, close, fork. With $SFID_TEST_VERBOSE the
 * errors are printed, which failures did no harm, and what was left over.
 */
#ifndef SFID_TESTS_TRIAL_H
#define SFID_TESTS_TRIAL_H

#include "support/inject.h"
#include "support/proc.h"

enum trial_work { TRIAL_OPEN, TRIAL_RENEW, TRIAL_CLOSE, TRIAL_FORK };

struct scenario {
    const char *name, *store; /* store NULL: only with pid */
    int64_t pid;
    uint64_t share;
    bool events;       /* with a callback */
    bool cold;         /* the process has not opened anything before */
    bool alone;        /* the fixed pid can have one holder */
    bool joins;        /* the neighbour has opened the app before */
    bool resumes;      /* a process that had it was killed */
    int lives;         /* a process that has ended had opened and closed the app so often */
    int64_t renews_ms; /* by how much the clock moves until a renewal is due */
    void (*adjust)(sfid_options *opt);
    _Atomic int64_t *server_clock_ns; /* NULL, or what moves the clock of a server */
};

/* Maps what trials share. Call this once, before the first one. */
void trials_begin(void);

/*
 * Runs the work once, then once for each of its calls and each of the errors it may have, also with
 * all calls of the kind after it. The short form of the tests tries one error, and the one call
 * alone but for few kinds. Prints one check, and what was wrong.
 */
void trials(const struct scenario *s, enum trial_work work);

/* Prints how many calls of each kind failed in all trials. */
void trials_end(void);

#endif
