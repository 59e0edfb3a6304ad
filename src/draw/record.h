/* SPDX-License-Identifier: MIT */
/*
 * record.h - writing, continuing, replacing and closing the records of a page.
 *
 * Who may call these: one thread at a time per page, namely who opens it
 * (alone with the page's lock), its keeper (with the keeper's lock) or who
 * closes it (its keeper ended, alone with the page's lock again). Generators
 * run beside all of them.
 */
#ifndef SFID_DRAW_RECORD_H
#define SFID_DRAW_RECORD_H

#include "draw/page.h"

/* What a new record starts from. */
struct sfid__start {
    const sfid_layout *layout;
    uint64_t pid;
    uint64_t position;     /* word of the first ID it may issue */
    uint64_t limit;        /* tick */
    uint64_t now;          /* clock tick */
    uint64_t max_ahead;    /* ticks: a position further ahead than this has to wait for the clock */
    uint64_t token, nonce; /* of a lease, else 0 */
};

/*
 * Writes record `count` (the number of records so far) and makes it current.
 * Where there is one before it, that is closed first, and the new one starts
 * at start->position or where the old one stood, whichever is later; with
 * another pid in the next tick, so that IDs go on increasing. The bytes must
 * have memory behind them. Returns the new record.
 */
struct sfid__record *sfid__record_append(struct sfid__page *page, uint32_t count, const struct sfid__start *start);

/* Closes a record for good; returns the position where it stopped: every number below is drawn or lost. Idempotent. */
uint64_t sfid__record_close(struct sfid__record *r);

/* Where a record stands, closed or not. */
static inline uint64_t sfid__record_position(const struct sfid__record *r) {
    /* Relaxed: one location, and callers want no other data with it. */
    return atomic_load_explicit(&r->word, memory_order_relaxed) & ~SFID__CLOSED;
}

/* Raises the limit to tick `limit`; never lowers it. */
void sfid__record_raise_limit(struct sfid__record *r, uint64_t limit);

/*
 * Notes the nonces of a lease, so that whoever finds the record after a kill at
 * any point can show one that the store knows.
 */
void sfid__record_note(struct sfid__record *r, uint64_t nonce, uint64_t next_nonce);

/* IDs drawn from a record so far. */
uint64_t sfid__record_issued(const struct sfid__record *r);

/* The pid of a record. */
static inline uint64_t sfid__record_pid(const struct sfid__record *r) { return r->pid_field >> r->pid_shift; }

/*
 * Says what is wrong with the part of a record that is not under its checksum,
 * NULL when nothing is: floor <= tick of the word <= limit, and nothing past
 * max_limit: of an open record the limit, of a closed one the tick. That
 * bounds how far ahead of the clock a damaged word can lie as well.
 */
const char *sfid__record_check_range(const struct sfid__record *r, uint64_t max_limit);

#endif
