/* SPDX-License-Identifier: MIT */
/* status.c - what a handle says about itself: sfid_pid(), sfid_status() and sfid_last_error(). */
#include "api/handle.h"

#include "draw/record.h"
#include "id/layout.h"
#include "lease/holder_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t sfid_pid(const sfid *g) {
    if (g == NULL)
        return SFID_ECLOSED;
    g = sfid__front_handle(g);
    /* as look() */
    const struct sfid__record *r =
        atomic_load_explicit(sfid__record_at(&g->generator), memory_order_acquire);
    if (r == &sfid__no_record)
        return SFID_ECLOSED;
    return (int64_t)(sfid__is_wide(&g->generator) && g->wrap.by_host ? g->wrap.worker
                                                                     : sfid__record_pid(r));
}

/* ---- a look at the generator --------------------------------------------- */

struct look {
    const struct sfid__record *r;
    struct sfid__time now;
    uint64_t clock, tick, limit, hi;
    bool closed; /* the record: the lease ended before its window */
};

static uint64_t reported(const _Atomic uint64_t *p) {
    return atomic_load_explicit(p, memory_order_relaxed); /* the report need not be exact */
}

static struct look look_at(const struct sfid__generator *g) {
    struct look v = {.r = sfid__page_current(g->page), .now = sfid__now(g->clock)};
    v.clock = sfid__tick_of_ms(&g->layout, v.now.ms);
    v.tick = sfid__record_tick(v.r, sfid__record_position(v.r));
    v.limit = reported(&v.r->limit);
    v.hi = reported(&v.r->hi);
    v.closed = (reported(&v.r->word) & SFID__CLOSED) != 0;
    return v;
}

static int64_t ticks_ms(const struct sfid__generator *g, uint64_t from, uint64_t to) {
    return to > from ? (int64_t)((to - from) * g->layout.unit_ms) : 0;
}

/* ---- status -------------------------------------------------------------- */

static void fill_status(struct sfid__generator *g, struct sfid__cold *cold, sfid_status_info *out) {
    const struct look v = look_at(g);
    out->open = sfid__draw_ready(g);
    out->pid = (int64_t)sfid__record_pid(v.r);
    out->window_ms = v.limit >= g->end ? INT64_MAX : ticks_ms(g, v.clock, v.limit);
    out->ahead_ms = ticks_ms(g, v.clock, v.tick);
    out->issued =
        reported(&g->page->earlier_issued) + sfid__record_issued(v.r) - cold->issued_before;
    out->regressions = reported(&g->page->regressions);
    out->largest_regression_ms = (int64_t)reported(&g->page->largest_regression_ms);
    out->renewals = reported(&v.r->renewals);
    out->renew_failures = reported(&cold->keeper.failures);
    out->losses = reported(&cold->keeper.losses);
    out->keeper_here = sfid__keeper_keeps(&cold->keeper);
    out->shared = g->shared;
    out->first_tick = v.r->floor;
    out->limit_tick = v.limit;
    if (cold->keeper.holder)
        sfid__holder_status(cold->keeper.holder, out);
}

/* Relaxed: a closed handle does not change. Of several pages each has been closed. */
static bool is_left(const sfid *g) {
    while (g && !atomic_load_explicit(&g->generator.left, memory_order_relaxed))
        g = sfid__next_handle(g);
    return g != NULL;
}

/* Calls that may not sleep have asked for a keeper, and could start none. Relaxed: a hint. */
static void look_for_keeper(struct sfid__generator *g) {
    if (g->keeper_wanted && reported(&g->page->asked_ms) != 0)
        g->keeper_wanted(g);
}

int sfid_status(const sfid *handle, sfid_status_info *out) {
    if (handle == NULL || out == NULL)
        return SFID_EINVAL;
    sfid *g = sfid__front_handle(handle); /* the count of users is no part of what const promises */
    memset(out, 0, sizeof *out);
    out->pid = -1;
    out->replicas = -1;
    out->left = is_left(handle);
    struct sfid__cold *cold = sfid__cold_enter(g);
    if (cold && !sfid__is_closed(&g->generator)) {
        look_for_keeper(&g->generator);
        fill_status(&g->generator, cold, out);
    }
    out->last_code = cold && cold->failed
                         ? cold->failed
                         : atomic_load_explicit(&g->generator.last_code, memory_order_relaxed);
    out->waits = reported(&g->generator.waits);
    out->refused = reported(&g->generator.refused);
    if (cold)
        sfid__cold_leave(g);
    return 0;
}

/* ---- last error ---------------------------------------------------------- */

/* True if no ID came from a record that begins ahead of the clock: only the mark, a bound ahead of
 * use, put it there. */
static bool waits_for_mark(const struct sfid__cold *cold, const struct look *v) {
    return cold->keeper.holder && sfid__holder_goes_by_mark(cold->keeper.holder) &&
           v->tick == v->r->floor && v->tick > v->clock && sfid__record_issued(v->r) == 0;
}

/* Says what is over, and why: what the keeper failed at last, else `otherwise`. */
static void explain_end(struct sfid__cold *cold, const struct look *v, const char *otherwise,
                        char *out, size_t size) {
    char why[SFID__ERROR_TEXT];
    /* Acquire, with the release in keeper_tell.c: the text is there. */
    if (atomic_load_explicit(&cold->keeper.failure_code, memory_order_acquire) == 0 ||
        !sfid__text_read(&cold->keeper.failure, why))
        snprintf(why, sizeof why, "%s", otherwise);
    snprintf(out, size, "the %s is over: %s", v->closed ? "lease" : "window", why);
}

static void explain_wait(const struct sfid__generator *g, struct sfid__cold *cold,
                         const struct look *v, char *out, size_t size) {
    char until[SFID__TIME_TEXT];
    if (v->closed) {
        explain_end(cold, v, "its keeper was asked for another one", out, size);
        return;
    }
    if (!waits_for_mark(cold, v)) {
        if (SFID__MAX(v->tick, v->clock) >= v->limit)
            snprintf(out, size, "the window is over, and its keeper was asked to extend it");
        else if (v->tick <= v->clock)
            snprintf(out, size, "a call could not wait for the next ID, which is there by now");
        else
            snprintf(out, size,
                     "the sequence is used up: the tick of the next ID is %" PRId64
                     " ms ahead of the clock",
                     ticks_ms(g, v->clock, v->tick));
        return;
    }
    const int64_t ms = sfid__draw_retry_ms(g);
    sfid__time_text(sfid__tick_begin_ms(&g->layout, v->tick), v->now.ms, until);
    snprintf(
        out, size,
        "IDs up to %s may have been issued before the run directory or the mark was lost; the next one can be generated in "
        "%" PRId64 " s",
        until, ms / 1000 + (ms % 1000 != 0));
}

/* Says why a call failed, from how things stand now: the slow path writes no text. */
static void explain(const struct sfid__generator *g, struct sfid__cold *cold, int code, char *out,
                    size_t size) {
    const struct look v = look_at(g);
    switch (code) {
    case SFID_EINVAL:
        snprintf(out, size, "the IDs of this generator have %s: call %s",
                 sfid__is_wide(g) ? "up to 128 bits" : "64 bits",
                 sfid__is_wide(g) ? "sfid_next_wide(), sfid_try_next_wide() or sfid_next_n_wide()"
                                  : "sfid_next(), sfid_try_next() or sfid_next_n()");
        break;
    case SFID_EAGAIN:
        explain_wait(g, cold, &v, out, size);
        break;
    case SFID_ECLOCK:
        if (v.now.ms < g->layout.epoch_ms)
            sfid__layout_say_outside(&g->layout, g->end, v.now.ms, out, size);
        else
            snprintf(
                out, size,
                "the clock stepped back further than calls may wait or borrow; it is now %" PRId64
                " ms behind the latest time seen",
                ticks_ms(g, v.clock, v.hi));
        break;
    case SFID_EOVERFLOW:
        sfid__layout_say_outside(&g->layout, g->end, v.now.ms, out, size);
        break;
    case SFID_ELEASE:
        explain_end(cold, &v, "it was not renewed in time", out, size);
        break;
    default:
        snprintf(out, size, "%s", code ? sfid_strerror(code) : "");
        break;
    }
}

static void describe_status(sfid *g, char *out, size_t size) {
    struct sfid__cold *cold = sfid__cold_enter(g);
    /* about now */
    const int code = atomic_load_explicit(&g->generator.last_code, memory_order_relaxed);
    if (cold == NULL)
        snprintf(out, size, "the generator is closed");
    else if (cold->failed != 0)
        snprintf(out, size, "%s", cold->holder.error.text);
    else
        explain(&g->generator, cold, code, out, size);
    if (cold)
        sfid__cold_leave(g);
}

static pthread_key_t text_key;
static int text_key_error = -1;
static pthread_once_t text_once = PTHREAD_ONCE_INIT;

static void make_text_key(void) { text_key_error = pthread_key_create(&text_key, free); }

const char *sfid_last_error(const sfid *handle) {
    if (handle == NULL)
        return sfid_strerror(SFID_ENOMEM);
    pthread_once(&text_once, make_text_key);
    if (text_key_error != 0)
        return sfid_strerror(SFID_ENOMEM);
    char *text = pthread_getspecific(text_key);
    if (text == NULL) {
        text = malloc(2 * SFID__ERROR_TEXT);
        if (text == NULL || pthread_setspecific(text_key, text) != 0) {
            free(text);
            return sfid_strerror(SFID_ENOMEM);
        }
    }
    describe_status(sfid__front_handle(handle), text, 2 * SFID__ERROR_TEXT);
    return text;
}
