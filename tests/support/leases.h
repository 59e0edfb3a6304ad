/* SPDX-License-Identifier: MIT */
/*
 * leases.h - runs one lease machine: events go in, actions come out, the test
 * sets the time.
 *
 * Each step returns the state after it and its actions as letters, such as "h
 * ENWS": w wanted, h held, e ended. For the other letters see letters[].
 */
#ifndef SFID_TESTS_LEASES_H
#define SFID_TESTS_LEASES_H

#include "lease/machine.h"
#include "support/tap.h"

enum {
    WINDOW = 100,
    REACH = 300,
    HEARTBEAT = 32000,
    POLL_MOST = 40000,
    FIRST = 50,
    LONGEST = 5000,
    TICK = 500,
    NOW = 100000
};
enum {
    FIRST_WINDOW = 40,
    FIRST_HEARTBEAT = 3200,
    UNIT = 1000,
    POLL = 10,
    SHORT_PID = 7,
    ORDINARY_PID = 4
};

#define EVEN UINT64_C(20388694359726) /* a multiple of each jitter's range, so no jitter */

extern const struct sfid__lease_terms usual;
extern const struct sfid__lease_terms two_windows; /* pids 3 and 7 are short */
extern struct sfid__lease l;
extern struct sfid__lease_actions out; /* of the last step */
extern int64_t now;
extern uint64_t tick, fresh, jitter, position;
extern bool idle; /* the next ID is not due */

/* ---- steps ----------------------------------------------------------------- */

/* Returns the state after the step and its actions: "h ENWS". */
const char *actions_said(void);
const char *step(struct sfid__lease_event e);
const struct sfid__lease_action *last(void);
const char *open_lease(void);
const char *wake(bool poked);
const char *grant(uint64_t pid, uint64_t floor, uint64_t limit);
const char *switched(uint64_t pid, uint64_t floor, uint64_t limit);
const char *later(int64_t after_ms, uint64_t start);
const char *answer(enum sfid__lease_answer what);
const char *adopted(uint64_t limit, bool sure);
const char *unfit(void);
const char *resume(uint64_t limit, uint64_t next_nonce);

/* As resume(), if no process generates from the record that was found. */
const char *resume_cold(uint64_t limit);
const char *resume_warm(uint64_t limit);
const char *close_lease(void);

/* Moves the time on to when the machine wants to look again. */
const char *wake_when_due(void);

/* What is under way fails, and is tried again. */
const char *fail_and_wake(void);
void begin(const struct sfid__lease_terms *terms);

/* The first claim is under way. */
void begin_open(const struct sfid__lease_terms *terms);
void begin_held(const struct sfid__lease_terms *terms);

/* With two windows: the pid was claimed and not renewed yet. */
void begin_first(uint64_t pid);

#endif
