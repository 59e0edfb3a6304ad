/* SPDX-License-Identifier: MIT */
/*
 * machine.h - the lease machine: what to do next about a pid.
 *
 * A pure function of state, event and time to state and actions. It has no
 * clock, no thread, no socket: whoever drives it says what happened and what
 * time it is, and carries out the actions in their order. What asks the store
 * something is always the last of them, and its outcome the next event.
 *
 * The rules it keeps, each of which uniqueness or going on hangs on
 * (tests/sh/lease-rules.test takes them out one by one):
 *
 *   R1  Only the answer to the exchange that is under way counts. One given up
 *       is never listened to again, whatever comes of it later.
 *   R2  A renewal goes out under a new nonce, and again under the same one
 *       until it was answered: a lost answer is no loss, and of two copies of
 *       one machine the second is found out.
 *   R3  Both nonces are noted where a restart finds them before the new one is
 *       sent.
 *   R4  A limit is never lowered.
 *   R5  A pid that was lost is never shown again: what comes after is claimed
 *       under a fresh token.
 *   R6  A claim whose answer was lost is made again under the same token, so
 *       that it leaves one pid taken, not two; and under a nonce of its own, so
 *       that an attempt served late is not taken for the one answered.
 *   R7  Release comes after the record is closed, once, and nothing after it.
 *   R8  An answer that is not possible is no answer.
 *   R9  What a restart finds is renewed under what it found, before anything
 *       is claimed.
 *   R10 No answer makes it ask over and over.
 */
#ifndef SFID_LEASE_MACHINE_H
#define SFID_LEASE_MACHINE_H

#include "base/compiler.h"

#define SFID__FOREVER INT64_MAX

/* How a store wants its leases kept. Milliseconds are of a monotonic clock, ticks of the layout. */
struct sfid__lease_terms {
    uint64_t window;           /* ticks: what a renewal grants from now on */
    uint64_t end;              /* first tick past the layout: a limit there needs no renewal */
    uint64_t reach;            /* ticks from ours that a limit granted may lie: window and skew of the clocks; 0: any */
    uint64_t pid_min, pid_max; /* inclusive */
    int64_t heartbeat_ms;      /* between renewals */
    int64_t retry_first_ms, retry_longest_ms;
    bool rests;     /* nothing is renewed while nothing is drawn, or can be */
    bool testifies; /* only an answer says whose the pid is: a restart renews at once, and the pid may have been another's since */
};

enum sfid__lease_state {
    SFID__LEASE_WANTED, /* no pid, or the window of a lost one is being used up */
    SFID__LEASE_HELD,
    SFID__LEASE_ENDED
};

struct sfid__lease {
    struct sfid__lease_terms terms;
    enum sfid__lease_state state;
    bool opened;         /* numbers could be drawn once: from then on it goes on trying, whatever the store says */
    bool lost;           /* the last pid was; nobody was told yet that there is another */
    bool told;           /* that a pid is held */
    bool gave_up;        /* nothing is asked any more, but a release */
    bool bare;           /* as in the event, until a renewal is granted */
    uint64_t pid, limit; /* of the lease, or of the lost one */
    uint64_t token;      /* what it is held or claimed under */
    uint64_t nonce;      /* last one answered */
    uint64_t next_nonce; /* shown and not answered; 0: none */
    uint64_t exchange;   /* number of the one under way; 0: none */
    uint64_t exchanges;  /* made so far */
    uint64_t start;      /* where a claim looks first */
    uint64_t position;   /* of the word at the last renewal */
    int64_t due_ms;      /* when to look again */
    int64_t soonest_ms;  /* no renewal ahead of due_ms before this */
    int64_t retry_ms;    /* pause after the next failure; 0: none failed */
};

/* ---- what happened --------------------------------------------------------- */

enum sfid__lease_event_kind {
    SFID__LEASE_OPEN,    /* a pid is wanted; start and random are set */
    SFID__LEASE_RESUME,  /* a record was found, or taken over: pid, limit, token, nonce, next_nonce, cold */
    SFID__LEASE_WAKE,    /* time has passed, or the generator asked (poked); position */
    SFID__LEASE_ANSWER,  /* exchange, answer, and what that says */
    SFID__LEASE_ADOPTED, /* the record of a grant is there: limit, and whether the store knows of it (sure) */
    SFID__LEASE_UNFIT,   /* there could be no record for the grant */
    SFID__LEASE_CLOSE    /* the record is closed and this process the last to use it: position is the tick to give back */
};

enum sfid__lease_answer {
    SFID__GRANTED, /* claim: pid, floor, limit; renewal: limit */
    SFID__LATER,   /* claim: every pid is taken for now; after_ms (a heartbeat at most), start */
    SFID__LOST,    /* renewal: not ours any more, or not known */
    SFID__FAILED,  /* no answer, or one to be tried again */
    SFID__REFUSED  /* trying again will not help soon */
};

struct sfid__lease_event {
    enum sfid__lease_event_kind kind;
    int64_t now_ms;     /* monotonic */
    uint64_t tick;      /* the first that may be drawn from now on: of the clock, or of the word where that is ahead */
    uint64_t random[2]; /* fresh, none 0 */
    uint64_t exchange;
    enum sfid__lease_answer answer;
    uint64_t pid, floor, limit;
    uint64_t token, nonce, next_nonce;
    uint64_t position; /* WAKE: the word; CLOSE: the first tick not used */
    uint64_t start;
    int64_t after_ms;
    bool poked, sure;
    bool cold; /* RESUME: nobody draws from it yet */
    bool idle; /* the next number lies too far ahead of the clock to be issued now */
    bool bare; /* ADOPTED: the store's bound lies below the next number */
};

/* ---- what to do ------------------------------------------------------------ */

enum sfid__lease_action_kind {
    SFID__DO_NOTE,   /* write nonce and next_nonce where a restart finds them */
    SFID__DO_ADOPT,  /* begin a record for pid, floor, limit under token; then ADOPTED */
    SFID__DO_EXTEND, /* raise the record's limit */
    SFID__DO_TELL_LEASED,
    SFID__DO_TELL_LEASED_AGAIN,
    SFID__DO_TELL_RENEWED,
    SFID__DO_TELL_LOST,
    SFID__DO_TELL_FAILED,
    SFID__DO_CLAIM,   /* ask: token, nonce, start; then ANSWER, or nothing */
    SFID__DO_RENEW,   /* ask: pid, token, nonce, next_nonce, limit; then ANSWER, or nothing */
    SFID__DO_RELEASE, /* ask: pid, token, nonce, next_nonce, floor (the first tick not used) */
    SFID__DO_GIVE_UP, /* there is no pid to be had: the store's error stands */
    SFID__DO_SLEEP    /* until due_ms, or a poke; then WAKE */
};

struct sfid__lease_action {
    enum sfid__lease_action_kind kind;
    uint64_t exchange, pid, token, nonce, next_nonce, floor, limit, start;
    int64_t due_ms;
};

enum { SFID__LEASE_ACTIONS = 5 };

struct sfid__lease_actions {
    unsigned count;
    struct sfid__lease_action list[SFID__LEASE_ACTIONS];
};

/* A machine that wants a pid. */
void sfid__lease_init(struct sfid__lease *lease, const struct sfid__lease_terms *terms);

/* One step. */
void sfid__lease_step(struct sfid__lease *lease, const struct sfid__lease_event *event, struct sfid__lease_actions *out);

#endif
