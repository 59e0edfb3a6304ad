/* SPDX-License-Identifier: MIT */
/*
 * machine.h - the lease machine: what to do next about a pid.
 *
 * A pure function from state, event and time to state and actions: no clock,
 * thread or socket. The holder says what happened and what time it is, and
 * carries out the actions in order. A question to the store is always the last
 * action. Question and answer are one call of the store, so its outcome is the
 * next event. An answer that the caller no longer waits for ends in the store. If
 * it does not count for another reason, RESUME or COPIED comes instead.
 *
 * Uniqueness or progress depends on each of these rules. The test
 * tests/sh/lease-rules.test takes them out one by one (R11 and R12: lease-short.test).
 *
 *   R2  A renewal shows a new nonce, and shows the same one again until it is
 *       answered. So a lost answer loses nothing, and the store finds out the
 *       second of two copies of one machine.
 *   R3  Before the new nonce is sent, both nonces are noted where a restart
 *       finds them.
 *   R4  A limit is never lowered.
 *   R5  A lost pid's token is never shown again. The next claim has a fresh one.
 *   R6  A claim whose answer was lost is made again under the same token, so it
 *       takes one pid, not two. It has a nonce of its own, so the store does
 *       not take an attempt that arrives late for the one answered.
 *   R7  Release comes after the record is closed, and nothing follows one that
 *       may have been served. A store that has forgotten the pid, and says so, is
 *       shown the lease again, and then gets it back. No release comes if the
 *       last question failed: what the process leaves is worth more than a
 *       release of which nobody knows whether it arrived.
 *   R8  An impossible answer counts as none.
 *   R9  A restart renews what it found, under what it found, before it claims,
 *       and before its first ID. Only if no answer comes, and the window that it
 *       found is open, it goes on without.
 *   R10 No answer makes the machine ask over and over.
 *   R11 A renewal of a short pid may bring an ordinary one. From then on the old
 *       lease is never shown again, neither renewed nor released. IDs come from
 *       its record until the new one is published, at most up to its limit.
 *   R12 Once a stranger has the pid, its record is closed before anything else.
 *   R13 A copy of a machine that was resumed closes its record, and claims anew
 *       under a new token. It never shows the old one again, nor releases it:
 *       that may be the original's, which notices nothing.
 */
#ifndef SFID_LEASE_MACHINE_H
#define SFID_LEASE_MACHINE_H

#include "base/compiler.h"

#define SFID__FOREVER INT64_MAX

/* How a store wants its leases kept. Milliseconds are monotonic, ticks are of the layout. */
struct sfid__lease_terms {
    uint64_t window;       /* ticks that a renewal grants from now on */
    uint64_t first_window; /* the same of a claim, and of any grant of a short pid */
    /* one pid in so many, a power of two, is short: its low bits are all ones; 0: none is */
    uint64_t short_every;
    uint64_t end; /* first tick past the layout: a limit there needs no renewal */
    /* of a tick; 0: windows are counted by our clock, which uses them up */
    uint64_t unit_ms;
    /* how far ahead of our tick a granted limit may lie: window and clock skew; 0: any distance */
    uint64_t reach;
    uint64_t pid_min, pid_max;  /* inclusive */
    int64_t heartbeat_ms;       /* between renewals */
    int64_t first_heartbeat_ms; /* the same until the first renewal, and always with a short pid */
    int64_t retry_first_ms, retry_longest_ms;
    int64_t poll_least_ms, poll_most_ms; /* between claims while all pids are taken */
    bool rests;                          /* no renewal while no ID is, or can be, generated */
    /* only an answer gives a right to the pid, which others may have had since: a restart renews at
     * once */
    bool testifies;
};

/* Whether a pid is short: for newcomers, and granted for a first window each time. every:
 * short_every of the terms. */
static inline bool sfid__lease_is_short(uint64_t every, uint64_t pid) {
    return every != 0 && pid % every == every - 1;
}

/* Whether a nonce was made for a renewal, and not for a claim. */
static inline bool sfid__nonce_renews(uint64_t nonce) { return (nonce & 1) != 0; }

enum sfid__lease_state {
    SFID__LEASE_WANTED, /* no pid, or a lost one whose window is being used up */
    SFID__LEASE_HELD,
    SFID__LEASE_ENDED
};

struct sfid__lease {
    struct sfid__lease_terms terms;
    enum sfid__lease_state state;
    /* IDs could be generated once: from then on it keeps trying, whatever the store says */
    bool opened;
    /* R9: the window that was found was open. Counts until IDs can be generated */
    bool warm;
    bool releases;       /* ended: the question under way is a release */
    bool shown;          /* ended: the lease was shown again, R7 */
    bool lost;           /* the last pid was lost, and no LEASED_AGAIN was reported yet */
    bool told;           /* the current pid was reported */
    bool gave_up;        /* no questions any more, except a release */
    bool bare;           /* as in the event, until a renewal succeeds */
    bool fresh;          /* the limit is a claim's: it was not renewed yet */
    uint64_t pid, limit; /* of this lease, or of the lost one */
    uint64_t token;      /* the pid is held or claimed under it */
    uint64_t nonce;      /* last one answered */
    uint64_t next_nonce; /* shown but not answered; 0: none */
    uint64_t move_token; /* for an ordinary pid in place of a short one */
    uint64_t move_nonce;
    uint64_t start;     /* the pid that a claim looks at first */
    uint64_t position;  /* the word at the last renewal; ended: the first unused tick */
    int64_t due_ms;     /* when to act again */
    int64_t soonest_ms; /* no renewal earlier than due_ms before this */
    int64_t retry_ms;   /* pause after the last failure; 0: no failure */
};

/* ---- events ---------------------------------------------------------------- */

enum sfid__lease_event_kind {
    SFID__LEASE_OPEN, /* the caller wants a pid; start and random are set */
    /* a record was found or taken over: pid, limit, token, nonce, next_nonce, cold, warm, start */
    SFID__LEASE_RESUME,
    SFID__LEASE_WAKE,   /* time has passed, or the generator poked; position */
    SFID__LEASE_ANSWER, /* what the store has filled in: answer, and that answer's members */
    /* the grant has its record: limit, and whether the store knows that limit (sure) */
    SFID__LEASE_ADOPTED,
    SFID__LEASE_UNFIT, /* the grant could not get a record */
    /* this machine is a copy of the one that asked for the lease; no answer of before counts */
    SFID__LEASE_COPIED,
    /* the record is closed, and this process was the last to use it: position is the tick to give
     * back */
    SFID__LEASE_CLOSE
};

enum sfid__lease_answer {
    SFID__GRANTED,  /* claim: pid, floor, limit; renewal: limit */
    SFID__LATER,    /* claim: all pids are taken for now; after_ms (poll_most_ms at most), start */
    SFID__SWITCHED, /* renewal: an ordinary pid in place of the short one: pid, floor, limit */
    /* renewal: the pid is not ours any more, or not known; release: not known, and nothing was
     * written */
    SFID__LOST,
    /* the same, and somebody may issue from it already: a stranger, or who was granted it (R12) */
    SFID__FOREIGN,
    SFID__FAILED, /* no answer, or one that may differ next time */
    SFID__REFUSED /* trying again soon will not help */
};

struct sfid__lease_event {
    enum sfid__lease_event_kind kind;
    int64_t now_ms; /* monotonic */
    /* the first that may be issued from now on: the clock's, or the word's if that is ahead */
    uint64_t tick;
    uint64_t random[2]; /* fresh, never 0 */
    enum sfid__lease_answer answer;
    uint64_t pid, floor, limit;
    uint64_t token, nonce, next_nonce;
    uint64_t position; /* WAKE: the word; CLOSE: the first unused tick */
    uint64_t start;
    int64_t after_ms;
    bool poked, sure;
    bool cold; /* RESUME: no ID comes from the record yet */
    bool warm; /* and cold: its window is open */
    bool idle; /* the next position lies too far ahead of the clock to be issued now */
    bool bare; /* ADOPTED: the store's bound lies below the next position */

    /* ANSWER, granted: for the holder, which begins a record. */
    uint64_t bound; /* word: every position of this pid below it may have been issued */
    /* nonce of the page that last used the pid: any other is out of date. 0: not known */
    uint64_t page_nonce;
    bool exact;   /* the bound is where the pid was released, not a bound ahead of that */
    bool guessed; /* the bound is stored nowhere */
};

/* ---- actions --------------------------------------------------------------- */

enum sfid__lease_action_kind {
    SFID__DO_NOTE,   /* write nonce and next_nonce where a restart finds them */
    SFID__DO_ADOPT,  /* begin a record for pid, floor, limit under token; then ADOPTED */
    SFID__DO_EXTEND, /* raise the record's limit */
    SFID__DO_SHUT,   /* close the record */
    SFID__DO_TELL_LEASED,
    SFID__DO_TELL_LEASED_AGAIN,
    SFID__DO_TELL_RENEWED,
    SFID__DO_TELL_LOST,
    SFID__DO_TELL_FAILED,
    SFID__DO_CLAIM, /* ask: token, nonce, start; then ANSWER */
    /* ask: pid, token, nonce, next_nonce, limit, move_token, move_nonce, start; then ANSWER */
    SFID__DO_RENEW,
    /* ask: pid, token, nonce, next_nonce, limit, floor (the first unused tick); then ANSWER */
    SFID__DO_RELEASE,
    SFID__DO_GIVE_UP, /* no pid can be had: the store's error stands */
    SFID__DO_SLEEP    /* until due_ms, or a poke; then WAKE */
};

struct sfid__lease_action {
    enum sfid__lease_action_kind kind;
    uint64_t pid, token, nonce, next_nonce, floor, limit, start;
    uint64_t move_token, move_nonce; /* 0: no other pid is wanted */
    int64_t due_ms;

    /* What the holder adds to a question. */
    uint64_t now;        /* clock tick */
    uint64_t page_nonce; /* nonce of the page in use, if there is one */
    /* word of its record, if there is one: it may lie past the limit. RELEASE: the first that is
     * unused */
    uint64_t position;
    int64_t deadline_ms; /* monotonic: an answer after this counts as none */
    /* monotonic: no claim is made again from then on; SFID__FOREVER: sfid_open() has returned */
    int64_t give_up_ms;
    const _Atomic int *stop; /* not 0: the answer should come soon; may be NULL */
};

enum { SFID__LEASE_ACTIONS = 5 };

struct sfid__lease_actions {
    unsigned count;
    struct sfid__lease_action list[SFID__LEASE_ACTIONS];
};

/* Makes a machine that wants a pid. */
void sfid__lease_init(struct sfid__lease *lease, const struct sfid__lease_terms *terms);

/* True if the current window is a first one: by a claim, or of a short pid. */
bool sfid__lease_is_brief(const struct sfid__lease *lease);

/* Other keepers have renewed the pid, or are about to: these nonces, and this limit if it is
 * higher, are in force. */
void sfid__lease_follow(struct sfid__lease *lease, uint64_t nonce, uint64_t next_nonce,
                        uint64_t limit);

void sfid__lease_step(struct sfid__lease *lease, const struct sfid__lease_event *event,
                      struct sfid__lease_actions *out);

#endif
