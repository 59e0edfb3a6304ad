/* SPDX-License-Identifier: MIT */
/* faults.h - members of a fleet (fleet.h) whose server or network fails: what such tests share. */
#ifndef SFID_TESTS_FAULTS_H
#define SFID_TESTS_FAULTS_H

#include "support/fleet.h"

#define LAYOUT "39:8:16/10ms"

enum { SERVERS = 2, SLACK_MS = SANITIZED ? 4000 : 1500 }; /* SLACK_MS: what a loaded machine adds */

/* Lease settings of these tests: W, H and S in the documents. All processes of an app have the same. A sanitizer needs more time
   between two events whose order matters. */
enum { PACE = SANITIZED ? 2 : 1, WINDOW_MS = 3000 * PACE, HEARTBEAT_MS = 900 * PACE, BUDGET_MS = 1000 * PACE };
enum { EXCHANGE_MS = 500, UNIT_MS = 10, JITTER_MS = 1000 };

/* The same of a URL that has no timeout of its own, and so one of 2 s. */
enum { PATIENT_WINDOW_MS = 6000 * PACE };

/* How long a claim of an unknown pid may wait: until all earlier windows have ended, and the next attempt. */
enum { WAIT_MS = WINDOW_MS + BUDGET_MS + UNIT_MS, WAIT_MOST_MS = WAIT_MS + JITTER_MS };

/* Begins a test with LAYOUT and SERVERS servers at most. Returns the seed. */
uint64_t faults_begin(void);

/* Gives all logs to the checker if there was a server. Returns main()'s status. */
int faults_end(const char *what);

/* Returns options with the settings above. They point to app and store. */
sfid_options fault_options(const char *app, const char *store);

/* Makes a member named like its app. pid -1: any. */
struct member *member_at(const char *app, int64_t pid, const char *store, ...) __attribute__((format(printf, 3, 4)));

/*
 * Makes n members of the app "APP-NUMBER" at a server's socket. Each number has `pids` pids of its own, so that the checker can
 * see all at once. Their names are from `names`, or NULL: APP.
 */
struct member *members_at(const char *socket, const char *app, size_t number, size_t n, int64_t pids, const char *const *names);

/* Ends all. Returns how many did not end well. */
int members_end(struct member *all, size_t n);

/* Makes a symbolic link lead to another server's socket, for new connections. */
void lead_to(const char *link, const char *socket);

/* Closes all connections of clients to a server. */
void cut_clients(struct redis *r);

#endif
