/* SPDX-License-Identifier: MIT */
/** trial_parts.h - between trial.c, trial_look.c, trial_process.c and trial_work.c. */
#ifndef SFID_TESTS_TRIAL_PARTS_H
#define SFID_TESTS_TRIAL_PARTS_H

#include "support/trial.h"

/* Rounds of the work in one process: what grows from the last but one to the last grows for
 * ever. */
enum { TRIAL_ROUNDS = 4, TRIAL_IDS = 400 };

/* A process that waits for one thing for longer says so itself, before it is ended. */
enum { TRIAL_LIMIT_MS = 4 * TAP_WAIT_MS };

/* Shared by the processes of a trial. */
struct trial_state {
    struct inject_shared inject; /* first: all of it */
    _Atomic int ids_count;
    int64_t ids[TRIAL_IDS]; /* of both processes */
    char wrong[4000];       /* complaints */
    char had[400];          /* the neighbour's last error */
    /* the error of the work, or of the first failed renewal */
    char said[400];
    struct inject_live round[TRIAL_ROUNDS];    /* what the library had after each round */
    uint32_t most[INJECT_SIDES][INJECT_KINDS]; /* calls in a round */
    uint32_t hits, failed;                     /* failed: rounds in which the open did */
    _Atomic int reported_failures, parent_left;
    bool survived; /* the work went well although a call failed */
};
extern struct trial_state *trial_state;

/* Which trial it is. */
struct trial_now {
    const struct scenario *s;
    enum trial_work work;
    unsigned number;
    char run[120], home[120], app[40];
    struct inject_live good[TRIAL_ROUNDS]; /* if no call failed */
    bool is_good;                          /* no call fails */
    bool was_bad;                          /* an earlier trial */
    /* that the keeper of a parent had open at the fork: the child cannot know of them */
    int inherited_fds;
};
extern struct trial_now trial_now;

void trial_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool trial_is_verbose(void);

/* In either process: the calls of the library, as inject.h counts them; time goes on at the server,
 * too. */
int trial_open(sfid **g, const char *app, uint32_t timeout_ms);
void trial_close(sfid *g);
int64_t trial_next(sfid *g);
void trial_pass_ms(int64_t ms);

/* Some IDs; the clock goes on while a mark is ahead of it. Complains if there is none in time. */
void trial_draw(sfid *g, const char *who);

/* What is there before a failure, and has to be all there is after it. */
struct trial_had {
    int fds, threads;
};
struct trial_had trial_has(void);

/* Waits for what has to come, or shortly if an earlier trial went wrong. */
bool trial_wait(bool (*cond)(void *arg), void *arg);

/* Complains of descriptors and threads that were not there. A keeper has files open now and then,
 * and threads take a while to go. */
void trial_same(const struct trial_had *had, const char *when);

/* Complain of descriptors that were not there; of files that only a maker sees; at the end, of all
 * that is left. */
void trial_same_fds(int had, const char *when);
void trial_look_at_files(void);
void trial_look_around(int fds);

/* The process with the failing call, for child_run(). */
int trial_run(void *unused);

#endif
