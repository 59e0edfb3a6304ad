/* SPDX-License-Identifier: MIT */
#include "draw/page.h"

#include "base/futex.h"
#include "base/hash.h"
#include "id/layout.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char magic[8] = {'s', 'f', 'i', 'd', 'p', 'a', 'g', 'e'};

static uint64_t id_checksum(const struct sfid__page_id *id) {
    return sfid__hash(SFID__HASH_SEED, id, offsetof(struct sfid__page_id, checksum));
}

void sfid__page_id_seal(struct sfid__page_id *id) {
    memcpy(id->magic, magic, sizeof magic);
    id->version = SFID__PAGE_VERSION;
    id->size = SFID__MAP_SIZE;
    id->checksum = id_checksum(id);
}

void sfid__page_reset_keeper(struct sfid__page *page) {
    for (int i = 0; i < SFID__SEATS; i++) /* relaxed: alone with the page */
        atomic_store_explicit(&page->seat[i].keeper, 0, memory_order_relaxed);
    atomic_store_explicit(&page->watch, 0, memory_order_relaxed);
}

void sfid__page_init(struct sfid__page *page, const struct sfid__page_id *id) {
    page->id = *id;
    sfid__page_id_seal(&page->id);
}

uint64_t sfid__record_checksum(const struct sfid__page *page, uint32_t i) {
    const struct sfid__record *r = &page->records[i];
    const size_t from = offsetof(struct sfid__record, pid_field),
                 to = offsetof(struct sfid__record, checksum);
    uint64_t sum = sfid__hash(page->id.checksum, &i, sizeof i);
    sum = sfid__hash(sum, (const char *)r + from, to - from);
    return sum ? sum : 1; /* a blank record has 0 */
}

static bool blank(const struct sfid__record *r) {
    const unsigned char *p = (const unsigned char *)r;
    for (size_t i = 0; i < sizeof *r; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/*
 * The index in line 2 is not trusted. The current record is the last of an
 * unbroken row of good records. All before it are closed, and the one behind it
 * is blank. So a damaged last record means a damaged page, never a return to
 * the record before it.
 */
static const char *check_records(const struct sfid__page *page, size_t bytes, uint32_t *count) {
    const uint32_t room = (uint32_t)((bytes - sizeof *page) / sizeof page->records[0]);
    uint32_t n = 0;
    while (n < room && page->records[n].checksum == sfid__record_checksum(page, n))
        n++;
    if (n < room && !blank(&page->records[n]))
        return "a record fails its checksum";
    /* A record is written before its index is published. So the index may lag; it is ahead only if
     * records were lost. */
    if (atomic_load_explicit(&page->current, memory_order_relaxed) >= SFID__MAX(n, 1))
        return "its last record is missing";
    for (uint32_t i = 0; i + 1 < n; i++)
        /* alone with it */
        if ((atomic_load_explicit(&page->records[i].word, memory_order_relaxed) & SFID__CLOSED) ==
            0)
            return "a replaced record is not closed";
    *count = n;
    return NULL;
}

static const char *check_id(const struct sfid__page *page, const struct sfid__page_id *want,
                            size_t bytes) {
    static const uint8_t no_boot[16];
    const struct sfid__page_id *id = &page->id;
    if (bytes < sfid__page_bytes(1))
        return "it is too short";
    if (memcmp(id->magic, magic, sizeof magic) != 0)
        return "it is not a slot file";
    if (id->version != SFID__PAGE_VERSION || id->size != SFID__MAP_SIZE)
        return "it has another version or size";
    if (id->checksum != id_checksum(id))
        return "its header fails its checksum";
    if (id->layout != want->layout)
        return "it has another layout";
    if (memcmp(id->boot_id, want->boot_id, sizeof id->boot_id) != 0 ||
        memcmp(id->boot_id, no_boot, sizeof no_boot) == 0)
        return "it is from another boot";
    if (id->device != want->device || id->inode != want->inode || id->born_s != want->born_s ||
        id->born_ns != want->born_ns)
        return "it is a copy of another file";
    return NULL;
}

const char *sfid__page_check(const struct sfid__page *page, const struct sfid__page_id *want,
                             size_t bytes, uint32_t *count) {
    const char *why = check_id(page, want, bytes);
    return why ? why : check_records(page, bytes, count);
}

const char *sfid__page_check_live(const struct sfid__page *page, const struct sfid__page_id *want,
                                  size_t bytes, uint32_t *count) {
    const char *why = check_id(page, want, bytes);
    if (why)
        return why;
    /* Acquire, with [publish] in record.c. The keeper that published a record had put memory behind
     * it. */
    const uint32_t current = atomic_load_explicit(&page->current, memory_order_acquire);
    if (current >= SFID__PAGE_RECORDS || sfid__page_bytes(current + 1) > bytes)
        return "its current record is missing";
    if (page->records[current].checksum != sfid__record_checksum(page, current))
        return "its current record fails its checksum";
    *count = current + 1;
    return NULL;
}

/*
 * Release, with the exchanges in keeper.c and keeper_berth.c: the keeper that clears the word sees
 * what was written before (stop). Acquire: who finds that an earlier turn has cleared it sees the
 * watch of that turn, and rings its bell.
 */
static bool set_poke(struct sfid__page *page) {
    return atomic_exchange_explicit(&page->poke, 1, memory_order_acq_rel) == 0;
}

/*
 * Relaxed: a crew that takes the page at this moment looks at the word in any case. One that leaves
 * the page at this moment leaves it to calls, which ask for another.
 */
static void call_keeper(struct sfid__page *page) {
    const uint64_t watch = atomic_load_explicit(&page->watch, memory_order_relaxed);
    if (watch)
        sfid__watch_ring(watch & ~SFID__IN_TURN,
                         atomic_load_explicit(&page->berth, memory_order_relaxed));
    else
        sfid__futex_wake(&page->poke, SFID__FUTEX_SHARED, 1);
}

void sfid__page_poke(struct sfid__page *page) {
    if (set_poke(page))
        call_keeper(page);
}

void sfid__page_wake(struct sfid__page *page) {
    set_poke(page);
    call_keeper(page);
}

void sfid__page_wake_all(struct sfid__page *page) {
    set_poke(page);
    sfid__futex_wake(&page->poke, SFID__FUTEX_SHARED, INT_MAX);
}

void sfid__page_announce(struct sfid__page *page) {
    /* Release, with the acquire in slow.c, look() [news]: who finds the word risen finds what it
     * was raised for. */
    atomic_fetch_add_explicit(&page->news, 1, memory_order_release);
    sfid__futex_wake(&page->news, SFID__FUTEX_SHARED, INT_MAX);
}
