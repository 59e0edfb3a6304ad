/* SPDX-License-Identifier: MIT */
/* keeper_tell.c - what others hear of a keeper: the events of its generator, and what it notes for
 * calls of any process. */
#include "lease/keeper_parts.h"

#include "draw/record.h"
#include "id/layout.h"
#include "lease/holder_tell.h"

#include <inttypes.h>
#include <stdio.h>

/* The page has the pid that is leased. */
static uint64_t pid_of(const struct sfid__keeper *k) {
    return k->holder && k->holder->by_host
               ? k->holder->worker
               : sfid__record_pid(sfid__page_current(k->generator->page));
}

static void tell_app(struct sfid__keeper *k, sfid_event_kind kind, int code, int64_t value,
                     const char *text) {
    if (k->on_event == NULL)
        return;
    /* A thread that does not keep knows nothing of the lease but what the page says. Relaxed: of
     * this thread. */
    const bool keeps = k->holder && atomic_load_explicit(&k->reign, memory_order_relaxed) != 0;
    const bool held = !keeps || sfid__holder_has_pid(k->holder);
    const int64_t pid = held ? (int64_t)pid_of(k) : -1;
    const sfid_event event = {kind, code, pid, value, text, k->app[0] ? k->app : NULL};
    k->on_event(k->user, &event);
}

void sfid__keeper_tell_event(void *keeper, sfid_event_kind kind, int code, int64_t value,
                             const char *text) {
    struct sfid__keeper *k = keeper;
    if (kind == SFID_EVENT_RENEW_FAILED || kind == SFID_EVENT_LOST) {
        /* statistic */
        atomic_fetch_add_explicit(kind == SFID_EVENT_LOST ? &k->losses : &k->failures, 1,
                                  memory_order_relaxed);
        /* release, with the acquire in status.c: the text is there */
        if (sfid__text_write(&k->failure, text))
            atomic_store_explicit(&k->failure_code, code, memory_order_release);
    } else if (kind == SFID_EVENT_RENEWED || kind == SFID_EVENT_LEASED_AGAIN) {
        atomic_store_explicit(&k->failures, 0, memory_order_relaxed);
        atomic_store_explicit(&k->failure_code, 0, memory_order_relaxed);
    }
    tell_app(k, kind, code, value, text);
}

static void tell_end(struct sfid__keeper *k) {
    char text[80];
    const sfid_layout *l = &k->generator->layout;
    const int64_t left =
        sfid__tick_begin_ms(l, l->max_tick + 1) - sfid__now(k->generator->clock).ms;
    snprintf(text, sizeof text, "the layout ends in %" PRId64 " day%s", left / 86400000,
             left / 86400000 == 1 ? "" : "s");
    tell_app(k, SFID_EVENT_END_OF_LIFE, 0, left, text);
}

void sfid__keeper_tell_keeps(struct sfid__keeper *k) {
    char text[80];
    snprintf(text, sizeof text, "this process extends the window of pid %" PRIu64 " from now on",
             sfid__record_pid(sfid__page_current(k->generator->page)));
    tell_app(k, SFID_EVENT_KEEPS, 0, 0, text);
}

void sfid__keeper_tell_opened(struct sfid__keeper *k) {
    char text[80];
    if (k->begun)
        return;
    k->begun = true;
    if (k->holder)
        sfid__holder_tell_opened(k->holder);
    if (k->ends_soon)
        tell_end(k);
    snprintf(text, sizeof text, "pid %" PRIu64 " is held", pid_of(k));
    tell_app(k, SFID_EVENT_LEASED, 0, 0, text);
}

/* Reports counters that the slow path raised. Relaxed: statistics. */
void sfid__keeper_tell_counters(struct sfid__keeper *k) {
    char text[160];
    struct sfid__generator *g = k->generator;
    const uint64_t regressions = atomic_load_explicit(&g->page->regressions, memory_order_relaxed);
    if (regressions != k->told_regressions) {
        const uint64_t ms =
            atomic_load_explicit(&g->page->largest_regression_ms, memory_order_relaxed);
        snprintf(text, sizeof text,
                 "the clock stepped back (%" PRIu64 " time%s so far, by %" PRIu64 " ms at most)",
                 regressions, regressions == 1 ? "" : "s", ms);
        k->told_regressions = regressions;
        tell_app(k, SFID_EVENT_REGRESSION, 0, (int64_t)ms, text);
    }
    const uint32_t exhausted = atomic_load_explicit(&g->exhausted, memory_order_relaxed);
    if (exhausted != k->told_exhausted) {
        const uint32_t more = exhausted - k->told_exhausted;
        snprintf(text, sizeof text, "the sequence was used up: %" PRIu32 " call%s waited or failed",
                 more, more == 1 ? "" : "s");
        k->told_exhausted = exhausted;
        tell_app(k, SFID_EVENT_EXHAUSTED, 0, (int64_t)more, text);
    }
}

/* ---- in the page ------------------------------------------------------------ */

void sfid__keeper_note_rest(const struct sfid__keeper *k, int64_t due_ms) {
    struct sfid__page *page = k->generator->page;
    const uint32_t resting = due_ms == SFID__FOREVER && k->holder ? SFID__RESTS
                             : sfid__keeper_backs_off(k)          ? SFID__FAILS
                                                                  : 0;
    /* Relaxed: a hint. Behind the step, so that nothing is left of what was asked meanwhile: the
     * answer is there. */
    atomic_store_explicit(&page->asked_ms, 0, memory_order_relaxed);
    /* A hint. Release, with the acquire in wait.c [resting]: a caller that finds the rest over also
     * finds the raised limit. */
    atomic_store_explicit(&page->resting, resting, memory_order_release);
}

/* A keeper of another process that waits for its server is no worse than one of this process would
 * be. */
static int64_t deaf_ms(const struct sfid__keeper *k) {
    const struct sfid__store *store = k->holder->store;
    const int64_t exchange_ms = sfid__keeper_shares(k) && store->server ? store->exchange_ms : 0;
    return SFID__MIN(sfid__keeper_window_ms(k) / 8, SFID__DEAF_MS + exchange_ms);
}

bool sfid__keeper_is_deaf(const struct sfid__keeper *k) {
    const int64_t asked = sfid__keeper_asked_ms(k), now = sfid__monotonic_ms(k->generator->clock);
    return asked != 0 && (now - asked > deaf_ms(k) || asked > now + SFID__DEAF_MS);
}
