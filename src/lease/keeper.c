/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - the keeper: a thread that drives the holder and reports events.
 *
 * Uniqueness never depends on this thread. If it is late, cannot be made, or
 * hangs in a callback, no limit is raised, and calls return SFID_ELEASE once
 * the window is over. What can go wrong, and what this file does about it:
 *
 *   - fork() copies this struct, but no thread. The child finds its parent's
 *     process in `owner`, and starts a keeper of its own once it needs one.
 *   - The keeper's process is killed. The page's lock is a robust mutex, so the
 *     kernel frees it, and another process of the family can start a keeper.
 *   - The kernel frees a lock that is held. It knows the owner of the lock by
 *     its thread ID alone. Threads in two PID namespaces can have the same ID,
 *     so the death of one frees the lock of the other, and two keepers have the
 *     page. The newer one raises page->reign, and the older one ends (I3).
 *   - The keeper of a shared page is stopped, with its process. A call of another
 *     process finds a poke that was not answered, and starts a keeper there. It
 *     takes another seat, and raises page->reign.
 *   - A daemon closes all descriptors. The thread has none: it sleeps on the
 *     page's poke word, a futex. A forked child can poke its parent's keeper.
 *   - A callback closes its own generator, which would wait for itself:
 *     sfid_close() sees sfid__keeper_is_self() and returns. A callback that
 *     forks has a copy of `self` in the child, which names the parent's process.
 *   - A callback cancels this thread, or a signal arrives: both are blocked.
 *
 * Invariants:
 *
 *   I1  A process has at most one thread for a keeper. Only a compare-and-swap
 *       takes `owner` to STARTING: from idle, from ended, or from a value of
 *       another process. Its winner joins a thread that ended, and makes one.
 *   I2  A thread drives the holder only after it got the lock of a seat. It keeps
 *       the lock until it gets up. Nobody waits for the lock: it is only tried.
 *   I3  A thread begins a step only while page->reign is the value that it set
 *       itself. So of two that hold the lock, the older one ends after the step
 *       that it is in.
 *   I4  With a holder no poke is lost. The thread clears the poke word after its
 *       rest, then looks at `stop` and takes a step. A poke that comes later
 *       ends the next rest at once. After a failure the rest is a plain sleep,
 *       which hears a stop within BACKED_OFF_NAP_MS. Without a holder several
 *       threads may share the word: a stop is heard within EVENT_PERIOD_MS.
 *   I5  Before the first start the opening thread has the holder, and after
 *       sfid__keeper_stop() the closing thread has it. In between the keeper
 *       has it alone; others read atomics and what open wrote.
 *   I6  Only the thread writes `failure`. A reader never waits for it: it tries
 *       again, or finds that the text cannot be read.
 *
 * States in `owner`: idle -> starting -> running -> ended -> starting or idle.
 * A thread that ends at once may go from starting to ended.
 *
 * Who may run with whom, in one process:
 *
 *             start  thread  stop  reads
 *     start   yes    yes     no    yes    open, and calls that find half of the window gone
 *     thread         I1      yes   yes
 *     stop                   no    yes    sfid_close(), which keeps all other calls out first
 *
 * Reads are sfid__keeper_runs(), sfid__keeper_is_self(), sfid__text_read() and
 * the counters.
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
#define STACK_BYTES (256 * 1024) /* the user's callbacks run on it; untouched pages cost nothing */
#define BACKED_OFF_NAP_MS 50     /* a stop is heard within this time */
#define EVENT_PERIOD_MS 1000
#define DEAF_MS 1000 /* a keeper that leaves a poke unanswered for this long may be replaced, if the page is shared */
#define FOREVER SFID__FOREVER

enum { IDLE = 0, STARTING, RUNNING, ENDED };
enum { RUNG = 1, STOPS = 2 }; /* the bell */

/* ---- text shared with readers -------------------------------------------- */

static void write_text(struct sfid__shared_text *text, const char *from) {
    uint64_t words[SFID__ERROR_TEXT / 8] = {0};
    memcpy(words, from, strnlen(from, sizeof words - 1));
    /*
     * I6. A sequence lock: odd, then the words, then even. The release store pairs with the first acquire in
     * sfid__text_read; the fence pairs with the one there, and keeps the words behind the odd version.
     */
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

/* The page has the pid that is leased. */
static uint64_t pid_of(const struct sfid__keeper *k) {
    return k->holding && k->holding->by_host ? k->holding->worker : sfid__record_pid(sfid__page_current(k->generator->page));
}

static void tell(struct sfid__keeper *k, sfid_event_kind kind, int code, int64_t value, const char *text) {
    if (k->on_event == NULL)
        return;
    /* A thread that does not keep knows nothing of the lease but what the page says. Relaxed: of this thread. */
    const bool keeps = k->holding && atomic_load_explicit(&k->reign, memory_order_relaxed) != 0;
    const bool held = !keeps || sfid__holder_has_pid(k->holding);
    const int64_t pid = held ? (int64_t)pid_of(k) : -1;
    const sfid_event event = {kind, code, pid, value, text, k->app[0] ? k->app : NULL};
    k->on_event(k->user, &event);
}

/* Passes on a report of the holder, and notes it for sfid_status() and sfid_last_error(). */
static void tell_event(void *keeper, sfid_event_kind kind, int code, int64_t value, const char *text) {
    struct sfid__keeper *k = keeper;
    if (kind == SFID_EVENT_RENEW_FAILED || kind == SFID_EVENT_LOST) {
        atomic_fetch_add_explicit(kind == SFID_EVENT_LOST ? &k->losses : &k->failures, 1, memory_order_relaxed); /* statistic */
        write_text(&k->failure, text);
        atomic_store_explicit(&k->failure_code, code, memory_order_release); /* with the acquire in status.c: the text is there */
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
    snprintf(text, sizeof text, "the layout ends in %" PRId64 " day%s", left / 86400000, left / 86400000 == 1 ? "" : "s");
    tell(k, SFID_EVENT_END_OF_LIFE, 0, left, text);
}

static void tell_keeps(struct sfid__keeper *k) {
    char text[80];
    snprintf(text, sizeof text, "this process keeps pid %" PRIu64, sfid__record_pid(sfid__page_current(k->generator->page)));
    tell(k, SFID_EVENT_KEEPS, 0, 0, text);
}

/* Reports what open noticed before there was a thread. */
static void tell_opened(struct sfid__keeper *k) {
    char text[80];
    if (k->begun)
        return;
    k->begun = true;
    if (k->holding)
        sfid__holder_tell_opened(k->holding);
    if (k->ends_soon)
        tell_end(k);
    snprintf(text, sizeof text, "pid %" PRIu64 " is held", pid_of(k));
    tell(k, SFID_EVENT_LEASED, 0, 0, text);
}

/* Reports counters that the slow path raised. Relaxed: statistics. */
static void tell_counters(struct sfid__keeper *k) {
    char text[160];
    struct sfid__generator *g = k->generator;
    const uint64_t regressions = atomic_load_explicit(&g->page->regressions, memory_order_relaxed);
    if (regressions != k->told_regressions) {
        const uint64_t ms = atomic_load_explicit(&g->page->largest_regression_ms, memory_order_relaxed);
        snprintf(text, sizeof text, "the clock stepped back (%" PRIu64 " time%s so far, by %" PRIu64 " ms at most)", regressions,
                 regressions == 1 ? "" : "s", ms);
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

/* In a keeper's thread: which keeper, and in what process. A child forked inside a callback has a copy of both. */
static _Thread_local struct {
    const struct sfid__keeper *keeper;
    uint64_t process;
} self;

/* Sleeps until the next step is due, or the next look at the counters. */
static void rest(struct sfid__keeper *k, int64_t due_ms) {
    struct sfid__page *page = k->generator->page;
    int64_t ms = due_ms == FOREVER ? FOREVER : SFID__MAX(due_ms - sfid__monotonic_ms(k->generator->clock), 1);
    /* A hint. Release, with the acquire in slow.c [resting]: a caller that finds the rest over also finds the raised limit. */
    const bool backs_off = k->holding && sfid__holder_backs_off(k->holding);
    const uint32_t resting = ms == FOREVER && k->holding ? SFID__RESTS : backs_off ? SFID__FAILS : 0;
    atomic_store_explicit(&page->resting, resting, memory_order_release);
    if (k->on_event && ms > EVENT_PERIOD_MS)
        ms = EVENT_PERIOD_MS;
    if (!backs_off)
        sfid__futex_wait(&page->poke, SFID__FUTEX_SHARED, 0, ms);
    else if (atomic_load_explicit(&k->stop, memory_order_acquire) == 0) /* no poke ends this pause; acquire, as in run() */
        k->generator->clock->sleep_ns(k->generator->clock, SFID__MIN(ms, BACKED_OFF_NAP_MS) * 1000000);
}

/* Acquire, with the exchange in sit_down(): the older keeper sees what the newer one saw. */
static uint64_t reign_of(const struct sfid__page *page) { return atomic_load_explicit(&page->reign, memory_order_acquire); }

/* I3. False once another keeper has sat down, although this one never got up. */
static bool reigns(const struct sfid__keeper *k) {
    return k->holding == NULL || reign_of(k->generator->page) == atomic_load_explicit(&k->reign, memory_order_relaxed);
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
        /* Relaxed: a hint. Behind the step, so that nothing is left of what was asked meanwhile: the answer is there. */
        atomic_store_explicit(&page->asked_ms, 0, memory_order_relaxed);
        if (k->on_event)
            tell_counters(k);
        rest(k, due_ms);
        /* I4. Acquire, with the release in sfid__page_poke: what was written before the poke (stop) is seen above. */
        poked = atomic_exchange_explicit(&page->poke, 0, memory_order_acq_rel) != 0;
    }
}

/* ---- seats ----------------------------------------------------------------- */

/* I2. Takes the lock of a seat, for as long as this thread sits there; false if another thread has it. */
static bool lock_seat(struct sfid__seat *seat) {
    const int rc = pthread_mutex_trylock(&seat->lock);
    if (rc == EOWNERDEAD) /* the earlier keeper died with its process; nothing that the lock guards is half done */
        return pthread_mutex_consistent(&seat->lock) == 0;
    return rc == 0;
}

static bool is_shared(const struct sfid__keeper *k) { return k->holding && k->holding->shared; }

/* Relaxed: pace. */
static int64_t window_ms(const struct sfid__keeper *k) {
    const uint64_t early = atomic_load_explicit(&k->generator->page->early, memory_order_relaxed);
    return (int64_t)((early ? early : k->generator->half_window) * 2 * k->generator->layout.unit_ms);
}

/* Relaxed: a hint. A time of another time namespace may lie in the future; an election too many does no harm. */
static int64_t asked_ms(const struct sfid__keeper *k) {
    return (int64_t)atomic_load_explicit(&k->generator->page->asked_ms, memory_order_relaxed);
}

/* A keeper that waits for its server is no worse than another one would be. */
static int64_t deaf_ms(const struct sfid__keeper *k) {
    const struct sfid__store *store = k->holding->store;
    return SFID__MIN(window_ms(k) / 8, DEAF_MS + (store->server ? store->exchange_ms : 0));
}

/* True if the keeper does not answer, so its process is stopped, or waits for a disk as any other would. */
static bool is_deaf(const struct sfid__keeper *k) {
    const int64_t asked = asked_ms(k), now = sfid__monotonic_ms(k->generator->clock);
    return is_shared(k) && asked != 0 && (now - asked > deaf_ms(k) || asked > now + DEAF_MS);
}

/* True if the keeper that counts is alive, and answers. */
static bool is_kept(const struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    struct sfid__seat *seat = &page->seat[reign_of(page) % SFID__SEATS];
    if (!lock_seat(seat))
        return !is_deaf(k);
    pthread_mutex_unlock(&seat->lock);
    return false;
}

/*
 * Sits down on a free seat, and counts from now on. An earlier keeper that goes on finds that out after its step (I3). What it
 * still writes harms nobody: limits that rise, marks of its own seat, a record that it cannot publish.
 */
static bool sit_down(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    uint64_t reign = reign_of(page);
    if (is_kept(k))
        return false;
    for (unsigned i = 0; i < SFID__SEATS; i++) {
        const unsigned seat = (unsigned)((reign + i) % SFID__SEATS);
        if (!lock_seat(&page->seat[seat]))
            continue;
        const uint64_t mine = (reign / SFID__SEATS + 1) * SFID__SEATS + seat;
        atomic_store_explicit(&page->seat[seat].reign, mine, memory_order_relaxed); /* for get_up() of one that lost this lock */
        /* Acq_rel, with the acquire in reign_of(). Of two that sit down at once, one wins. */
        if (!atomic_compare_exchange_strong_explicit(&page->reign, &reign, mine, memory_order_acq_rel, memory_order_relaxed)) {
            pthread_mutex_unlock(&page->seat[seat].lock);
            return false;
        }
        k->seat = seat;
        atomic_store_explicit(&k->reign, mine, memory_order_relaxed);
        atomic_store_explicit(&page->asked_ms, 0, memory_order_relaxed);
        return true;
    }
    return false;
}

static void get_up(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    struct sfid__seat *seat = &page->seat[k->seat];
    if (!reigns(k))
        sfid__page_wake(page); /* this thread may have taken a poke that was meant for the other one */
    else
        atomic_store_explicit(&page->resting, 0, memory_order_relaxed); /* a hint: nobody rests any more */
    if (!reigns(k) || is_shared(k))
        sfid__holder_unfollow(k->holding);
    /* Relaxed: only the thread with the lock writes it. If it has changed, the lock is the newer keeper's (head of the file),
       and stands in its list of robust locks. */
    if (atomic_load_explicit(&seat->reign, memory_order_relaxed) == atomic_load_explicit(&k->reign, memory_order_relaxed))
        pthread_mutex_unlock(&seat->lock);
    atomic_store_explicit(&k->reign, 0, memory_order_relaxed);
}

/* Keeps until it has to stop, or another keeper has sat down. False if there is a keeper. */
static bool keep(struct sfid__keeper *k) {
    if (!sit_down(k))
        return false;
    pthread_setname_np(pthread_self(), THREAD_NAME); /* not before: of two that start at once, one ends here */
    sfid__holder_sit(k->holding, k->seat);
    if (is_shared(k))
        tell_keeps(k);
    run(k);
    get_up(k);
    return true;
}

/*
 * Sleeps until a call of this process wants a keeper, or until the lease of a server has to be looked at. While the keeper of
 * another process is asked, it looks again soon: that one may answer, or be deaf. It also looks now and then, because a child
 * without a thread cannot ring.
 */
static void listen(struct sfid__keeper *k) {
    const int64_t eighth_ms = window_ms(k) / 8, second_ms = SFID__MIN(eighth_ms, EVENT_PERIOD_MS);
    const bool asked = asked_ms(k) != 0;
    uint32_t silent = 0;
    if (asked)
        atomic_compare_exchange_strong_explicit(&k->bell, &silent, RUNG, memory_order_relaxed, memory_order_relaxed);
    const int64_t ms = asked ? second_ms / 4 : k->on_event ? second_ms : eighth_ms;
    sfid__futex_wait(&k->bell, SFID__FUTEX_PRIVATE, asked ? RUNG : 0, SFID__MAX(ms, 1));
}

/* The thread of a process that shares its page: it reports this process's own events, and keeps if a call asks and nobody does. */
static void attend(struct sfid__keeper *k) {
    pthread_setname_np(pthread_self(), THREAD_NAME);
    sfid__holder_attend(k->holding, tell_event, k, &k->stop);
    tell_opened(k);
    /* Acquire, with the release in sfid__keeper_stop. */
    while (atomic_load_explicit(&k->stop, memory_order_acquire) == 0) {
        uint32_t rung = RUNG;
        /* Acquire, with the release in sfid__keeper_ring(): what was asked before it rang is seen below. */
        atomic_compare_exchange_strong_explicit(&k->bell, &rung, 0, memory_order_acquire, memory_order_relaxed);
        if (sfid__holder_is_due(k->holding))
            sfid__draw_ask(k->generator);
        if (asked_ms(k) != 0)
            keep(k);
        tell_counters(k);
        listen(k);
    }
}

void sfid__keeper_ring(struct sfid__keeper *k) {
    uint32_t silent = 0;
    if (is_shared(k) && atomic_compare_exchange_strong_explicit(&k->bell, &silent, RUNG, memory_order_release, memory_order_relaxed))
        sfid__futex_wake(&k->bell, SFID__FUTEX_PRIVATE, 1);
}

/* What `owner` has in it, but for the state. */
static uint64_t own(void) { return sfid__process() << 2; }

static void *thread_main(void *arg) {
    struct sfid__keeper *k = arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0}); /* a callback may show the host which thread this is */
    self.keeper = k;
    self.process = sfid__process();
    if (k->holding == NULL) {
        pthread_setname_np(pthread_self(), THREAD_NAME);
        run(k); /* without a holder it only reports this process's events: each process may have one */
    } else if (is_shared(k)) {
        attend(k);
    } else if (!keep(k)) {
        sfid__holder_unfollow(k->holding);
    }
    atomic_store_explicit(&k->owner, own() | ENDED, memory_order_release); /* with the acquire in sfid__keeper_start */
    return NULL;
}

int sfid__keeper_thread(pthread_t *thread, void *(*main)(void *), void *arg) {
    pthread_attr_t attr;
    sigset_t all, before;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return rc;
    pthread_attr_setstacksize(&attr, SFID__MAX((size_t)STACK_BYTES, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
    sigfillset(&all); /* the thread inherits the mask: no signal of the program arrives there */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, &attr, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

int sfid__keeper_start(struct sfid__keeper *k) {
    /* Acquire, with the release in thread_main: a thread is joined only after its last store. */
    uint64_t owner = atomic_load_explicit(&k->owner, memory_order_acquire);
    const uint64_t us = own();
    if (owner == (us | RUNNING) || owner == (us | STARTING))
        return 0;
    if (k->holding && !is_shared(k) && is_kept(k))
        return SFID_EAGAIN;
    /* I1. Acq_rel: k->thread passes from the last start to this one. */
    if (!atomic_compare_exchange_strong_explicit(&k->owner, &owner, us | STARTING, memory_order_acq_rel, memory_order_relaxed))
        return 0;
    if (owner == (us | ENDED))
        pthread_join(k->thread, NULL);
    atomic_store_explicit(&k->stop, 0, memory_order_relaxed); /* before the thread is made */
    atomic_store_explicit(&k->bell, 0, memory_order_relaxed);
    if (sfid__keeper_thread(&k->thread, thread_main, k) != 0) {
        atomic_store_explicit(&k->owner, us | IDLE, memory_order_release);
        return SFID_ENOMEM;
    }
    uint64_t starting = us | STARTING; /* unless it has ended already */
    atomic_compare_exchange_strong_explicit(&k->owner, &starting, us | RUNNING, memory_order_acq_rel, memory_order_relaxed);
    return 0;
}

bool sfid__keeper_runs(const struct sfid__keeper *k) {
    const uint64_t owner = atomic_load_explicit(&k->owner, memory_order_relaxed), us = own();
    return owner == (us | RUNNING) || owner == (us | STARTING);
}

bool sfid__keeper_keeps(const struct sfid__keeper *k) {
    return sfid__keeper_runs(k) && (!is_shared(k) || atomic_load_explicit(&k->reign, memory_order_relaxed) != 0);
}

bool sfid__keeper_is_self(const struct sfid__keeper *k) { return self.keeper == k && self.process == sfid__process(); }

static bool has_ended(const struct sfid__keeper *k) {
    return atomic_load_explicit(&k->owner, memory_order_relaxed) == (own() | ENDED); /* pthread_join() orders */
}

void sfid__keeper_stop(struct sfid__keeper *k) {
    /* Acquire, with the release half of the exchanges in sfid__keeper_start: k->thread is set. */
    const uint64_t owner = atomic_load_explicit(&k->owner, memory_order_acquire);
    const uint64_t us = own();
    if (owner >> 2 != us >> 2 || owner == (us | IDLE))
        return;
    atomic_store_explicit(&k->stop, 1, memory_order_release); /* with the acquire in run() and attend() */
    atomic_store_explicit(&k->bell, STOPS, memory_order_relaxed);
    sfid__futex_wake(&k->bell, SFID__FUTEX_PRIVATE, 1);
    if (!is_shared(k))
        sfid__page_wake(k->generator->page);
    /* Two keepers may sleep on the word of a page that is shared, and the other one may take the poke. */
    for (int64_t nap_ns = 10000; is_shared(k) && !has_ended(k); nap_ns = SFID__MIN(nap_ns * 2, 10000000)) {
        k->generator->clock->sleep_ns(k->generator->clock, nap_ns);
        if (atomic_load_explicit(&k->reign, memory_order_relaxed) != 0)
            sfid__page_wake_all(k->generator->page);
    }
    pthread_join(k->thread, NULL);
    atomic_store_explicit(&k->owner, us | IDLE, memory_order_relaxed); /* alone: see the table */
}
