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
    uint64_t page;
    uint64_t life; /* how many clean closes there were, << 1; bit 0: this entry is where the last one stopped */
    uint64_t checksum;
};

/* What the entries of a mark say. */
struct sfid__mark_said {
    struct sfid__mark_entry top; /* the entry that counts */
    uint64_t serial;             /* the highest of all */
    bool damaged;                /* an entry is not good */
    bool older;                  /* it is a file of the format before */
};

/* Fills in magic and checksum. */
void sfid__mark_entry_seal(struct sfid__mark_entry *e);

bool sfid__mark_entry_good(const struct sfid__mark_entry *e);

/* True if nothing but zeros is there: if that is all of the file, nothing was ever written. */
bool sfid__mark_blank(const void *from, size_t n);

/* All entries out of the blocks of a mark. What lies behind the first `size` bytes counts as zero. */
void sfid__mark_gather(const void *blocks, size_t size, struct sfid__mark_entry all[SFID__MARK_ENTRIES]);

/* False if no entry is good, or a seat has lost both of its own. */
bool sfid__mark_read(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], struct sfid__mark_said *said);

/* The newer good entry of a seat; the second one if neither is good. */
int sfid__mark_newest_of(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], unsigned seat);

/* Makes all entries the same; the serials begin with the entry's. */
void sfid__mark_fill(struct sfid__mark_entry all[SFID__MARK_ENTRIES], struct sfid__mark_entry e);

#endif
