/* SPDX-License-Identifier: MIT */
/*
 * record.c - replaces one record by the next. The order of the steps is the proof:
 *
 *   1. close the old word (fetch_or). From now on nobody takes a position from
 *      it: a compare-and-swap fails, because the value differs; an add returns a
 *      position with the closed bit, which is dropped. fetch_or returns a
 *      position above every one taken before.
 *   2. write the new record, with its word at or above that position;
 *   3. publish its index [publish], release: a thread that reads the index with
 *      acquire (page.h, sfid__page_current) sees all of step 2.
 *
 * If step 3 came before step 1, one thread could issue from the new record
 * while another still issues lower positions from the old one.
 */
#include "draw/record.h"

#include "base/hash.h"
#include "id/layout.h"

#include <string.h>

uint64_t sfid__record_close(struct sfid__record *r) {
    /* Acq_rel: all positions below were taken before the caller acts on this one; what it does next
     * stays after. */
    return atomic_fetch_or_explicit(&r->word, SFID__CLOSED, memory_order_acq_rel) & ~SFID__CLOSED;
}

uint64_t sfid__record_furthest(const struct sfid__page *page, uint32_t n, uint64_t pid) {
    uint64_t position = 0;
    for (uint32_t i = 0; i < n; i++)
        if (sfid__record_pid(&page->records[i]) == pid)
            position = SFID__MAX(position, sfid__record_position(&page->records[i]));
    return position;
}

void sfid__record_raise_limit(struct sfid__record *r, uint64_t limit) {
    /* Release, with the acquire loads of limit in hot.c and slow.c [limit]: the mark that allows
     * the ticks from the record's position on is already durable. By exchange: a keeper that was
     * stopped may come late with a lower one. */
    uint64_t seen = atomic_load_explicit(&r->limit, memory_order_relaxed);
    while (limit > seen)
        if (atomic_compare_exchange_weak_explicit(&r->limit, &seen, limit, memory_order_release,
                                                  memory_order_relaxed))
            return;
}

void sfid__record_note(struct sfid__record *r, uint64_t nonce, uint64_t next_nonce) {
    /* Release, so that a process that finds the page after a kill sees the two change in this
     * order. Before a renewal only next_nonce changes. After it nonce becomes what next_nonce still
     * is. */
    atomic_store_explicit(&r->nonce, nonce, memory_order_release);
    atomic_store_explicit(&r->next_nonce, next_nonce, memory_order_release);
}

/* All relaxed: alone with the page, and the lock orders who comes next. Late threads change the
 * word alone, which is not in it. */
static uint64_t left_of(const struct sfid__record *r) {
    const uint64_t parts[] = {r->pid_field, r->token,
                              atomic_load_explicit(&r->limit, memory_order_relaxed)};
    return sfid__hash(SFID__HASH_SEED, parts, sizeof parts) | 1;
}

void sfid__record_leave(struct sfid__record *r, bool set) {
    atomic_store_explicit(&r->left, set ? left_of(r) : 0, memory_order_relaxed);
}

bool sfid__record_is_left(const struct sfid__record *r) {
    return atomic_load_explicit(&r->left, memory_order_relaxed) == left_of(r);
}

uint64_t sfid__record_issued(const struct sfid__record *r) {
    /* Relaxed: a statistic; the three may be from slightly different moments. */
    const uint64_t position = sfid__record_position(r);
    const uint64_t first = atomic_load_explicit(&r->first, memory_order_relaxed);
    const uint64_t skipped = atomic_load_explicit(&r->skipped, memory_order_relaxed);
    return position - first >= skipped ? position - first - skipped : 0;
}

static uint64_t seal_of(const struct sfid__signs *signs) {
    return sfid__hash(SFID__HASH_SEED, signs, sizeof *signs) | 1;
}

bool sfid__record_is_void(const struct sfid__record *r, uint64_t boot) {
    return r->seal != 0 && sfid__signs_changed(&r->signs, boot) && r->seal == seal_of(&r->signs);
}

struct sfid__signs sfid__record_signs(const struct sfid__record *r) {
    return r->seal != 0 && r->seal == seal_of(&r->signs) ? r->signs
                                                         : (struct sfid__signs){.boot = 0};
}

/* Fills in a record, but for its word. All relaxed: nobody can see the record before [publish]. */
static void record_fill(struct sfid__record *r, const struct sfid__start *start, uint64_t floor) {
    const sfid_layout *l = start->layout;
    memset((void *)r, 0, sizeof *r);
    atomic_store_explicit(&r->limit, start->limit, memory_order_relaxed);
    r->pid_field = start->pid << l->pid_shift;
    r->floor = floor;
    r->seq_bits = l->seq_bits;
    r->time_shift = l->time_shift;
    r->seq_shift = l->seq_shift;
    r->pid_shift = l->pid_shift;
    r->token = start->token;
    if (start->signs) {
        r->signs = *start->signs;
        r->seal = seal_of(&r->signs);
    }
    atomic_store_explicit(&r->nonce, start->nonce, memory_order_relaxed);
    atomic_store_explicit(&r->next_nonce, start->next_nonce, memory_order_relaxed);
}

/* Steps 1 and 2. `old` is the record before, or NULL. */
static struct sfid__record *record_begin(struct sfid__page *page, uint32_t count,
                                         struct sfid__record *old,
                                         const struct sfid__start *start) {
    struct sfid__record *r = &page->records[count];
    uint64_t position = start->position, hi = start->now, lead = 0;
    /*
     * A start ahead of the clock counts as a regression of that size: the lead covers it, up to
     * max_ahead, and IDs flow at once. Two cases add no lead. One tick ahead is where exhaustion
     * leaves every word. And if the start is where the record before stopped, a lead would let each
     * of many short lives begin further ahead. Another pid begins one tick later, and no caller is
     * to wait for that.
     */
    bool regressed = true;
    uint64_t expected = 1;
    if (old) {
        const uint64_t stopped = sfid__record_close(old);
        const uint64_t next_tick = sfid__record_tick(old, stopped) + 1;
        const bool same_pid = sfid__record_pid(old) == start->pid;
        regressed = !same_pid || start->position > stopped;
        expected = same_pid ? 1 : 0;
        position =
            SFID__MAX(position, same_pid ? stopped : next_tick << sfid__shift(old->seq_bits));
        hi = SFID__MAX(hi, atomic_load_explicit(&old->hi, memory_order_relaxed));
        lead = SFID__MIN(atomic_load_explicit(&old->lead, memory_order_relaxed), start->max_ahead);
    }
    const uint64_t tick = position >> start->layout->seq_bits;
    record_fill(r, start, tick);
    /* threads may have drawn from the old record since the start was computed */
    if (start->reaches)
        sfid__record_raise_limit(r, tick);
    if (regressed && tick > start->now + expected)
        lead = SFID__MAX(lead, SFID__MIN(tick - start->now - expected, start->max_ahead));
    atomic_store_explicit(&r->hi, hi, memory_order_relaxed);
    atomic_store_explicit(&r->lead, lead, memory_order_relaxed);
    atomic_store_explicit(&r->first, position, memory_order_relaxed);
    atomic_store_explicit(&r->word, position, memory_order_relaxed);
    r->checksum = sfid__record_checksum(page, count);
    return r;
}

/* Relaxed: a statistic. */
static void count_issued(struct sfid__page *page, const struct sfid__record *old) {
    atomic_fetch_add_explicit(&page->earlier_issued, sfid__record_issued(old),
                              memory_order_relaxed);
}

struct sfid__record *sfid__record_append(struct sfid__page *page, uint32_t count,
                                         const struct sfid__start *start) {
    struct sfid__record *old = count > 0 ? &page->records[count - 1] : NULL;
    struct sfid__record *r = record_begin(page, count, old, start);
    if (old)
        count_issued(page, old);
    atomic_store_explicit(&page->current, count, memory_order_release); /* [publish] */
    sfid__page_announce(page);
    return r;
}

void sfid__record_carry(struct sfid__page *fresh, struct sfid__record *carried) {
    const _Atomic uint64_t *from = (const _Atomic uint64_t *)(const void *)carried;
    uint64_t *to = (uint64_t *)(void *)&fresh->records[0];
    sfid__record_close(carried);
    /* Word by word, relaxed: late threads may still add to the closed word. Nobody has the new page
     * yet. */
    for (size_t i = 0; i < sizeof *carried / sizeof *to; i++)
        to[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
    fresh->records[0].checksum = sfid__record_checksum(fresh, 0);
}

struct sfid__record *sfid__record_replace(struct sfid__page *page, uint32_t i, uint32_t seen,
                                          const struct sfid__start *start) {
    struct sfid__record *old = &page->records[seen], *r = record_begin(page, i, old, start);
    uint32_t current = seen;
    /* [publish] as well. An index never comes back: each record is reserved by one keeper. */
    if (atomic_compare_exchange_strong_explicit(&page->current, &current, i, memory_order_release,
                                                memory_order_relaxed)) {
        sfid__page_announce(page);
        count_issued(page, old);
        return r;
    }
    sfid__record_close(r);
    return NULL;
}

const char *sfid__record_check_range(const struct sfid__record *r, uint64_t max_limit) {
    /* Relaxed: the caller is alone with the page. */
    const bool closed = (atomic_load_explicit(&r->word, memory_order_relaxed) & SFID__CLOSED) != 0;
    const uint64_t limit = atomic_load_explicit(&r->limit, memory_order_relaxed);
    const uint64_t tick = sfid__record_tick(r, sfid__record_position(r));
    if (tick < r->floor || tick > limit)
        return "its position is outside its window";
    if ((closed ? tick : limit) > max_limit)
        return "its window ends past what was granted";
    return NULL;
}
