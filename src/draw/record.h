/* SPDX-License-Identifier: MIT */
/*
 * record.h - writing, continuing, replacing and closing the records of a page.
 *
 * One thread at a time per page may call these functions: the one that opens
 * the page (alone, with its lock), its keeper (while it keeps the page), or the
 * one that closes it (after the keeper's end, alone with the lock again). Only
 * sfid__record_close() may come from any thread, for a record that is void.
 * Threads that generate run beside all of them. Of a page that processes share,
 * a keeper that was stopped may come late with any of its stores. So for those
 * pages there is sfid__record_replace(), and limits only rise.
 */
#ifndef SFID_DRAW_RECORD_H
#define SFID_DRAW_RECORD_H

#include "draw/page.h"

/* What a new record starts with. */
struct sfid__start {
    const sfid_layout *layout;
    uint64_t pid;
    uint64_t position;               /* word of the first ID it may issue */
    uint64_t limit;                  /* tick */
    uint64_t now;                    /* clock tick */
    uint64_t max_ahead;              /* ticks: a position further ahead waits for the clock */
    uint64_t token, nonce;           /* of a lease, else 0 */
    const struct sfid__signs *signs; /* NULL: the record is never void */

    /* The limit is raised to the tick where the record begins. A server's is not: it testifies to
     * what was granted. */
    bool reaches;
    uint64_t next_nonce; /* of a lease that goes on: of its renewal that may be under way, or 0 */
};

/*
 * Writes record `count` (the number of records so far) and makes it current. If
 * there is a record before it, that one is closed first. The new record starts
 * at start->position or where the old one stopped, whichever is later. With
 * another pid it starts in the next tick, so that IDs go on increasing. The
 * bytes must have memory behind them. Returns the new record.
 */
struct sfid__record *sfid__record_append(struct sfid__page *page, uint32_t count,
                                         const struct sfid__start *start);

/* Closes a record of another page, and begins a new page with it. So the new one knows what the old
 * one knew. Alone with both. */
void sfid__record_carry(struct sfid__page *fresh, struct sfid__record *carried);

/*
 * The same for a keeper that may not be the only one. It writes record i, which it has reserved,
 * and makes it current, unless another keeper has replaced the current record since *seen. Then it
 * returns NULL, and record i is never used.
 */
struct sfid__record *sfid__record_replace(struct sfid__page *page, uint32_t i, uint32_t seen,
                                          const struct sfid__start *start);

/* Closes a record for good. Returns the position where it stopped: every one below is taken or
 * lost. Idempotent. */
uint64_t sfid__record_close(struct sfid__record *r);

/*
 * Whether a successor may go on with the lease of a closed record. Only who has closed it says so,
 * alone with the page. A record that was not left so, or has changed since, is not. set false
 * takes that back.
 */
void sfid__record_leave(struct sfid__record *r, bool set);
bool sfid__record_is_left(const struct sfid__record *r);

/*
 * True if the machine shows other signs than when the lease of the record was asked for (page.h).
 * boot: as in signs.h. That does not depend on what any process noticed before, so all processes of
 * a page agree, and a new record is not taken for a void one.
 */
bool sfid__record_is_void(const struct sfid__record *r, uint64_t boot);

/* The signs of a record; all zero if it has none. */
struct sfid__signs sfid__record_signs(const struct sfid__record *r);

/* The position of a record, closed or not. */
static inline uint64_t sfid__record_position(const struct sfid__record *r) {
    /* Relaxed: one location, and callers want no other data with it. */
    return atomic_load_explicit(&r->word, memory_order_relaxed) & ~SFID__CLOSED;
}

/* The highest position of a pid in the first n records. A keeper that was late may have left a
 * record behind the one in use. */
uint64_t sfid__record_furthest(const struct sfid__page *page, uint32_t n, uint64_t pid);

/* Raises the limit to tick `limit`; never lowers it. */
void sfid__record_raise_limit(struct sfid__record *r, uint64_t limit);

/* Notes the nonces of a lease. A process that finds the record after a kill at any point can then
 * show one that the store knows. */
void sfid__record_note(struct sfid__record *r, uint64_t nonce, uint64_t next_nonce);

/* How many IDs a record has issued. */
uint64_t sfid__record_issued(const struct sfid__record *r);

static inline uint64_t sfid__record_pid(const struct sfid__record *r) {
    return r->pid_field >> sfid__shift(r->pid_shift);
}

/*
 * Checks the part of a record that its checksum does not cover: floor <= tick
 * of the word <= limit, and nothing past max_limit (an open record's limit, a
 * closed one's tick). Returns what is wrong, or NULL. This also bounds how far
 * ahead of the clock a damaged word can lie.
 */
const char *sfid__record_check_range(const struct sfid__record *r, uint64_t max_limit);

#endif
