/* SPDX-License-Identifier: MIT */
/**
 * sfid/event.h - what a generator reports to opt.on_event.
 *
 * The list is the only source of the kinds, their numbers and the names of
 * sfid_event_name(). An entry has the name, the number, how grave it is as a
 * level of syslog(3), what happened, and what the event's value is ("": it is
 * 0). Numbers are fixed; later versions add more.
 */
#ifndef SFID_EVENT_H
#define SFID_EVENT_H

#include "layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SFID_EVENT_LIST(X) \
    X(LEASED, 1, INFO, "a pid is held", "") \
    X(RENEWED, 2, INFO, "the window was extended", "milliseconds left in it") \
    X(RENEW_FAILED, 3, WARNING, "a renewal failed and will be retried", "") \
    X(REGRESSION, 4, WARNING, "the clock stepped back by more than a second", \
      "milliseconds of the largest step so far") \
    X(EXHAUSTED, 5, WARNING, "calls waited or failed because the sequence was used up", \
      "calls since the last such event") \
    X(NOT_TMPFS, 6, WARNING, "the run directory is not on a tmpfs: calls may stall on writeback", \
      "") \
    X(END_OF_LIFE, 7, WARNING, "the layout ends within 5 years", "milliseconds left") \
    X(SLOT_REPLACED, 8, WARNING, \
      "the slot file could not be used and was replaced; the text says why", "") \
    X(LOST, 9, WARNING, \
      "the pid is no longer held; the rest of its window may be used, and the keeper claims another pid", \
      "") \
    X(LEASED_AGAIN, 10, NOTICE, \
      "a pid is held again after a loss, or an ordinary one in place of a short one", "") \
    X(NOT_DURABLE, 11, WARNING, \
      "the mark is not synced (local?mark=none): after a power loss IDs may repeat", "") \
    X(CONNECTED, 12, INFO, "the store's server answers", \
      "milliseconds that the answer took, including connecting") \
    X(DISCONNECTED, 13, WARNING, "the store's server no longer answers", "") \
    X(FAILOVER, 14, WARNING, "another server answers, or the server has forgotten the app", "") \
    X(SKEW, 15, WARNING, "the clocks of host and server differ by over a second, or agree again", \
      "milliseconds that the host is ahead") \
    X(UNREPLICATED, 16, WARNING, \
      "fewer replicas have a claim than replicas=N in the URL requires", \
      "replicas known to have it") \
    X(UNUSABLE, 17, WARNING, \
      "pids were passed over because their files cannot be used; the text names one", \
      "pids passed over") \
    X(NO_STATE_DIR, 18, WARNING, \
      "no state directory can be used: this host's identity lives in the run directory", "") \
    X(FOREIGN, 19, ERR, \
      "a program that keeps no record has registered a pid, and registration=mixed is not set", \
      "the pid") \
    X(KEEPS, 20, INFO, \
      "this process now extends the window that processes share, until another one does", "") \
    X(UNTRUSTED, 21, WARNING, \
      "others can put another directory in the place of the run or the state directory; the text says how", \
      "") \
    X(LEFT, 22, NOTICE, \
      "a close could not give the pid back: a process that starts here within its window goes on with it", \
      "")

/** The kinds: SFID_EVENT_LEASED = 1, SFID_EVENT_RENEWED = 2, and so on down the list. */
typedef enum sfid_event_kind {
#define SFID__EVENT_KIND(name, number, level, text, value) SFID_EVENT_##name = (number),
    SFID_EVENT_LIST(SFID__EVENT_KIND)
#undef SFID__EVENT_KIND
} sfid_event_kind;

/** One more than the highest kind of this version: the size of an array by kind. */
enum {
#define SFID__EVENT_ONE(name, number, level, text, value) +1
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

/**
 * How grave a kind is, as a level of syslog(3) (RFC 5424, 6.2.1): 3 (LOG_ERR) somebody has to act,
 * 4 (LOG_WARNING) somebody has to look, 5 (LOG_NOTICE), 6 (LOG_INFO). -1 for a kind that this
 * version does not know. Threads: any. Fork: safe. Signals: async-safe.
 */
SFID_API int sfid_event_level(sfid_event_kind kind);

/**
 * Two functions for opt.on_event. Each writes a line for each event:
 *
 *     sfid: LOST: pid 3 of app "orders": the lease of pid 3 is no longer known to the server
 *
 * sfid_event_to_stderr writes it to standard error, in one write(2); sfid_event_to_syslog gives it
 * to syslog(3), by sfid_event_level() and with what openlog(3) has set, and without the first word.
 * user (opt.user) is a text in place of that word, such as the program's name, which outlives the
 * generator; NULL: "sfid".
 *
 * If standard error or the log cannot take the line, it is lost; one that is full keeps the thread
 * of events waiting, but no call. Neither causes SIGPIPE or SIGXFSZ. Threads: any. Fork: safe.
 * Signals: not safe.
 */
SFID_API void sfid_event_to_stderr(void *user, const sfid_event *event);
SFID_API void sfid_event_to_syslog(void *user, const sfid_event *event);

#ifdef __cplusplus
}
#endif

#endif
