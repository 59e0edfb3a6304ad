/* SPDX-License-Identifier: MIT */
/**
 * sfid/event.h - what a generator reports to opt.on_event.
 *
 * The list is the only source of the kinds, their numbers and the names of
 * sfid_event_name(). An entry has the name, the number, what happened, and what
 * the event's value is ("": it is 0). Numbers are fixed; later versions add more.
 */
#ifndef SFID_EVENT_H
#define SFID_EVENT_H

#include "layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SFID_EVENT_LIST(X) \
    X(LEASED, 1, "a pid is held", "") \
    X(RENEWED, 2, "the window was extended", "milliseconds left in it") \
    X(RENEW_FAILED, 3, "a renewal failed and will be retried", "") \
    X(REGRESSION, 4, "the clock stepped back by more than a second", "milliseconds of the largest step so far") \
    X(EXHAUSTED, 5, "calls waited or failed because the sequence was used up", "calls since the last such event") \
    X(NOT_TMPFS, 6, "the run directory is not on a tmpfs: calls may stall on writeback", "") \
    X(END_OF_LIFE, 7, "the layout ends within 5 years", "milliseconds left") \
    X(SLOT_REPLACED, 8, "the slot file could not be used and was replaced; the text says why", "") \
    X(LOST, 9, "the pid is no longer held; the rest of its window may be used, and the keeper claims another pid", "") \
    X(LEASED_AGAIN, 10, "a pid is held again after a loss, or an ordinary one in place of a short one", "") \
    X(NOT_DURABLE, 11, "the mark is not synced (local?mark=none): after a power loss IDs may repeat", "") \
    X(CONNECTED, 12, "the store's server answers", "milliseconds that the answer took, including connecting") \
    X(DISCONNECTED, 13, "the store's server no longer answers", "") \
    X(FAILOVER, 14, "another server answers, or the server has forgotten the app", "") \
    X(SKEW, 15, "the clocks of host and server differ by over a second, or agree again", "milliseconds that the host is ahead") \
    X(UNREPLICATED, 16, "fewer replicas have a claim than replicas=N in the URL requires", "replicas known to have it") \
    X(UNUSABLE, 17, "pids were passed over because their files cannot be used; the text names one", "pids passed over") \
    X(NO_STATE_DIR, 18, "no state directory can be used: this host's identity lives in the run directory", "") \
    X(FOREIGN, 19, "a program that keeps no record has registered a pid, and registration=mixed is not set", "the pid") \
    X(KEEPS, 20, "this process now extends the window that processes share, until another one does", "") \
    X(UNTRUSTED, 21, "others can put another directory in the place of the run or the state directory; the text says how", "") \
    X(LEFT, 22, "a close could not give the pid back: a process that starts here within its window goes on with it", "")

/** The kinds: SFID_EVENT_LEASED = 1, SFID_EVENT_RENEWED = 2, and so on down the list. */
typedef enum sfid_event_kind {
#define SFID__EVENT_KIND(name, number, text, value) SFID_EVENT_##name = (number),
    SFID_EVENT_LIST(SFID__EVENT_KIND)
#undef SFID__EVENT_KIND
} sfid_event_kind;

/** One more than the highest kind of this version: the size of an array by kind. */
enum {
#define SFID__EVENT_ONE(name, number, text, value) +1
    SFID_EVENT_KINDS = 1 SFID_EVENT_LIST(SFID__EVENT_ONE)
#undef SFID__EVENT_ONE
};

/** One event. The event and its strings are valid during the callback only. */
typedef struct sfid_event {
    sfid_event_kind kind;
    int code;         /**< if something failed, why: SFID_E…; else 0 */
    int64_t pid;      /**< the pid held, or -1 */
    int64_t value;    /**< as SFID_EVENT_LIST says, or 0 */
    const char *text; /**< one sentence for the operator */
    const char *app;  /**< the generator's app, as in its options, or NULL */
} sfid_event;

/**
 * The name of a kind: "LEASED" for SFID_EVENT_LEASED.
 *
 * Returns a static text; NULL for a kind that this version does not know.
 * Threads: any. Fork: safe. Signals: async-safe.
 */
SFID_API const char *sfid_event_name(sfid_event_kind kind);

#ifdef __cplusplus
}
#endif

#endif
