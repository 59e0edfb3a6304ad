/* SPDX-License-Identifier: MIT */
/**
 * sfid/options.h - how a generator is opened.
 */
#ifndef SFID_OPTIONS_H
#define SFID_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "layout.h"
#include "wide.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a call does when the sequence of the current tick is used up. */
typedef enum sfid_exhaustion {
    SFID_WAIT = 0, /**< sleep until the tick of the next free ID begins, at most max_wait_ms */
    SFID_BORROW,   /**< issue IDs ahead of the clock, by at most max_ahead_ms; beyond that act as
                        SFID_WAIT */
    SFID_FAIL      /**< return SFID_EAGAIN */
} sfid_exhaustion;

/** What sfid_open() does when Redis does not know the app, or when a pid of "ordinal:" has no
 * mark. */
typedef enum sfid_on_unknown {
    SFID_WAIT_OUT = 0, /**< wait until every window that may have been granted before has ended */
    SFID_TRUST         /**< treat the app as new: no process of it ("ordinal:": of the pid) is
                            running anywhere. sfid_open() says so to the servers that it asks; a
                            server of a pool that is asked later is not told */
} sfid_on_unknown;

/**
 * The members of sfid_options in their order. P: a pointer, by default NULL. N:
 * a number, with its type, default, least and most; most 0: it has no bound, or
 * the member's description has it. Last come the kinds of stores in which the
 * option counts; "fixed" is a pid without a store, "all" is each of them.
 */
#define SFID_OPTION_LIST(N, P) \
    P(app, "all") \
    P(store, "local ordinal redis pool") \
    N(pid, int64_t, -1, 0, 0, "fixed") \
    N(pid_min, int64_t, 0, 0, 0, "local ordinal redis pool") \
    N(pid_max, int64_t, 0, 0, 0, "local ordinal redis pool") \
    P(layout, "all") \
    P(run_dir, "all") \
    P(state_dir, "all") \
    N(exhaustion, sfid_exhaustion, SFID_WAIT, 0, 0, "all") \
    N(max_wait_ms, uint32_t, 2000, 0, 0, "all") \
    N(max_ahead_ms, uint32_t, 10000, 0, 86400000, "all") \
    N(random_start, uint64_t, 0, 0, 0, "all") \
    N(ttl_ms, uint32_t, 600000, 1000, 86400000, "redis pool") \
    N(heartbeat_ms, uint32_t, 180000, 100, 0, "redis pool") \
    N(open_timeout_ms, uint32_t, 5000, 1, 0, "all") \
    N(max_skew_ms, uint32_t, 300000, 0, 0, "redis pool") \
    N(skew_budget_ms, uint32_t, 15000, 0, 3600000, "ordinal redis pool") \
    N(on_unknown, sfid_on_unknown, SFID_WAIT_OUT, 0, 0, "ordinal redis pool") \
    P(on_event, "all") \
    P(user, "all") \
    P(wide, "all") \
    N(short_ms, uint32_t, 30000, 0, 0, "redis pool") \
    N(keep_pid, uint32_t, 0, 0, 1, "redis pool") \
    N(share, uint64_t, 0, 0, 2, "all")

/**
 * Options of sfid_open(). Start from SFID_OPTIONS_INIT, which sets every member
 * to its default. The size tells the library which version of this struct it
 * reads. sfid_open() copies strings and layouts; they need not outlive the call.
 * Times, numbers and switches have their defaults and bounds in SFID_OPTION_LIST.
 */
typedef struct sfid_options {
    size_t size;                /**< sizeof(sfid_options), set by SFID_OPTIONS_INIT */
    const char *app;            /**< names the pid space: 1 to 64 of [A-Za-z0-9_.{}-], no dot first.
                                     May be NULL only with pid and without store; IDs are then
                                     unique only within this process and this copy of the library,
                                     see sfid_open() */
    const char *store;          /**< where pids are leased, see sfid_open(); NULL with pid, and only
                                     then */
    int64_t pid;                /**< -1 (default): lease a pid; else this pid, fixed by the
                                     caller */
    int64_t pid_min, pid_max;   /**< the pids to lease from, both inclusive. Both 0 (default): all
                                     pids of the layout, or of a preset from the first that its
                                     makers use (icicle: 1). The store may name the range instead,
                                     see sfid_open() */
    const sfid_layout *layout;  /**< NULL: SFID_LAYOUT_DEFAULT */
    const char *run_dir;        /**< directory of slot files; NULL: $SFID_RUN_DIR, else
                                     /dev/shm/sfid-UID */
    const char *state_dir;      /**< directory of locks and durable marks; NULL: $SFID_STATE_DIR,
                                     else $STATE_DIRECTORY, else /var/lib/sfid for root,
                                     ~/.local/state/sfid for others. A Redis store works without it,
                                     see SFID_EVENT_NO_STATE_DIR */
    sfid_exhaustion exhaustion; /**< what a call does when the sequence is used up */
    uint32_t max_wait_ms;       /**< how long one call may sleep in all; 0: it never sleeps. With
                                     SFID_WAIT at least one tick */
    uint32_t max_ahead_ms;      /**< how far ahead of the clock a tick may be begun (SFID_BORROW,
                                     clock steps); 0: not at all. Whatever it says, calls may use up
                                     the highest tick that the clock has shown, however far the
                                     clock goes back, and so may the next process if the page is
                                     there. A server's clock that is ahead counts as the clock. A
                                     page that processes share without a server is ahead by half of
                                     max_ahead_ms and lead_ms together at most */
    uint64_t random_start;      /**< 0 (default): each tick starts at sequence 0. N: each tick
                                     starts at a random sequence below N, so that low bits spread at
                                     low rates; at most half the sequence */
    uint32_t ttl_ms;            /**< how long a lease from Redis lasts without renewal */
    uint32_t heartbeat_ms;      /**< how often a lease is renewed: at most ttl_ms / 3 */
    uint32_t open_timeout_ms;   /**< how long sfid_open() may wait for a lease */
    uint32_t max_skew_ms;       /**< how far this host's clock may be from that of Redis, but never
                                     more than half of ttl_ms. 0 means that half */
    uint32_t skew_budget_ms;    /**< how far an app's servers' clocks (ordinal: hosts') may differ,
                                     and how long a superseded server may go on granting. An app's
                                     processes need the same value */
    sfid_on_unknown on_unknown; /**< when Redis does not know the app, or ordinal: has no mark */
    void (*on_event)(void *user, const sfid_event *event); /**< NULL, or called for each event, in
                                     order, from a background thread of this generator only (share:
                                     of each of its pages, in order for each). It may call
                                     sfid_status, sfid_parse and sfid_next, but not sfid_open;
                                     sfid_close of this generator does nothing there. A robust mutex
                                     (pthread_mutexattr_setrobust) that it locks is not handed on if
                                     the process is killed meanwhile */
    void *user;                                            /**< passed to on_event */
    const sfid_wide_layout *wide; /**< NULL, or in place of layout: a layout of IDs of up to 128
                                     bits, which sfid_next_wide() and its siblings generate, see
                                     wide.h */
    uint32_t short_ms;            /**< how long a claim from Redis lasts until its first renewal,
                                     and each grant of a short pid (one in eight). 0: a claim lasts
                                     ttl_ms, and there are no short pids. New processes get a short
                                     pid short_ms + skew_budget_ms after the server has forgotten
                                     the app. Has no effect below two ticks, above half of ttl_ms,
                                     with fewer than 5 pid bits or with registration=mixed. All
                                     processes of an app need the same value */
    uint32_t keep_pid;            /**< 0 (default): the holder of a short pid takes an ordinary one
                                     at its next renewal, if one is free. 1: it keeps the short one,
                                     for programs that use the pid for more than these IDs */
    uint64_t share;               /**< 0 (default): a pid of its own. 1: all processes of this user
                                     on this host that open the app with share generate from one
                                     page, under one pid; if it is used up, from up to four, each
                                     with a pid. Needs an app; with a server all need the same
                                     settings. Threads of two pages may call on_event at once. 2:
                                     joins a page that a process with 1 keeps. It starts no thread
                                     and takes no on_event; when no process with 1 has that page any
                                     more, IDs end with the window. Where pids are not scarce, 0 is
                                     better: the processes of a page have one pid's rate together, a
                                     call costs a tenth to half as much again, a stray write into
                                     the page hits all, and neither pid nor sfid_status tells them
                                     apart (doc/stores.md) */
} sfid_options;

#define SFID__OPTION_N(name, type, initial, least, most, stores) , initial
#define SFID__OPTION_P(name, stores) , SFID__NULL
#define SFID_OPTIONS_INIT \
    { sizeof(sfid_options) SFID_OPTION_LIST(SFID__OPTION_N, SFID__OPTION_P) }

#ifdef __cplusplus
}
#endif

#endif
