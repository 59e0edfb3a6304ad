/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - a thread to hold a pid and to tell of it.
 *
 * The thread sleeps on the page's poke word, a futex: there is no descriptor
 * that a daemon could close, and a forked child can wake its parent's keeper.
 *
 * owner is one word, process << 2 | state, changed by compare-and-swap: a
 * child sees its parent's process there and knows that this thread is not its
 * own. States: idle -> starting -> running -> ended -> (joined) starting or
 * idle. Starts may run with starts, the thread and reads; stop runs alone with
 * the thread and reads: sfid_close keeps every start out first.
 *
 * The page's lock says which process's keeper may work. It is a robust mutex:
 * the kernel frees it when its holder dies. The kernel knows the holder by
 * its thread number alone. Threads in two PID namespaces can have the same
 * number, so the death of one can free a lock that the other still holds.
 * Then two keepers have the page. The page counts them: the newer one raises
 * page->reign, and the older one ends before its next step.
 */
#include "lease/keeper.h"

#include "base/futex.h"
#include "base/process.h"
#include "draw/record.h"
#include "id/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREAD_NAME "sfid-keeper"
#define STACK_BYTES (256 * 1024) /* callbacks of the user run on it; untouched pages cost nothing */
#define BACKED_OFF_NAP_MS 50     /* how long a stop may go unheard */
#define EVENT_PERIOD_MS 1000
#define FOREVER SFID__FOREVER

enum { IDLE = 0, STARTING, RUNNING, ENDED };

/* ---- text shared with readers -------------------------------------------- */

static void write_text(struct sfid__shared_text *text, const char *from) {
    uint64_t words[SFID__ERROR_TEXT / 8] = {0};
    memcpy(words, from, strnlen(from, sizeof words - 1));
    /* A sequence lock: odd, then the words, then even. Release pairs with the acquires in sfid__text_read; the fence
       keeps the words behind the odd version. One writer. */
    const uint32_t version = atomic_load_explicit(&text->version, memory_order_relaxed) | 1;
    atomic_store_explicit(&text->version, version, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < sizeof words / 8; i++)
        atomic_store_explicit(&text->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&text->version, version + 1, memory_order_release);
}

bool sfid__text_read(const struct sfid__shared_text *text, char out[SFID__ERROR_TEXT]) {
    for (int round = 0; round < 1000; round++) {
        uint64_t words[SFID__ERROR_TEXT / 8];
        const uint32_t before = atomic_load_explicit(&text->version, memory_order_acquire);
        for (size_t i = 0; i < sizeof words / 8; i++)
            words[i] = atomic_load_explicit(&text->words[i], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if ((before & 1) == 0 && atomic_load_explicit(&text->version, memory_order_relaxed) == before) {
            memcpy(out, words, SFID__ERROR_TEXT);
            return true;
        }
    }
    return false;
}

/* ---- events -------------------------------------------------------------- */

static void tell(struct sfid__keeper *k, sfid_event_kind kind, int code, int64_t value, const char *text) {
    if (k->on_event == NULL)
        return;
    const bool held = k->holding == NULL || sfid__holder_has_pid(k->holding);
    const int64_t pid = held ? (int64_t)sfid__record_pid(sfid__page_current(k->generator->page)) : -1;
    const sfid_event event = {kind, code, pid, value, text, k->app[0] ? k->app : NULL};
    k->on_event(k->user, &event);
}

/* What the holder has to tell: noted for sfid_status() and sfid_last_error() as well. */
static void tell_event(void *keeper, sfid_event_kind kind, int code, int64_t value, const char *text) {
    struct sfid__keeper *k = keeper;
    if (kind == SFID_EVENT_RENEW_FAILED || kind == SFID_EVENT_LOST) {
        atomic_fetch_add_explicit(kind == SFID_EVENT_LOST ? &k->losses : &k->failures, 1, memory_order_relaxed); /* statistic */
        write_text(&k->failure, text);
        atomic_store_explicit(&k->failure_code, code, memory_order_release); /* with the acquire in sfid_last_error */
    } else if (kind == SFID_EVENT_RENEWED || kind == SFID_EVENT_LEASED_AGAIN) {
        atomic_store_explicit(&k->failures, 0, memory_order_relaxed);
        atomic_store_explicit(&k->failure_code, 0, memory_order_relaxed);
    }
    tell(k, kind, code, value, text);
}

static void tell_end(struct sfid__keeper *k) {
    char text[80];
    const sfid_layout *l = &k->generator->layout;
    const int64_t left = sfid__tick_begin_ms(l, l->max_tick + 1) - sfid__now(k->generator->clock).ms;
    snprintf(text, sizeof text, "the layout ends in %" PRId64 " days", left / 86400000);
    tell(k, SFID_EVENT_END_OF_LIFE, 0, left, text);
}

/* What open noticed before there was a thread to tell it. */
static void tell_opened(struct sfid__keeper *k) {
    char text[80];
    if (k->begun)
        return;
    k->begun = true;
    if (k->holding)
        sfid__holder_tell_opened(k->holding);
    if (k->ends_soon)
        tell_end(k);
    snprintf(text, sizeof text, "pid %" PRIu64 " is held", sfid__record_pid(sfid__page_current(k->generator->page)));
    tell(k, SFID_EVENT_LEASED, 0, 0, text);
}

/* Counters that the slow path only raises become events here. Relaxed: statistics. */
static void tell_counters(struct sfid__keeper *k) {
    char text[160];
    struct sfid__generator *g = k->generator;
    const uint64_t regressions = atomic_load_explicit(&g->page->regressions, memory_order_relaxed);
    if (regressions != k->told_regressions) {
        const uint64_t ms = atomic_load_explicit(&g->page->largest_regression_ms, memory_order_relaxed);
        snprintf(text, sizeof text, "the clock stepped back (%" PRIu64 " times so far, by %" PRIu64 " ms at most)", regressions,
                 ms);
        k->told_regressions = regressions;
        tell(k, SFID_EVENT_REGRESSION, 0, (int64_t)ms, text);
    }
    const uint32_t exhausted = atomic_load_explicit(&g->exhausted, memory_order_relaxed);
    if (exhausted != k->told_exhausted) {
        const uint32_t more = exhausted - k->told_exhausted;
        snprintf(text, sizeof text, "the sequence was used up: %" PRIu32 " call%s waited or failed", more, more == 1 ? "" : "s");
        k->told_exhausted = exhausted;
        tell(k, SFID_EVENT_EXHAUSTED, 0, (int64_t)more, text);
    }
}

/* ---- the thread ---------------------------------------------------------- */

/* In the thread of a keeper: which, and in what process, since a child forked inside a callback has a copy of both. */
static _Thread_local struct {
    const struct sfid__keeper *keeper;
    uint64_t process;
} self;

/* Until the next step is due, or the next look at the counters. */
static void rest(struct sfid__keeper *k, int64_t due_ms) {
    struct sfid__page *page = k->generator->page;
    int64_t ms = due_ms == FOREVER ? FOREVER : SFID__MAX(due_ms - sfid__monotonic_ms(k->generator->clock), 1);
    /* A hint. Release, with the acquire in slow.c [resting]: a limit raised comes before the end of the rest. */
    atomic_store_explicit(&page->resting, ms == FOREVER && k->holding != NULL, memory_order_release);
    if (k->on_event && ms > EVENT_PERIOD_MS)
        ms = EVENT_PERIOD_MS;
    if (k->holding == NULL || !sfid__holder_backs_off(k->holding))
        sfid__futex_wait(&page->poke, SFID__FUTEX_SHARED, 0, ms);
    else if (atomic_load_explicit(&k->stop, memory_order_acquire) == 0) /* a failure backs off, whoever pokes; as in run() */
        k->generator->clock->sleep_ns(k->generator->clock, SFID__MIN(ms, BACKED_OFF_NAP_MS) * 1000000);
}

/* False once another keeper has got the page's lock, though this one never let it go: see the head. */
static bool reigns(const struct sfid__keeper *k) {
    /* Acquire, with the exchange in thread_main: the older keeper sees what the newer one saw. */
    return k->holding == NULL || atomic_load_explicit(&k->generator->page->reign, memory_order_acquire) == k->reign;
}

static void run(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    bool poked = true;
    if (k->holding)
        sfid__holder_attend(k->holding, tell_event, k, &k->stop);
    tell_opened(k);
    if (k->holding)
        sfid__holder_resume(k->holding);
    /* Acquire, with the release in sfid__keeper_stop. */
    while (atomic_load_explicit(&k->stop, memory_order_acquire) == 0 && reigns(k)) {
        const int64_t due_ms = k->holding ? sfid__holder_step(k->holding, poked) : FOREVER;
        if (k->on_event)
            tell_counters(k);
        rest(k, due_ms);
        /* Acquire, with the release in sfid__page_poke: what the poker wrote before (stop) is seen above. A poke from
           here on is seen by the next wait. */
        poked = atomic_exchange_explicit(&page->poke, 0, memory_order_acq_rel) != 0;
    }
}

/* The page's lock, for as long as this thread lives. */
static bool lock_page(struct sfid__page *page) {
    const int rc = pthread_mutex_trylock(&page->keeper);
    if (rc == EOWNERDEAD) /* the keeper before us died with its process; the lock guards nothing that could be half done */
        return pthread_mutex_consistent(&page->keeper) == 0;
    return rc == 0;
}

static uint64_t own(int state) { return sfid__process() << 2 | (uint64_t)state; }

static void *thread_main(void *arg) {
    struct sfid__keeper *k = arg;
    struct sfid__page *page = k->generator->page;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0}); /* a callback may tell the host which thread this is */
    self.keeper = k;
    self.process = sfid__process();
    if (k->holding == NULL) {
        pthread_setname_np(pthread_self(), THREAD_NAME);
        run(k); /* it only tells this process's events: every process may have one */
    } else if (lock_page(page)) {
        pthread_setname_np(pthread_self(), THREAD_NAME); /* not before: of two that start at once one ends here */
        k->reign = atomic_fetch_add_explicit(&page->reign, 1, memory_order_acq_rel) + 1; /* with the acquire in reigns() */
        run(k);
        if (reigns(k))
            pthread_mutex_unlock(&page->keeper);
        else /* the lock is the newer keeper's, and its list of locks as well */
            sfid__holder_unfollow(k->holding);
    } else {
        sfid__holder_unfollow(k->holding);
    }
    atomic_store_explicit(&k->owner, own(ENDED), memory_order_release); /* with the acquire in sfid__keeper_start */
    return NULL;
}

static int create_thread(struct sfid__keeper *k) {
    pthread_attr_t attr;
    sigset_t all, before;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return rc;
    pthread_attr_setstacksize(&attr, SFID__MAX((size_t)STACK_BYTES, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
    sigfillset(&all); /* the thread inherits the mask: no signal of the program ever lands on it */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&k->thread, &attr, thread_main, k);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

/* True when no keeper of this fork family is alive. */
static bool lock_is_free(struct sfid__page *page) {
    if (!lock_page(page))
        return false;
    pthread_mutex_unlock(&page->keeper);
    return true;
}

int sfid__keeper_start(struct sfid__keeper *k) {
    /* Acquire, with the release in thread_main: an ended thread is joined only after its last word. */
    uint64_t owner = atomic_load_explicit(&k->owner, memory_order_acquire);
    if (owner == own(RUNNING) || owner == own(STARTING))
        return 0;
    if (k->holding && !lock_is_free(k->generator->page))
        return SFID_EAGAIN;
    /* One thread of this process wins; acq_rel so that k->thread passes from the last start to this one. */
    if (!atomic_compare_exchange_strong_explicit(&k->owner, &owner, own(STARTING), memory_order_acq_rel, memory_order_relaxed))
        return 0;
    if (owner == own(ENDED))
        pthread_join(k->thread, NULL);
    atomic_store_explicit(&k->stop, 0, memory_order_relaxed); /* before the thread is made */
    if (create_thread(k) != 0) {
        atomic_store_explicit(&k->owner, own(IDLE), memory_order_release);
        return SFID_ENOMEM;
    }
    uint64_t starting = own(STARTING); /* unless it has ended already */
    atomic_compare_exchange_strong_explicit(&k->owner, &starting, own(RUNNING), memory_order_acq_rel, memory_order_relaxed);
    return 0;
}

bool sfid__keeper_runs(const struct sfid__keeper *k) {
    const uint64_t owner = atomic_load_explicit(&k->owner, memory_order_relaxed);
    return owner == own(RUNNING) || owner == own(STARTING);
}

bool sfid__keeper_is_self(const struct sfid__keeper *k) { return self.keeper == k && self.process == sfid__process(); }

void sfid__keeper_stop(struct sfid__keeper *k) {
    /* Acquire, with the release half of the exchanges in sfid__keeper_start: k->thread is there. */
    const uint64_t owner = atomic_load_explicit(&k->owner, memory_order_acquire);
    if (owner >> 2 != sfid__process() || owner == own(IDLE))
        return;
    atomic_store_explicit(&k->stop, 1, memory_order_release); /* with the acquire in run() */
    sfid__page_wake(k->generator->page);
    pthread_join(k->thread, NULL);
    atomic_store_explicit(&k->owner, own(IDLE), memory_order_relaxed); /* alone: see the head */
}
