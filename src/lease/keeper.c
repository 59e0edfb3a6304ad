/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - the keeper: it drives the holder and reports events, in the crew of
 * the process (crew.h) or in a thread of its own.
 *
 * Uniqueness never depends on a keeper. If it is late, cannot be had, or hangs
 * in a callback, no limit is raised, and calls return SFID_ELEASE once the
 * window is over. What can go wrong, and what these files do about it:
 *
 *   - fork() copies this struct, but no thread. The child finds its parent's
 *     process in `owner`, and starts a keeper of its own once it needs one.
 *   - The keeper's process is killed. A crew's watch and a seat of the page show
 *     that (base/alive.h), and another process of the family can start a keeper.
 *   - They show it of a keeper that lives. Threads in two PID namespaces can have
 *     one number: if one of them is killed while it takes or leaves a seat that
 *     the other one gets at that moment, the kernel takes the one for the other.
 *     And whoever may write the page can write the word. So two keepers have the
 *     page. The newer one raises page->reign, or puts its name into page->watch,
 *     and the older one ends (I3). If it frees the newer one's seat then, because
 *     their numbers are the same, a third one comes, and so on: each raises
 *     page->reign.
 *   - The keeper's process is stopped, or its crew is stuck in turns of other
 *     generators. A call of another process finds a poke that was not answered,
 *     and starts a keeper there. On a shared page that keeper takes another seat
 *     and raises page->reign. On any other page it takes page->watch, unless that
 *     shows a step under way (I7).
 *   - A daemon closes all descriptors. The threads have none: they sleep on a
 *     futex. A forked child can poke its parent's keeper.
 *   - A callback closes its own generator, which would wait for itself:
 *     sfid_close() sees sfid__keeper_is_self() and returns. A callback that
 *     forks has a copy of `self` in the child, which names the parent's process.
 *   - A callback cancels this thread, or a signal arrives: both are blocked.
 *
 * Invariants:
 *
 *   I1  A process has at most one thread, or one berth, for a keeper. Only a
 *       compare-and-swap takes `owner` to STARTING: from idle, from ended, or
 *       from a value of another process. Its winner joins a thread that ended,
 *       and makes one, or joins the crew.
 *   I2  A thread of its own drives the holder only after it took a seat, and has
 *       that until it gets up. Nobody waits for a seat: it is only tried. In the
 *       crew I7 takes its place.
 *   I3  A step begins only while page->reign, or page->watch, is the value that
 *       this keeper set itself. So of two the older one ends after the step that
 *       it is in.
 *   I4  With a holder no poke is lost. The poke word is cleared after a rest;
 *       then comes a look at `stop`, and a step. A poke that comes later ends
 *       the next rest at once (in the crew: crew.c, I3). After a failure a
 *       thread waits for its bell instead, which hears a stop and no poke; a
 *       berth is taken out of the crew. Without a holder
 *       several threads may share the word: a stop is heard within
 *       EVENT_PERIOD_MS.
 *   I5  Before the first start the opening thread has the holder, and after
 *       sfid__keeper_stop() the closing thread has it. In between the keeper
 *       has it alone; others read atomics and what open wrote.
 *   I6  Only the keeper writes `failure`. A reader never waits for it: it tries
 *       again, or finds that the text cannot be read.
 *   I7  In the crew, a compare-and-swap of page->watch begins and ends each step:
 *       from the value that says that nobody keeps the page, or from this crew's
 *       watch, to that watch IN_TURN; and back. Another process takes the page
 *       only from a watch that is dead, or that is not IN_TURN and deaf, and not
 *       in a pause after a failure. So two crews never take a step of one page
 *       at once, but where a watch lies. The older one stays in its
 *       crew, and looks now and then whether the newer one lives.
 *   I8  A keeper acts on what it knows of the lease only if nobody has kept the
 *       page since it learned that. Whoever takes the page raises page->reign;
 *       a keeper that finds another value than at open, or than its crew set,
 *       reads the page anew, and so does one that has given way. A first turn may
 *       come long after open, while a child has kept the page and died.
 *   I9  A crew whose step fails on a pid of this host, with the window over, keeps
 *       the page no longer, and takes it again when the next try is due. In between
 *       another process of the family may take it, and perhaps can renew: where the
 *       state directory was lost, the lock of the new mark belongs to the one process
 *       that made it; where a process sees other directories, its writes fail alone.
 *       A server's failure would be the same for all.
 *
 * States in `owner`: idle -> starting -> running -> ended -> starting or idle.
 * In a crew that ends at once it may go from starting to ended.
 *
 * Who may run with whom, in one process:
 *
 *             start  keeper  stop  reads
 *     start   yes    yes     no    yes    open, and calls that find half of the window gone
 *     keeper         I1      yes   yes
 *     stop                   no    yes    sfid_close(), which keeps all other calls out first
 *
 * Reads are sfid__keeper_runs(), sfid__keeper_is_self(), sfid__keeper_is_missed(),
 * sfid__keeper_look(), sfid__text_read() and the counters.
 */
#include "lease/keeper.h"

#include "base/futex.h"
#include "base/thread.h"

#include <errno.h>
#include <sched.h>

#define THREAD_NAME "sfid-keeper"
#define EVENT_PERIOD_MS 1000

/* ---- a thread of its own -------------------------------------------------- */

/* In a keeper's thread: which keeper, and in what process. A child forked inside a callback has a
 * copy of both. */
static _Thread_local struct {
    const struct sfid__keeper *keeper;
    uint64_t process;
} self;

/* Sleeps until the next step is due, or the next look at the counters. */
static void rest(struct sfid__keeper *k, int64_t due_ms) {
    struct sfid__page *page = k->generator->page;
    int64_t ms = due_ms == SFID__FOREVER
                     ? SFID__FOREVER
                     : SFID__MAX(due_ms - sfid__monotonic_ms(k->generator->clock), 1);
    if (k->on_event && ms > EVENT_PERIOD_MS)
        ms = EVENT_PERIOD_MS;
    if (!sfid__keeper_pauses(k))
        sfid__futex_wait(&page->poke, SFID__FUTEX_SHARED, 0, ms);
    /* no poke ends this pause; acquire, as in run() */
    else if (atomic_load_explicit(&k->stop, memory_order_acquire) == 0)
        k->generator->clock->wait_ns(k->generator->clock, &k->bell, 0,
                                     SFID__MIN(ms, EVENT_PERIOD_MS) * 1000000);
}

/* Acquire, with the exchange in sit_down(): the older keeper sees what the newer one saw. */
static uint64_t reign_of(const struct sfid__page *page) {
    return atomic_load_explicit(&page->reign, memory_order_acquire);
}

/* I3. False once another keeper has sat down, although this one never got up. */
static bool reigns(const struct sfid__keeper *k) {
    return k->holder == NULL ||
           reign_of(k->generator->page) == atomic_load_explicit(&k->reign, memory_order_relaxed);
}

static void run(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    bool poked = true;
    if (k->holder)
        sfid__holder_attend(k->holder, sfid__keeper_tell_event, k, &k->stop);
    sfid__keeper_tell_opened(k);
    if (k->holder)
        sfid__holder_resume(k->holder);
    /* Acquire, with the release in sfid__keeper_stop. */
    while (atomic_load_explicit(&k->stop, memory_order_acquire) == 0 && reigns(k)) {
        const int64_t due_ms = k->holder ? sfid__holder_step(k->holder, poked) : SFID__FOREVER;
        sfid__keeper_note_rest(k, due_ms);
        if (k->on_event)
            sfid__keeper_tell_counters(k);
        rest(k, due_ms);
        /* I4. Acquire, with the release in sfid__page_poke: what was written before the poke (stop)
         * is seen above. */
        poked = atomic_exchange_explicit(&page->poke, 0, memory_order_acq_rel) != 0;
    }
}

/* ---- seats ----------------------------------------------------------------- */

/* True if the thread that counts is alive, and answers. */
static bool is_kept(const struct sfid__keeper *k) {
    const struct sfid__page *page = k->generator->page;
    return sfid__alive(&page->seat[reign_of(page) % SFID__SEATS].keeper) &&
           (!sfid__keeper_shares(k) || !sfid__keeper_is_deaf(k));
}

/*
 * Sits down on a free seat, and counts from now on. An earlier keeper that goes on finds that out
 * after its step (I3). What it still writes harms nobody: limits that rise, marks of its own seat,
 * a record that it cannot publish.
 */
static bool sit_down(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    uint64_t reign = reign_of(page);
    if (is_kept(k))
        return false;
    for (unsigned i = 0; i < SFID__SEATS; i++) {
        const unsigned seat = (unsigned)((reign + i) % SFID__SEATS);
        if (!sfid__alive_take(&page->seat[seat].keeper)) /* I2 */
            continue;
        const uint64_t mine = (reign / SFID__SEATS + 1) * SFID__SEATS + seat;
        /* Acq_rel, with the acquire in reign_of(). Of two that sit down at once, one wins. */
        if (!atomic_compare_exchange_strong_explicit(&page->reign, &reign, mine,
                                                     memory_order_acq_rel, memory_order_relaxed)) {
            sfid__alive_leave(&page->seat[seat].keeper);
            return false;
        }
        if (reign != k->followed)
            sfid__holder_unfollow(k->holder); /* I8 */
        atomic_store_explicit(&k->reign, mine, memory_order_relaxed);
        atomic_store_explicit(&page->asked_ms, 0, memory_order_relaxed);
        return true;
    }
    return false;
}

static void get_up(struct sfid__keeper *k) {
    struct sfid__page *page = k->generator->page;
    /* this thread has written it */
    const uint64_t reign = atomic_load_explicit(&k->reign, memory_order_relaxed);
    if (!reigns(k))
        /* this thread may have taken a poke that was meant for the other one */
        sfid__page_wake(page);
    else
        /* a hint: nobody rests any more */
        atomic_store_explicit(&page->resting, 0, memory_order_relaxed);
    if (!reigns(k) || sfid__keeper_shares(k))
        sfid__holder_unfollow(k->holder);
    sfid__alive_leave(&page->seat[reign % SFID__SEATS].keeper);
    atomic_store_explicit(&k->reign, 0, memory_order_relaxed);
}

/* Keeps until it has to stop, or another keeper has sat down. False if there is a keeper. */
static bool keep(struct sfid__keeper *k) {
    if (!sit_down(k))
        return false;
    /* not before: of two that start at once, one ends here */
    pthread_setname_np(pthread_self(), THREAD_NAME);
    /* this thread has written it */
    sfid__holder_sit(k->holder, atomic_load_explicit(&k->reign, memory_order_relaxed));
    if (sfid__keeper_shares(k))
        sfid__keeper_tell_keeps(k);
    run(k);
    get_up(k);
    return true;
}

/* True if this process's thread stays even while another keeps: its callback wants to hear of this
 * process's events. */
static bool attends(const struct sfid__keeper *k) { return sfid__keeper_shares(k) && k->on_event; }

/* Sleeps until the next look. It is soon if the keeper of another process was asked: that one may
 * answer, or be deaf. */
static void listen(struct sfid__keeper *k) {
    const int64_t ms = SFID__MIN(sfid__keeper_window_ms(k) / 8, EVENT_PERIOD_MS);
    sfid__futex_wait(&k->bell, SFID__FUTEX_SHARED, 0,
                     SFID__MAX(sfid__keeper_asked_ms(k) ? ms / 4 : ms, 1));
}

/* A thread that stays: it reports this process's events, and keeps whenever nobody does. */
static void attend(struct sfid__keeper *k) {
    pthread_setname_np(pthread_self(), THREAD_NAME);
    sfid__holder_attend(k->holder, sfid__keeper_tell_event, k, &k->stop);
    sfid__keeper_tell_opened(k);
    /* Acquire, with the release in sfid__keeper_stop. */
    while (atomic_load_explicit(&k->stop, memory_order_acquire) == 0) {
        if (sfid__holder_is_due(k->holder))
            sfid__draw_ask(k->generator);
        keep(k);
        sfid__keeper_tell_counters(k);
        listen(k);
    }
}

/*
 * I1. POSIX lets pthread_create() set k->thread after the thread has begun. One that ended before
 * that would be joined by whatever stood there. The starting thread waits for nothing, so this is
 * short. Acquire, with the exchange at the end of sfid__keeper_start.
 */
static void await_made(const struct sfid__keeper *k) {
    while (atomic_load_explicit(&k->owner, memory_order_acquire) ==
           (sfid__keeper_own() | SFID__KEEPER_STARTING))
        sched_yield();
}

static void *keeper_main(void *arg) {
    struct sfid__keeper *k = arg;
    /* a callback may show the host which thread this is */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});
    self.keeper = k;
    self.process = sfid__process();
    if (k->holder == NULL) {
        pthread_setname_np(pthread_self(), THREAD_NAME);
        /* without a holder it only reports this process's events: each process may have one */
        run(k);
    } else if (attends(k)) {
        attend(k);
    } else if (!keep(k)) {
        sfid__holder_unfollow(k->holder);
    }
    await_made(k);
    atomic_store_explicit(&k->owner, sfid__keeper_own() | SFID__KEEPER_ENDED,
                          memory_order_release); /* with the acquire in sfid__keeper_start */
    return NULL;
}

/* 0 or an errno. */
static int make_thread(struct sfid__keeper *k, bool another) {
    if (another)
        pthread_join(k->thread, NULL);
    atomic_store_explicit(&k->bell, 0, memory_order_relaxed); /* before the thread is made */
    return sfid__thread_start(&k->thread, keeper_main, k);
}

int sfid__keeper_start(struct sfid__keeper *k) {
    /* the exchange below decides, and acquires */
    uint64_t owner = atomic_load_explicit(&k->owner, memory_order_relaxed);
    const bool in_crew = sfid__keeper_in_crew(k);
    const uint64_t us = sfid__keeper_own();
    if (owner == (us | SFID__KEEPER_RUNNING) || owner == (us | SFID__KEEPER_STARTING))
        return 0;
    if (in_crew ? sfid__berth_is_served(k) : k->holder && !attends(k) && is_kept(k))
        return SFID_EAGAIN;
    /* I1. Acq_rel, with the release in keeper_main() and has_left(): k->thread and k->berth pass
     * from the last start to this one, and a thread is joined only after its last store. */
    if (!atomic_compare_exchange_strong_explicit(&k->owner, &owner, us | SFID__KEEPER_STARTING,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return 0;
    atomic_store_explicit(&k->stop, 0, memory_order_relaxed); /* before the thread is made */
    const int why =
        in_crew ? sfid__berth_join(k) : make_thread(k, owner == (us | SFID__KEEPER_ENDED));
    if (why) {
        atomic_store_explicit(&k->owner, us | SFID__KEEPER_IDLE, memory_order_release);
        return why;
    }
    uint64_t starting = us | SFID__KEEPER_STARTING; /* unless the crew has ended already */
    atomic_compare_exchange_strong_explicit(&k->owner, &starting, us | SFID__KEEPER_RUNNING,
                                            memory_order_acq_rel, memory_order_relaxed);
    return 0;
}

bool sfid__keeper_runs(const struct sfid__keeper *k) {
    const uint64_t owner = atomic_load_explicit(&k->owner, memory_order_relaxed),
                   us = sfid__keeper_own();
    return owner == (us | SFID__KEEPER_RUNNING) || owner == (us | SFID__KEEPER_STARTING);
}

/* Relaxed: for sfid_status(). */
bool sfid__keeper_keeps(const struct sfid__keeper *k) {
    return sfid__keeper_runs(k) && !atomic_load_explicit(&k->gave_way, memory_order_relaxed) &&
           (!sfid__keeper_shares(k) || atomic_load_explicit(&k->reign, memory_order_relaxed) != 0);
}

bool sfid__keeper_is_self(const struct sfid__keeper *k) {
    return self.keeper == k && self.process == sfid__process();
}

static bool has_ended(const struct sfid__keeper *k) {
    return atomic_load_explicit(&k->owner, memory_order_relaxed) ==
           (sfid__keeper_own() | SFID__KEEPER_ENDED); /* pthread_join() orders */
}

static void end_thread(struct sfid__keeper *k) {
    atomic_store_explicit(&k->bell, 1, memory_order_relaxed);
    sfid__futex_wake(&k->bell, SFID__FUTEX_SHARED, 1); /* as the clock waits */
    if (!sfid__keeper_shares(k))
        sfid__page_wake(k->generator->page);
    /* Two keepers may sleep on the word of a page that is shared, and the other one may take the
     * poke. */
    for (int64_t nap_ns = 10000; sfid__keeper_shares(k) && !has_ended(k);
         nap_ns = SFID__MIN(nap_ns * 2, 10000000)) {
        k->generator->clock->sleep_ns(k->generator->clock, nap_ns);
        if (atomic_load_explicit(&k->reign, memory_order_relaxed) != 0)
            sfid__page_wake_all(k->generator->page);
    }
    pthread_join(k->thread, NULL);
}

void sfid__keeper_stop(struct sfid__keeper *k) {
    /* Acquire, with the release half of the exchanges in sfid__keeper_start: k->thread is set. */
    const uint64_t owner = atomic_load_explicit(&k->owner, memory_order_acquire);
    const uint64_t us = sfid__keeper_own();
    if (owner >> 2 != us >> 2 || owner == (us | SFID__KEEPER_IDLE))
        return;
    /* with the acquire in run(), attend() and take_turn() */
    atomic_store_explicit(&k->stop, 1, memory_order_release);
    if (sfid__keeper_in_crew(k))
        sfid__berth_leave(k);
    else
        end_thread(k);
    /* alone: see the table */
    atomic_store_explicit(&k->owner, us | SFID__KEEPER_IDLE, memory_order_relaxed);
}
