/* SPDX-License-Identifier: MIT */
/*
 * mark_entries.h - what the file of a mark contains.
 *
 * The file has eight entries, each in a block of its own, because power loss
 * tears blocks one by one. A keeper has a seat, and seat i writes the entries
 * 2i and 2i + 1 in turn. So a keeper that was stopped in the middle of a write,
 * and finishes it at any later time, covers nobody else's entry.
 *
 * A life of the mark ends with a clean close, which writes the exact position.
 * Of all good entries the furthest of the latest life counts, not the newest: a
 * late write can only be lower. So the mark goes back only from life to life,
 * and the process that ends a life is alone with the mark.
 *
 * Behind each entry stands what its writer knew to be durable. A process that
 * opens a mark has not seen the newest entry synced, and cannot know whether the
 * one before is all that a power loss would leave. By that note it finds an
 * entry that is needed no more, and one sync does: sfid__mark_spare(). An entry
 * without a note (a library from before, a keeper beside others) says nothing,
 * and is synced first.
 *
 * Files of the previous format ("sfidmrk1": two entries, the newer one counts)
 * are read as a life 0. The holder of the lock rewrites them before it uses the
 * pid. An older library then finds no good entry, and refuses the mark.
 */
#ifndef SFID_HOST_MARK_ENTRIES_H
#define SFID_HOST_MARK_ENTRIES_H

#include "base/compiler.h"

#include <stdint.h>

#define SFID__MARK_SEATS 4
#define SFID__MARK_ENTRIES (2 * SFID__MARK_SEATS)
#define SFID__MARK_BLOCK 4096
#define SFID__MARK_SIZE (SFID__MARK_ENTRIES * SFID__MARK_BLOCK)

struct sfid__mark_entry {
    char magic[8];
    uint64_t layout;
    uint64_t pid;
    uint64_t serial; /* the higher one is newer */
    uint64_t position;
    uint64_t page_nonce;
    /* how many clean closes there were, << 1; bit 0: this entry is where the last one stopped */
    uint64_t life;
    uint64_t checksum;
    /* serial << 1: entries below that serial are needed no more; bit 0: the file's name may not be
     * durable */
    uint64_t known;
    uint64_t known_sum; /* of checksum and known */
};

/* What the entries of a mark say. */
struct sfid__mark_said {
    struct sfid__mark_entry top; /* the entry that counts */
    int top_at;                  /* which it is */
    uint64_t serial;             /* the highest of all */
    bool damaged;                /* an entry is not good */
    bool older;                  /* it is a file of the format before */
    /* entries with a lower serial are needed no more, whether or not the newest is durable */
    uint64_t spare;
    bool unnamed; /* the name of the file may not be durable */
};

/* Fills in magic and checksums. */
void sfid__mark_entry_seal(struct sfid__mark_entry *e);

bool sfid__mark_entry_good(const struct sfid__mark_entry *e);

/* True if nothing but zeros is there: if that is all of the file, nothing was ever written. */
bool sfid__mark_blank(const void *from, size_t n);

/* All entries out of the blocks of a mark. What lies behind the first `size` bytes counts as
 * zero. */
void sfid__mark_gather(const void *blocks, size_t size,
                       struct sfid__mark_entry all[SFID__MARK_ENTRIES]);

/* False if no entry is good, or a seat has lost both of its own. */
bool sfid__mark_read(const struct sfid__mark_entry all[SFID__MARK_ENTRIES],
                     struct sfid__mark_said *said);

/* The newer good entry of a seat; the second one if neither is good. */
int sfid__mark_newest_of(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], unsigned seat);

/*
 * The oldest entry that may be overwritten before the newest one is known to be durable. -1: there
 * is none. Only where all entries are good, for a process that is alone with the mark.
 */
int sfid__mark_spare(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], uint64_t spare);

/* Copies an entry from a mapping, or into it. 0 or an errno, where a load or a store would be
 * SIGBUS. */
int sfid__mark_entry_copy(void *there, struct sfid__mark_entry *e, bool into);

/* Makes the first n entries the same; the serials begin with the entry's. */
void sfid__mark_fill(struct sfid__mark_entry all[SFID__MARK_ENTRIES], struct sfid__mark_entry e,
                     int n);

#endif
