/* SPDX-License-Identifier: MIT */
/*
 * walk_page.h - an owner's page in the walk: numbers are drawn from it, and each
 * window is held against those of all others.
 *
 * A process may draw as long as its record is open and below its limit,
 * however late and whatever its clock shows; so do these.
 */
#ifndef SFID_TESTS_WALK_PAGE_H
#define SFID_TESTS_WALK_PAGE_H

#include "walk_store.h"

static unsigned place_of(const struct owner *o) { return (unsigned)(o - w.owner); }

static void note(const struct owner *o, const char *what, uint64_t a, uint64_t b, uint64_t c,
                 uint64_t d) {
    trace((int)place_of(o), what, a, b, c, d);
}

static int64_t host_ms(const struct owner *o) { return w.now + o->ahead_ms; }

static bool is_stopped(const struct owner *o) { return w.now < o->stopped_till; }

/* Whether the numbers of an open record count: of two copies only one is known to the store. */
static bool counts(const struct owner *o) {
    return !o->gated && !is_superseded_copy(lease_info(o->page.token), o->page.pid, place_of(o));
}

/* Holds a window against those of all others that may still draw, also after a restart. */
static void check_overlap(const struct owner *o) {
    const struct page *p = &o->page;
    if (!counts(o))
        return;
    for (unsigned i = 0; i < OWNERS; i++) {
        const struct owner *other = &w.owner[i];
        const struct page *q = &other->page;
        if (other == o || other->phase == NOBODY || !q->there || !(q->open || q->left) ||
            q->pid != p->pid || !counts(other))
            continue;
        const uint64_t from = SFID__MAX(p->word / SEQUENCE, q->word / SEQUENCE),
                       to = SFID__MIN(p->limit, q->limit);
        if (from < to)
            broken(OVERLAP, "owners %u and %u may both draw tick %" PRIu64 " of pid %" PRIu64,
                   place_of(o), i, from, p->pid);
    }
}

/* Whether another lease has drawn a tick of the pid; *by gets who. */
static bool is_spent(const struct owner *o, uint64_t tick, unsigned *by) {
    const struct page *p = &o->page;
    const unsigned lease = tick < TICKS ? paper.drawn[p->pid][tick].lease : 0;
    *by = tick < TICKS ? paper.drawn[p->pid][tick].owner : 0;
    return lease && lease != paper.lease_of[p->token >> 24] &&
           !is_superseded_copy(&paper.lease[lease], p->pid, *by);
}

/* A window that begins or grows has no tick in it that was drawn under another lease, though that
 * be closed. */
static void check_unspent(const struct owner *o) {
    const struct page *p = &o->page;
    unsigned by;
    for (uint64_t tick = p->word / SEQUENCE; tick < p->limit && counts(o); tick++)
        if (is_spent(o, tick, &by))
            broken(DRAWN_TWICE,
                   "owner %u may draw tick %" PRIu64 " of pid %" PRIu64 ", which owner %u drew",
                   place_of(o), tick, p->pid, by);
}

static void check_window(const struct owner *o) {
    check_overlap(o);
    check_unspent(o);
}

static void count_number(struct owner *o, uint64_t number) {
    const struct page *p = &o->page;
    const uint64_t tick = number / SEQUENCE;
    struct lease_info *lease = lease_info(p->token);
    if (p->token == o->foreign_token)
        broken(STRANGER, "owner %u draws from pid %" PRIu64 ", which a stranger has", place_of(o),
               p->pid);
    if (!lease->cloned && number < lease->next_word)
        broken(WORD_BACK, "owner %u drew %" PRIu64 " of pid %" PRIu64 " after %" PRIu64,
               place_of(o), number, p->pid, lease->next_word - 1);
    lease->next_word = SFID__MAX(lease->next_word, number + 1);
    figures.drawn++;
    if (!counts(o))
        return;
    need(tick < TICKS, "tick %" PRIu64 " is past the walk's paper", tick);
    unsigned by;
    if (is_spent(o, tick, &by))
        broken(DRAWN_TWICE,
               "owner %u drew tick %" PRIu64 " of pid %" PRIu64
               ", as owner %u did under another lease",
               place_of(o), tick, p->pid, by);
    paper.drawn[p->pid][tick].lease = paper.lease_of[p->token >> 24];
    paper.drawn[p->pid][tick].owner = (uint8_t)place_of(o);
    paper.last_tick = SFID__MAX(paper.last_tick, tick);
}

/* One number: of the clock's tick, or any that the window allows. Asks for the keeper as callers
 * do. */
static void draw(struct owner *o, bool far) {
    struct page *p = &o->page;
    if (o->phase != UP || is_stopped(o) || !p->there || !p->open)
        return;
    const uint64_t clock = tick_of(host_ms(o)), end = p->limit * SEQUENCE;
    uint64_t number = SFID__MAX(p->word, clock * SEQUENCE);
    if (far && p->word < end)
        number = p->word + below(end - p->word);
    if (clock + (sfid__lease_is_brief(&o->machine) ? w.terms.first_window : w.terms.window) / 2 >=
        p->limit)
        o->poked = true;
    if (number >= end || o->gated || o->asks_first)
        return;
    p->word = number + 1;
    count_number(o, number);
}

#endif
