/* SPDX-License-Identifier: MIT */
/* faults.h - members of a fleet (fleet.h) whose server or network fails: what such tests share. */
#ifndef SFID_TESTS_FAULTS_H
#define SFID_TESTS_FAULTS_H

#include "support/fleet.h"

#define LAYOUT "39:8:16/10ms"

enum { SERVERS = 2 };

/*
 * Lease settings of these tests: W, H and S in the documents. All processes of an app have the
 * same. WINDOW_MS is for tests in which a window ends, or somebody waits for that. Where none may
 * end, it lasts longer than any machine stands still.
 */
enum { WINDOW_MS = 3000, LONG_WINDOW_MS = 600000, HEARTBEAT_MS = 900, BUDGET_MS = 1000 };
enum { EXCHANGE_MS = 500, UNIT_MS = 10, JITTER_MS = 1000 };

/* What nobody has to wait for: an open or a close at a server that answers, the next ID. */
enum { AT_ONCE_MS = 500 };

/* Windows, heartbeats, budgets and the timeout of members_at() are so many times as long: 1, but
 * see play(). */
extern int pace;

/* How long a claim of an unknown pid may wait: until all earlier windows have ended, and the next
 * attempt. */
int64_t wait_most_ms(void);

/* Begins a test with LAYOUT and SERVERS servers at most. Returns the seed. */
uint64_t faults_begin(void);

/* Gives all logs to the checker if there was a server. Returns main()'s status. */
int faults_end(const char *what);

/* Returns options with a long window and without short pids. They point to app and store. An open
 * has all the time it needs. */
sfid_options fault_options(const char *app, const char *store);

/* Makes a member named like its app. pid: from 1; -1: any. */
struct member *member_at(const char *app, int64_t pid, const char *store, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Makes n members of the app "APP-NUMBER-PACE" at a server's socket, with the windows above. Each
 * number has `pids` pids of its own, so that the checker can see all at once. Their names are from
 * `names`, or NULL: APP.
 */
struct member *members_at(const char *socket, const char *app, size_t number, size_t n,
                          int64_t pids, const char *const *names);

/* Ends all. Returns how many did not end well. */
int members_end(struct member *all, size_t n);

/* Makes a symbolic link lead to another server's socket, for new connections. */
void lead_to(const char *link, const char *socket);

/* Closes all connections of clients to a server. */
void cut_clients(struct redis *r);

/* ---- scenes that a late machine spoils --------------------------------------- */

/*
 * Plays a scene that rests on windows which last, and makes its checks by note() and its like. If
 * the machine came too late for it, the scene is played again with windows twice as long, at most
 * four times. That is so if it was called off, or if one of its checks failed and the machine stood
 * still for longer than windows have to spare. The checks of the last play count. IDs are judged in
 * each.
 */
void play(void (*scene)(void), const char *what);

/* As ok(), is_i64(), in_time() and lasted(). */
void note(bool cond, const char *name, ...) TAP_PRINTF(2, 3);
void note_i64(int64_t got, int64_t want, const char *name, ...) TAP_PRINTF(3, 4);
void note_in_time(struct took took, int64_t limit_ms, const char *name, ...) TAP_PRINTF(3, 4);
void note_lasted(struct took took, int64_t least_ms, const char *name, ...) TAP_PRINTF(3, 4);

/* How long to wait for what has to come: TAP_WAIT_MS, but little once a check has failed. */
unsigned scene_wait_ms(void);

/* Lets a member go on which was stopped for less than a window: that has to have the budget left,
 * or the scene is off. */
void member_go_on_in_time(const struct member *m);

#endif
