/* SPDX-License-Identifier: MIT */
/*
 * mapping.h - the pages this process has mapped.
 *
 * A thread that is late may read its record after its handle has been closed.
 * So the addresses of a page stay its own for the life of the process, up to
 * the page's last record. A later slot uses the mapping again for the same page
 * (the nonce says so), one slot at a time. If that cannot be, a closed copy
 * takes the page's place.
 *
 * The list of mappings only grows and has no lock, so a forked child finds it
 * whole. The child shares the mappings, and with them the locks (held.h).
 */
#ifndef SFID_HOST_MAPPING_H
#define SFID_HOST_MAPPING_H

#include "draw/page.h"

struct sfid__mapping {
    struct sfid__mapping *next;
    struct sfid__page *page;
    size_t bytes;           /* how much is mapped while no slot uses it */
    size_t least;           /* how much was left mapped before */
    _Atomic uint64_t nonce; /* of the page; 0: no slot may use the mapping again */
    _Atomic int in_use;
    bool listed;
};

/*
 * Maps a page's file, and so keeps its lock: at the address the page had
 * before (*again), or anew. Returns NULL with errno if it cannot.
 */
struct sfid__mapping *sfid__mapping_take(int fd, uint64_t nonce, bool *again);

/* Maps the same file through a new description, which has no lock. Late threads see the old mapping
 * or the new one. */
bool sfid__mapping_replace(struct sfid__mapping *m, int fd);

/*
 * Gives memory to a part of the page without opening its file, whose name may be gone. Changes no
 * byte. Whole blocks; false, with errno, if there is no memory, or the kernel is older than 5.14.
 */
bool sfid__mapping_populate(const struct sfid__mapping *m, size_t from, size_t to);

/* Keeps only the first n records mapped, and what was kept before. Does not touch the page. */
void sfid__mapping_narrow(struct sfid__mapping *m, uint32_t n);

/* Gives the mapping to the next slot with this page. */
void sfid__mapping_leave(struct sfid__mapping *m);

/*
 * Replaces a mapping by a private copy of its first n records, each closed and without a
 * limit. A late thread can read its record there, and takes nothing that a
 * child or the next handle might take from the page. If memory runs out,
 * mapping and lock stay until exit, which is wasteful and safe.
 */
void sfid__mapping_close(struct sfid__mapping *m, uint32_t n);

/* Unmaps a new page, which no thread has had. */
void sfid__mapping_discard(struct sfid__mapping *m);

#endif
