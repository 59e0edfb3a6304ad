/* SPDX-License-Identifier: MIT */
/*
 * page.h - the page that a generator and its forked children share, and the
 * processes of a host that open an app with `share`.
 *
 * The page outlives the process. It is a slot file on a tmpfs (slot.c), or
 * anonymous memory if there is no app. It has lines of 64 bytes:
 *
 *   0-1  identity: which file, of which boot. Written once, with a checksum.
 *   2    current: the index of the current record; poke: the keeper's wake-up
 *        word; counters; reign: which keeper counts.
 *   3-6  the seats of keepers.
 *   7    the terms of a page that processes share; who serves one that they
 *        do not share; news: the wake-up word of calls.
 *   8-   records, append-only, three lines each.
 *
 * A record is what one lease allows. Its first line has the state word, the
 * only line that every ID writes to, and what only the slow path reads: the
 * signs of the machine (base/signs.h). Its second line is written once, but for
 * the limit, which only rises. Its third line belongs to the slow path.
 *
 *     word   bit 63: closed. Below it: tick << seq_bits | seq of the next ID.
 *     limit  the first tick that may not be issued.
 *     hi     the highest clock tick seen.
 *     lead   how many ticks ahead of the clock an ID may be issued at once.
 *     signs  of the machine, read before the lease was asked for. Where the
 *            machine shows others, it is a copy, and the record is void: what it
 *            allows, another copy may issue. seal covers them. Damaged signs
 *            count as none, so a changed byte makes no record void.
 *     left   of a closed record: a successor may go on with its lease, as after
 *            a kill. A hash of the lease, so that no stray write makes one; 0: no.
 */
#ifndef SFID_DRAW_PAGE_H
#define SFID_DRAW_PAGE_H

#include "base/alive.h"
#include "base/signs.h"
#include "base/watch.h"

#include <sfid.h>

#define SFID__CLOSED (UINT64_C(1) << 63)
#define SFID__PAGE_VERSION 4
/* of keepers: all but one of them belong to a process that is stopped */
#define SFID__SEATS 4
#define SFID__MAP_SIZE (1u << 18) /* a program that locks its memory takes all of it */

struct sfid__record {
    _Alignas(SFID__LINE) _Atomic uint64_t word;
    struct sfid__signs signs;

    _Alignas(SFID__LINE) _Atomic uint64_t limit;
    uint64_t pid_field; /* the pid, shifted to its place */
    uint64_t floor;     /* first tick of the window as first granted */
    uint16_t seq_bits, time_shift, seq_shift, pid_shift;
    uint64_t token; /* the token of the lease, if it has one */
    uint64_t seal;  /* checksum of signs; 0: there are none */
    /* covers this line up to here but for limit, the place in the page, and the identity of the
     * page */
    uint64_t checksum;
    _Atomic uint64_t left;

    _Alignas(SFID__LINE) _Atomic uint64_t hi;
    _Atomic uint64_t lead;
    /* positions never issued: passed over when the clock moved the word on, or given up */
    _Atomic uint64_t skipped;
    /* how many ticks below hi the clock was when a regression was last reported */
    _Atomic uint64_t behind;
    _Atomic uint64_t renewals;
    _Atomic uint64_t first; /* the word at the beginning */
    /* of the lease: of the last answered renewal; of one that may be under way, or 0 */
    _Atomic uint64_t nonce, next_nonce;
};

struct sfid__page_id {
    char magic[8];
    uint32_t version;
    uint32_t size;
    uint64_t layout; /* fingerprint */
    uint8_t boot_id[16];
    uint64_t device, inode;
    int64_t born_s; /* birth time of the file if statx has one; otherwise 0 */
    uint64_t born_ns;
    /* random: tells this page from every other, even one with the same inode number */
    uint64_t nonce;
    uint8_t zero[40];
    uint64_t checksum;
};

/* What all who share a page have to do alike. */
enum {
    SFID__TERM_SYNCED = 1, /* the mark is synced */
    /* a mapping does not keep the page's lock: each process keeps a descriptor */
    SFID__TERM_PAGE_BY_FD = 2,
    SFID__TERM_MARK_BY_FD = 4 /* the same of the mark */
};

/* A keeper at rest. */
enum {
    SFID__RESTS = 1, /* it lets the window run out because no IDs are generated */
    SFID__FAILS = 2  /* its last question failed, and it asks again later */
};

/* In `watch`: the crew is at work on the page. So a page that is waiting for its turn can be taken
 * from a crew that is stuck. */
#define SFID__IN_TURN SFID__WATCH_FLAG

/* base/alive.h: a keeper that is a thread of its own has the word for as long as it keeps. */
struct sfid__seat {
    _Alignas(SFID__LINE) _Atomic uint32_t keeper;
};

struct sfid__page {
    struct sfid__page_id id;

    _Alignas(SFID__LINE) _Atomic uint32_t current;
    _Atomic uint32_t poke; /* futex: 1 when the keeper is wanted */
    /* what the keeper does while it sleeps: SFID__RESTS or SFID__FAILS; else 0 */
    _Atomic uint32_t resting;
    /* ticks: with less left of the window, calls want the keeper; 0: half of a whole window */
    _Atomic uint32_t early;
    _Atomic uint64_t regressions; /* of more than 1 s */
    _Atomic uint64_t largest_regression_ms;
    _Atomic uint64_t earlier_issued; /* IDs issued from records before the current one */
    /* rises with each one that keeps the page; of a thread of its own, modulo SEATS its seat */
    _Atomic uint64_t reign;
    /* monotonic; since when the keeper was wanted, and did not wake. 0: nobody waits */
    _Atomic uint64_t asked_ms;
    /* shared: the records that were begun; the current one may be among the first of them */
    _Atomic uint32_t reserved;
    _Atomic uint32_t terms; /* shared: SFID__TERM_* */

    struct sfid__seat seat[SFID__SEATS];

    /* shared: ticks; of the process that let the others in */
    _Alignas(SFID__LINE) _Atomic uint64_t window;
    /* shared: of its store, as a hash; 0: the above is all */
    _Atomic uint64_t settings;
    /* base/watch.h: of the crew that serves the page, and SFID__IN_TURN; 0: none does */
    _Atomic uint64_t watch;
    _Atomic uint32_t berth; /* the page's number among those of that crew */
    /* futex: rises when calls that wait for the keeper have to look again */
    _Atomic uint32_t news;

    _Alignas(SFID__LINE) struct sfid__record records[];
};

#define SFID__PAGE_RECORDS \
    ((SFID__MAP_SIZE - sizeof(struct sfid__page)) / sizeof(struct sfid__record))
/* with so many a page of one process is replaced at an open: room() in lease/grant.c */
#define SFID__FEW_RECORDS 64

/* Processes share the format, and the inline form shares the first two lines of a record. */
static_assert(sizeof(struct sfid__page_id) == 2 * SFID__LINE, "identity fills two lines");
static_assert(offsetof(struct sfid__page, records) == 8 * SFID__LINE, "records begin at line 8");
static_assert(sizeof(struct sfid__record) == 3 * SFID__LINE, "a record fills three lines");
/* The format is the same on every machine. Compilers for 32-bit machines differ in where they put
 * an 8-byte atomic. */
static_assert(offsetof(struct sfid__page_id, layout) == 16 &&
                  offsetof(struct sfid__page_id, device) == 40 &&
                  offsetof(struct sfid__page_id, checksum) == 120,
              "identity has no holes");
static_assert(offsetof(struct sfid__page, regressions) == 2 * SFID__LINE + 16 &&
                  offsetof(struct sfid__page, reign) == 2 * SFID__LINE + 40,
              "counters have their places, each inside its line");
static_assert(offsetof(struct sfid__page, seat) == 3 * SFID__LINE &&
                  offsetof(struct sfid__page, window) == 7 * SFID__LINE,
              "a seat fills a line");
static_assert(offsetof(struct sfid__record, checksum) == SFID__LINE + 48, "line b has no holes");
static_assert(offsetof(struct sfid__record, next_nonce) == 2 * SFID__LINE + 56, "line c is full");
static_assert(offsetof(struct sfid__record, hi) == 2 * SFID__LINE, "line c");
static_assert(offsetof(struct sfid__record, limit) == offsetof(struct sfid__record_head, limit),
              "inline form: limit");
static_assert(offsetof(struct sfid__record, pid_field) ==
                  offsetof(struct sfid__record_head, pid_field),
              "inline form: pid");

/* seal fills in the checksum of an identity. init puts the identity into a blank page. */
void sfid__page_id_seal(struct sfid__page_id *id);
void sfid__page_init(struct sfid__page *page, const struct sfid__page_id *id);

/* Nobody keeps the page from now on. Only while no other process can have it mapped. */
void sfid__page_reset_keeper(struct sfid__page *page);

/*
 * Says what is wrong with a page; NULL if nothing is. want is the identity that
 * the page should have, but for nonce and checksum. bytes is how much of the
 * page has memory behind it. *count gets the number of records.
 */
const char *sfid__page_check(const struct sfid__page *page, const struct sfid__page_id *want,
                             size_t bytes, uint32_t *count);

/* The same for a page that other processes use at this moment: only the current record is looked
 * at. */
const char *sfid__page_check_live(const struct sfid__page *page, const struct sfid__page_id *want,
                                  size_t bytes, uint32_t *count);

/* The checksum that record i of a page should have. */
uint64_t sfid__record_checksum(const struct sfid__page *page, uint32_t i);

/* How many bytes of a page hold its first n records. */
static inline size_t sfid__page_bytes(uint32_t n) {
    return sizeof(struct sfid__page) + (size_t)n * sizeof(struct sfid__record);
}

/*
 * The index of the current record. Whoever may write the page may write the index, so nobody else
 * reads it, but for the checks of page.c. One that is too high leads to a record that is not the
 * current one.
 */
static inline uint32_t sfid__page_index(const struct sfid__page *page) {
    /* Acquire, with the release in record.c [publish]: the record's fields are there before its
     * index. */
    const uint32_t index = atomic_load_explicit(&page->current, memory_order_acquire);
    return SFID__MIN(index, (uint32_t)SFID__PAGE_RECORDS - 1);
}

static inline struct sfid__record *sfid__page_current(struct sfid__page *page) {
    return &page->records[sfid__page_index(page)];
}

/* By how much a record says to shift. Whoever may write the page may write that, and C has no
 * answer to 64 or more. */
static inline unsigned sfid__shift(uint16_t bits) { return bits & 63; }

/* The tick of a position of a record, and how many positions a tick has there. */
static inline uint64_t sfid__record_tick(const struct sfid__record *r, uint64_t position) {
    return position >> sfid__shift(r->seq_bits);
}
static inline uint64_t sfid__record_capacity(const struct sfid__record *r) {
    return UINT64_C(1) << sfid__shift(r->seq_bits);
}

/* How far apart the IDs of two positions of a tick are that follow one another. */
static inline uint64_t sfid__record_step(const struct sfid__record *r) {
    return UINT64_C(1) << sfid__shift(r->seq_shift);
}

/*
 * Both call the keeper of this page, in whichever process of the fork family it
 * runs. Poke makes its system call only if nobody has poked before. An earlier
 * poker may have been killed before that call, so a caller that has to be heard
 * uses wake. Async-signal-safe.
 */
void sfid__page_poke(struct sfid__page *page);
void sfid__page_wake(struct sfid__page *page);

/* Wakes all threads that sleep as keepers of the page, if those are threads of their own. */
void sfid__page_wake_all(struct sfid__page *page);

/*
 * Wakes all calls that wait for the keeper, in all processes: a limit was raised, a record
 * published, or a handle closed, before this. An older library neither wakes nor is woken: its
 * calls, and calls beside its keeper, look again after a while.
 */
void sfid__page_announce(struct sfid__page *page);

#endif
