/* SPDX-License-Identifier: MIT */
/*
 * wait.c - how a call sleeps, and asks for the keeper.
 *
 * [news] A call that can go on only once the keeper has done its part, or the handle closes, waits
 * for the page's word `news`. A keeper that raises a limit or publishes a record raises that word
 * afterwards, and wakes its sleepers; so does a close, after it has closed the handle
 * (sfid__page_announce()). The call has read the word before it looked at limit, record and handle
 * (look() in slow.c), and the kernel lets it sleep only while the word is what it was then. So it
 * sleeps through no news: it has seen what they are about, finds the word risen, or is woken.
 *
 * All this only ends a sleep early. Each sleep ends by itself, too: an older library raises no
 * word, a keeper can be killed before it wakes anybody, a sandbox may refuse the futex, and a
 * process that may write the page can write the word. After each sleep the call looks at everything
 * anew, so a word that lies costs time, never an ID.
 */
#include "draw/wait.h"

/* a keeper that is stopped is replaced within this time: SFID__DEAF_MS in keeper_parts.h */
#define ANSWERED_MS 2000

int64_t sfid__wait_left_ns(const struct sfid__generator *g, const struct sfid__call *call) {
    if (!call->may_sleep)
        return 0;
    if (call->deadline_ns == 0)
        return (int64_t)g->max_wait_ms * 1000000;
    return call->deadline_ns - g->clock->monotonic_ns(g->clock);
}

bool sfid__wait_ns(struct sfid__generator *g, struct sfid__call *call, int64_t ns, bool news) {
    const int64_t left = sfid__wait_left_ns(g, call);
    if (left <= 0)
        return false;
    if (!call->slept) {
        call->slept = true;
        call->deadline_ns = g->clock->monotonic_ns(g->clock) + left;
        atomic_fetch_add_explicit(&g->waits, 1, memory_order_relaxed); /* statistic */
    }
    const int64_t before = g->clock->monotonic_ns(g->clock),
                  nap_ns = SFID__MIN(SFID__MIN(ns, left), SFID__WAIT_LONGEST_NS);
    if (news)
        g->clock->wait_ns(g->clock, &g->page->news, call->news, nap_ns);
    else
        g->clock->sleep_ns(g->clock, nap_ns);
    /* it stands still, as libfaketime's may: the nap counts even so */
    if (g->clock->monotonic_ns(g->clock) == before)
        call->deadline_ns -= nap_ns;
    return true;
}

/* Notes since when the keeper is wanted, for keeper.c. Relaxed: a hint. */
static void ask_keeper(struct sfid__generator *g) {
    uint64_t nobody = 0;
    if (atomic_load_explicit(&g->page->asked_ms, memory_order_relaxed) == 0)
        atomic_compare_exchange_strong_explicit(&g->page->asked_ms, &nobody,
                                                (uint64_t)sfid__monotonic_ms(g->clock) | 1,
                                                memory_order_relaxed, memory_order_relaxed);
}

void sfid__draw_ask(struct sfid__generator *g) {
    ask_keeper(g);
    sfid__page_poke(g->page);
}

bool sfid__wait_is_short(const struct sfid__generator *g) {
    /* [resting] Acquire, with the release in keeper_tell.c: a call that finds the rest over finds
     * the limit raised, too. */
    const uint32_t resting = atomic_load_explicit(&g->page->resting, memory_order_acquire);
    if (!g->shared || resting != 0)
        return resting == SFID__RESTS;
    const int64_t asked = (int64_t)(atomic_load_explicit(&g->page->asked_ms, memory_order_relaxed) &
                                    INT64_MAX),
                  ms = sfid__monotonic_ms(g->clock) - asked;
    return asked == 0 || (ms < ANSWERED_MS && ms > -ANSWERED_MS);
}

void sfid__wait_want_keeper(struct sfid__generator *g, bool may_start, bool urgent) {
    if (g->half_window == 0)
        return;
    ask_keeper(g);
    (urgent ? sfid__page_wake : sfid__page_poke)(g->page);
    /* a hint, for hot.c is_in() */
    atomic_store_explicit(&g->keeper_due, !may_start, memory_order_relaxed);
    if (may_start && g->keeper_wanted)
        g->keeper_wanted(g);
}
