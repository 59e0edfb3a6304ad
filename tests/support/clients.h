/* SPDX-License-Identifier: MIT */
/*
 * clients.h - processes that lease from a server through the public library and generate IDs, and what happens to them.
 *
 * A struct client is shared by the test and one process. It has the settings, and then the time the open took, the pid, events,
 * errors, and the longest time between two IDs. All IDs are logged for tests/checker. A client closes its handle and ends when
 * it is told to, or it is killed.
 */
#ifndef SFID_TESTS_CLIENTS_H
#define SFID_TESTS_CLIENTS_H

#include "support/proc.h"
#include "support/redis.h"

#define LAYOUT "39:8:16/10ms"

enum { EVENT_KINDS = 32, LOG_IDS = 1 << 20, SLACK_MS = SANITIZED ? 4000 : 1500 }; /* SLACK_MS: what a loaded machine adds */

/* Lease settings of these tests: W, H and S in the documents. All processes of an app have the same. */
enum { WINDOW_MS = 3000, HEARTBEAT_MS = 900, BUDGET_MS = 1000, EXCHANGE_MS = 500, UNIT_MS = 10, JITTER_MS = 1000 };

/* How long a claim of an unknown pid may wait: until all earlier windows have ended, and the next attempt. */
enum { WAIT_MS = WINDOW_MS + BUDGET_MS + UNIT_MS, WAIT_MOST_MS = WAIT_MS + JITTER_MS };

struct client {
    char store[300], app[40], log[64];
    uint32_t ttl_ms, heartbeat_ms, budget_ms, open_timeout_ms, max_skew_ms;
    bool trust;
    int64_t pid_min, pid_max;
    const char *layout; /* NULL: LAYOUT */
    pid_t process;      /* 0: none */
    int starts;

    _Atomic int opened; /* 0: not yet; 1: open; otherwise the error code */
    _Atomic int end, closed;
    _Atomic int64_t open_ms, close_ms, pid, ids, gap_ms, errors, last_error, first_lead_ms;
    _Atomic int events[EVENT_KINDS];
    _Atomic int failed_code; /* of the last SFID_EVENT_RENEW_FAILED; its text is set before */
    char failed_text[600], error[600];
};

sfid_options client_options(struct client *m, const sfid_layout *l);

/* Returns zeroed memory for n clients, shared with their processes. */
struct client *clients_make(size_t n);

/* Sets these tests' settings; the server is reached by its socket. */
void client_set(struct client *m, const char *socket, const char *app, const char *log);
void client_start(struct client *m);
bool client_has_opened(void *arg);

/* Waits until the client holds a pid. Returns false, with a diagnostic, if it does not. */
bool client_opened(struct client *m, unsigned limit_ms);
void client_start_or_bail(struct client *m);

struct client_wait {
    struct client *m;
    sfid_event_kind kind;
    int64_t want;
};

/* Waits until the client has had `more` events of a kind beyond `before`. */
bool client_event_after(struct client *m, sfid_event_kind kind, int before, int more, unsigned limit_ms);

/* Waits for an event that reports this renewal failure. An earlier renewal under way may fail differently. */
bool client_told(struct client *m, int failed, int code, const char *words, const char *server);
int client_events(const struct client *m, sfid_event_kind kind);

/* Waits until the client has generated this many more IDs. */
bool client_draws(struct client *m, int64_t more, unsigned limit_ms);

/* Starts counting gaps and errors anew. */
void client_forget_gaps(struct client *m);

/* Has the client close its handle and end. Returns its exit status. */
int client_end(struct client *m);
void client_kill(struct client *m);
void client_stop(const struct client *m);
void client_go_on(const struct client *m);

#endif
