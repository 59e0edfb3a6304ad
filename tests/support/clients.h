/* SPDX-License-Identifier: MIT */
/*
 * clients.h - processes that lease from a server through the public library, and draw; what each of them lives through.
 *
 * A struct client is what a test and one such process share: the settings before it starts, then how long it took to open,
 * its pid, its events, its errors, and the longest time between two IDs. All IDs are logged for tests/checker. A client ends
 * when it is told to, closing its handle; or dies.
 */
#ifndef SFID_TESTS_CLIENTS_H
#define SFID_TESTS_CLIENTS_H

#include "support/proc.h"
#include "support/redis.h"

#define LAYOUT "39:8:16/10ms"

enum { EVENT_KINDS = 32, LOG_IDS = 1 << 20, SLACK_MS = SANITIZED ? 4000 : 1500 }; /* SLACK_MS: what a loaded machine adds */

/* Lease settings of these tests: W, H and S of the documents. They are the same for all of an app. */
enum { WINDOW_MS = 3000, HEARTBEAT_MS = 900, BUDGET_MS = 1000, EXCHANGE_MS = 500, UNIT_MS = 10, JITTER_MS = 1000 };

/* How long a claim of an unknown pid may have to wait: until every window granted before has ended, and until it looks again. */
enum { WAIT_MS = WINDOW_MS + BUDGET_MS + UNIT_MS, WAIT_MOST_MS = WAIT_MS + JITTER_MS };

struct client {
    char store[300], app[40], log[64];
    uint32_t ttl_ms, heartbeat_ms, budget_ms, open_timeout_ms, max_skew_ms;
    bool trust;
    int64_t pid_min, pid_max;
    const char *layout; /* NULL: LAYOUT */
    pid_t process;      /* 0: none */
    int starts;

    _Atomic int opened; /* 0: not yet; 1: it is; else the code that it failed with */
    _Atomic int end, closed;
    _Atomic int64_t open_ms, close_ms, pid, ids, gap_ms, errors, last_error, first_lead_ms;
    _Atomic int events[EVENT_KINDS];
    _Atomic int failed_code; /* of the last SFID_EVENT_RENEW_FAILED; then its text is there */
    char failed_text[600], error[600];
};

sfid_options client_options(struct client *m, const sfid_layout *l);

/* Zeroed memory for n of them, shared with their processes. */
struct client *clients_make(size_t n);

/* The settings of these tests; the server by its socket. */
void client_set(struct client *m, const char *socket, const char *app, const char *log);
void client_start(struct client *m);
bool client_has_opened(void *arg);

/* Waits until it holds a pid. False, with a remark, when it does not come to that. */
bool client_opened(struct client *m, unsigned limit_ms);
void client_start_or_bail(struct client *m);

struct client_wait {
    struct client *m;
    sfid_event_kind kind;
    int64_t want;
};

/* Waits until it has had that many more events of a kind than there were so far. */
bool client_event_after(struct client *m, sfid_event_kind kind, int before, int more, unsigned limit_ms);

/* Waits until an event tells of a renewal that failed like this. One that was under way may fail otherwise, before. */
bool client_told(struct client *m, int failed, int code, const char *words, const char *server);
int client_events(const struct client *m, sfid_event_kind kind);

/* Waits until it has drawn so many more IDs. */
bool client_draws(struct client *m, int64_t more, unsigned limit_ms);

/* From here on gaps and errors count. */
void client_forget_gaps(struct client *m);

/* Ends it by its own close; how that went: the exit status. */
int client_end(struct client *m);
void client_kill(struct client *m);
void client_stop(const struct client *m);
void client_go_on(const struct client *m);

#endif
