/* SPDX-License-Identifier: MIT */
/*
 * walk.h - the world of lease_walk.c: who is in it, what has to hold there.
 *
 * Owners of pids, each a lease machine with a page that outlives it; one
 * store of two servers, of which one is master; and between them a network
 * that loses, holds back and spoils what it carries. All of it is one run of
 * pseudorandom numbers: the same seed makes the same walk.
 *
 * A question and its answer are one call: meanwhile numbers are drawn, time passes
 * and the process may end, but its machine hears nothing else. A question that was
 * given up may be served later still. Its answer ends in the network.
 *
 * Tokens and nonces are made of a counter and random bits below it, so that
 * the walk can tell which of two is older. The machine cannot.
 */
#ifndef SFID_TESTS_WALK_H
#define SFID_TESTS_WALK_H

#include "lease/machine.h"
#include "support/tap.h"

#include <stdarg.h>

enum {
    OWNERS = 8, /* places: owners and their copies */
    PIDS = 8,
    MESSAGES = 48,
    LEASES = 4096,
    TICKS = 1 << 15,
    COUNTERS = 1 << 18,
    SEQUENCE = 4, /* numbers of a tick */
    UNIT_MS = 100,
    TRACES = 48
};

/* ---- what has to hold ------------------------------------------------------ */

#define WALK_CHECKS(X) \
    X(DRAWN_TWICE, "no tick of a pid is drawn from under two leases") \
    X(OVERLAP, "windows of one pid that can still be drawn from do not overlap") \
    X(WORD_BACK, "the word of a lease never goes back") \
    X(NOT_GRANTED, "nothing is adopted that the store did not grant") \
    X(LIMIT_DOWN, "the limit of a record never goes down") \
    X(FALSE_LOST, "nobody is told that a pid is lost who did all to keep it") \
    X(LOST_UNHEARD, "no pid counts as lost but by the answer to its renewal") \
    X(TWO_TAKEN, "a claim made again leaves one pid taken") \
    X(SENT_AFTER_RELEASE, "nothing is sent after a release") \
    X(RELEASED_TWICE, "a pid is released once, and only while it is held") \
    X(LOST_TOKEN, "the token of a lost pid is not shown again") \
    X(BOTH_RENEWED, "of two copies of one owner one is renewed") \
    X(RESTART, "what a restart finds is renewed before anything is claimed") \
    X(RESUMED, \
      "a copy that notices what it is closes its record, and shows nothing that the other copy has") \
    X(STRANGER, "who hears of a stranger closes the record before anything else") \
    X(TOLD, "leased, renewed, lost, leased again are told in that order") \
    X(GIVEN_UP, "nobody gives up who had a pid, or goes on claiming after giving up") \
    X(TOO_OFTEN, "the store is not asked over and over") \
    X(LIVENESS, "once all behaves, everyone has a pid soon")

#define AS_NAME(name, text) name,
enum check { NOTHING_BROKEN, WALK_CHECKS(AS_NAME) CHECKS };
#undef AS_NAME

#define AS_TEXT(name, text) [name] = text,
static const char *const check_text[CHECKS] = {WALK_CHECKS(AS_TEXT)};
#undef AS_TEXT
#define AS_KEY(name, text) [name] = #name,
static const char *const check_key[CHECKS] = {WALK_CHECKS(AS_KEY)};
#undef AS_KEY

/* ---- what goes wrong ------------------------------------------------------- */

enum fault {
    DIES,
    DIES_BETWEEN, /* two actions */
    PAGE_LOST,    /* when it dies */
    TAKEN_OVER,   /* by a child, when it dies */
    STOPPED,
    CUT_OFF, /* from the store, but for what is on its way */
    CLOCK_SET,
    COPIED,
    LEAVES,
    NO_RECORD, /* for a grant */
    FLUSHED,
    FAILED_OVER,
    RESTARTED, /* the store, perhaps from an old file */
    OUT,       /* the store, for a while */
    STORE_CLOCK_SET,
    STRANGER_COMES, /* and draws from a pid of which the store has no registration */
    TIME_LEAPS,
    SPOILT,
    FAULTS
};

/* ---- messages -------------------------------------------------------------- */

struct request {
    enum sfid__lease_action_kind kind; /* DO_CLAIM, DO_RENEW, DO_RELEASE */
    unsigned server;
    uint64_t pid, token, nonce, next_nonce, limit, position, start;
    uint64_t move_token, move_nonce; /* DO_RENEW: 0: no other pid is wanted */
    int64_t host_ms;                 /* the sender's clock */
};

struct reply {
    enum sfid__lease_answer answer;
    uint64_t pid, floor, limit, start;
    int64_t after_ms;
    bool spoilt;
    bool unwritten; /* to a release: nothing was written */
};

struct message {
    bool is_reply;
    unsigned owner, life; /* the process that asked: an answer reaches no other */
    uint64_t question;
    int64_t held_till; /* not delivered before */
    struct request request;
    struct reply reply;
};

/* ---- owners ---------------------------------------------------------------- */

/* What outlives a process. */
struct page {
    bool there, open;
    bool left; /* closed, and a successor may go on with the lease */
    uint64_t pid, token, nonce, next_nonce, floor, limit;
    uint64_t word; /* tick * SEQUENCE + number */
};

enum phase { NOBODY, DOWN, UP, LEAVING };

struct owner {
    enum phase phase;
    unsigned life;
    struct sfid__lease machine;
    struct sfid__lease forked; /* as a child has it that was forked a while ago */
    bool has_child;
    struct page page;
    int64_t ahead_ms; /* its clock before the true time */
    int64_t stopped_till, cut_off_till, asleep_till;
    bool poked;
    unsigned server;   /* where it takes the master to be */
    uint64_t question; /* number of the one under way; 0: none */
    int64_t sent_ms, leaving_till;
    uint64_t want; /* number of the pid wanted: its attempts are one claim */
    /* the same of the pid wanted in place of a short one; 0: not asked for yet */
    uint64_t move_want;
    struct request asked;
    uint64_t lost_token, found_token; /* found: by a restart, and not shown yet */
    uint64_t foreign_token;           /* heard that a stranger has its pid */
    uint64_t answered_nonce;          /* of its last renewal */
    bool is_copy, gated;              /* gated: a copy whose first renewal was not answered */
    /* a copy that is going to notice what it is, before it does anything else */
    bool notices;
    uint64_t both_have[2]; /* tokens that the other copy has, too, and may show */
    bool released, gave_up, may_not_give_up, told, lost_told;
    bool asks_first;          /* what it found is open, and its first question has no answer yet */
    bool may_leave;           /* it ended with a lease that was in force */
    bool hears_lost;          /* it steps by an answer that it waits for, and that is SFID__LOST */
    int64_t sends_allowed_ms; /* spent by each question, earned by time */
    int64_t last_step_ms;
};

/* What is known of a token over all lives and copies of its owner. */
struct lease_info {
    uint64_t want;
    uint64_t granted[PIDS]; /* limit; 0: never granted */
    uint64_t floor[PIDS];
    uint64_t next_word;
    bool cloned, released;
    /* renewed last by a superseded master: the real one does not know its nonce */
    bool strayed;
    uint64_t shared_nonce; /* both copies have shown it, or will */
    /* of two copies the one that the store answered last; OWNERS: none, it was given back */
    unsigned holder[PIDS];
};

/* ---- the store ------------------------------------------------------------- */

struct entry {
    enum { NO_ENTRY, HELD_ENTRY, FREE_ENTRY } state;
    uint64_t limit; /* of a free one: the first tick never used */
    uint64_t token, nonce;
    unsigned renewed; /* 1 + place of the copy that was renewed here under a nonce of its own */
    bool late;        /* last written by a request that nobody waited for any more */
    bool ending;      /* a stranger has the pid: no nonce fits any more */
};

/* The hash of an app. */
struct books {
    bool there;
    uint64_t incarnation, wait_for[2], witness_from; /* q, q1 and g */
    struct entry entry[PIDS];
};

struct server {
    struct books books;
    uint64_t incarnation; /* what the server says of itself */
    int64_t offset_ms;
};

/* ---- the world ------------------------------------------------------------- */

struct walk {
    uint64_t seed, random, step, fresh, wants, questions, incarnations;
    unsigned lives;
    int64_t now;
    bool calm;

    /* What kind of run it is. */
    struct sfid__lease_terms terms;
    /* between the clocks of the servers, and how long a superseded master goes on */
    int64_t spread_ms;
    int64_t skew_ms;     /* what the store allows for that */
    int64_t max_skew_ms; /* between its clock and an owner's; 0: any */
    int64_t patience_ms, hold_ms;
    unsigned faults;                                        /* bits: the kinds there are */
    unsigned fault_rate, loss_rate, hold_rate, unsure_rate; /* of a thousand */
    /* the store cannot tell when a pid will be free */
    bool vague;

    struct server server[2];
    unsigned master;
    bool old_serves;       /* the superseded master goes on for a while */
    int64_t first_contact; /* of the master in its present role, by its clock; 0: none yet */
    int64_t out_till;      /* nothing is answered before */
    bool refuses;          /* or: with an error that does not pass */
    int64_t stranger_till[PIDS];

    unsigned owners;
    struct owner owner[OWNERS];
    unsigned messages;
    struct message message[MESSAGES];

    enum check broken;
    char why[256];
};

static struct walk w;

/* What a run writes down; too much to be cleared as a whole for each. */
static struct {
    unsigned leases;
    struct lease_info lease[LEASES];
    uint16_t lease_of[COUNTERS];
    uint64_t last_tick; /* highest noted */
    struct {
        uint16_t lease;
        uint8_t owner;
    } drawn[PIDS][TICKS];
    uint64_t traces;
    struct traced {
        uint64_t step;
        int64_t now;
        int owner;
        const char *what;
        uint64_t value[4];
    } trace[TRACES];
} paper;

/* ---- figures over all runs ------------------------------------------------- */

static struct {
    uint64_t steps, runs, claims, renewals, releases, answers, lost_messages, late_requests, spoilt,
        stale_answers;
    uint64_t epochs, failovers, crashes, restarts, takeovers, pages_lost, copies, copies_found,
        stops, losses, gone, superseded;
    uint64_t closes, gave_up, drawn, set_back, second_pids, unfit, longest_calm_ms;
    uint64_t left, left_again, succeeded, unasked, shown_again;
    uint64_t noticed, moves, moves_heard, moves_unfit, strangers_met, short_claims;
} figures;

/* ---- random, trace, judgement ---------------------------------------------- */

/* splitmix64 */
static uint64_t draw_random(void) {
    uint64_t z = w.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t n) { return draw_random() % n; }

static bool chance(unsigned of_thousand) { return below(1000) < of_thousand; }

/* Never 0, never the same, growing. */
static uint64_t fresh(void) {
    need(w.fresh + 1 < COUNTERS, "out of numbers");
    return ++w.fresh << 24 | below(1 << 24);
}

static void trace(int owner, const char *what, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    paper.trace[paper.traces++ % TRACES] =
        (struct traced){w.step, w.now, owner, what, {a, b, c, d}};
}

/* The first thing that goes wrong ends the walk. */
static void broken(enum check check, const char *text, ...) TAP_PRINTF(2, 3);
static void broken(enum check check, const char *text, ...) {
    va_list args;
    if (w.broken)
        return;
    w.broken = check;
    va_start(args, text);
    vsnprintf(w.why, sizeof w.why, text, args);
    va_end(args);
}

static void show_trace(void) {
    const uint64_t from = paper.traces > TRACES ? paper.traces - TRACES : 0;
    for (uint64_t i = from; i < paper.traces; i++) {
        const struct traced *t = &paper.trace[i % TRACES];
        diag("%6" PRIu64 " %8" PRId64 " ms  owner %2d  %-28s %" PRIx64 " %" PRIx64 " %" PRIx64
             " %" PRIx64,
             t->step, t->now, t->owner, t->what, t->value[0], t->value[1], t->value[2],
             t->value[3]);
    }
}

static uint64_t tick_of(int64_t ms) { return ms < 0 ? 0 : (uint64_t)ms / UNIT_MS; }

/* Of a token; made at its first use. */
static struct lease_info *lease_info(uint64_t token) {
    const uint64_t counter = token >> 24;
    need(counter < COUNTERS && paper.leases + 1 < LEASES, "no room for another lease");
    if (paper.lease_of[counter] == 0) {
        paper.lease_of[counter] = (uint16_t)++paper.leases;
        paper.lease[paper.leases] = (struct lease_info){.want = 0};
    }
    return &paper.lease[paper.lease_of[counter]];
}

/* Of two copies, the one that the store does not know: till it finds out it repeats numbers, and
 * nobody can help that. */
static bool is_superseded_copy(const struct lease_info *lease, uint64_t pid, unsigned owner) {
    return lease->cloned && lease->holder[pid] != owner;
}

#endif
