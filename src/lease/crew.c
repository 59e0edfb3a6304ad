/* SPDX-License-Identifier: MIT */
/*
 * crew.c - the one background thread of a process, and its helpers.
 *
 * All that a crew has is guarded by its lock, which is held for a few steps at a
 * time and never in a turn. What can go wrong, and what this file does about it:
 *
 *   - fork() copies the crew, perhaps with its lock held, but no thread. The
 *     child finds another process in it, never touches its lock, and makes a
 *     crew of its own. A berth that names another crew is in none.
 *   - A turn hangs. Before it waits for long for a server, it says so itself
 *     (sfid__thread_hangs()). A turn that depends on a disk counts as hanging from
 *     its beginning. Its thread holds no lock, so other berths join, leave and get
 *     turns of helpers. A berth that leaves waits for its own turn alone.
 *   - A poke comes from another process, or from a signal handler: it takes no
 *     lock. It marks the page and rings the bell. The thread that hears the bell
 *     looks at the berth that it names, or at all berths.
 *   - The watch is taken while the thread lives (base/alive.h), and another
 *     thread has it. The main thread finds that before its next turn,
 *     makes all berths leave, and ends. The next call that needs a turn begins
 *     anew.
 *
 * Invariants:
 *
 *   I1  A process has at most one main thread, and at most HELPERS helpers. A
 *       thread is made under the lock, and only after the one that had its place
 *       was joined.
 *   I2  A berth is in exactly one state: out; waiting, in the order of times; or
 *       in turn. One thread takes it from waiting to in turn, under the lock, and
 *       only that one takes it back or out. So no two turns of a berth run at
 *       once, and each sees what the one before did.
 *   I3  No ring is lost. A thread silences the bell first, then looks at the
 *       pokes of the berths it named, then at the earliest time, and sleeps only
 *       while the bell is silent. A poke during a turn stands in the page when
 *       the turn is over: that is looked at before the berth waits again. A
 *       helper that a ring wakes in place of the main thread rings again.
 *   I4  Once `joining` is set, no berth joins and no turn begins until all
 *       threads are joined. It is set only where no berth is left, or the main
 *       thread has done its last step. So whoever waits for it waits briefly.
 *   I5  A main thread ends only if no berth is left. A helper may end whenever it
 *       is not in a turn: the main thread looks at everything when its own turn
 *       is over, and a helper that ends a turn beside it rings.
 *   I6  If all threads hang and there are berths beside theirs, there is one thread
 *       more, unless there are HELPERS helpers. Whatever can make that true makes
 *       one: a thread that hangs, a berth that joins. A helper stays while it is
 *       the only thread that does not hang.
 *
 * Who may run with whom, in one process:
 *
 *             join   leave  look   turn
 *     join    yes    yes    yes    yes
 *     leave          yes    yes    yes    of one berth: leave waits for its turn, and nothing runs
 *                                         with its join
 *     look                  yes    yes    of one berth: not beside its leave; beside its join it
 *                                         may find it out
 *     turn                         I2
 */
#include "lease/crew.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/watch.h"
#include "lease/turns.h"

#include <errno.h>
#include <sfid.h>
#include <stdlib.h>
#include <time.h>

#define THREAD_NAME "sfid-keeper"
#define HELPER_NAME "sfid-helper"
#define HELPERS 4
#define HELPER_IDLE_MS 1000
#define LATE_MS 20 /* a helper leaves to the main thread what is not later than this */
#define FOREVER INT64_MAX

struct worker {
    pthread_t thread;
    struct sfid__crew *crew;
    bool made, gone;           /* gone: only its end is left to join */
    struct sfid__berth *berth; /* whose turn is under way; NULL: none */
    bool hangs;                /* that turn */
};

struct sfid__crew {
    struct sfid__crew *older; /* of an ancestor: never touched, but reachable for leak checkers */
    uint64_t process;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a turn is over, or threads were joined */
    pthread_cond_t idle;    /* helpers sleep on it while the bell is the main thread's */
    bool main_in_turn;
    uint64_t watch; /* of the main thread; 0: it has none */
    bool joining;
    struct worker worker[1 + HELPERS]; /* the first one is the main thread */
    unsigned workers;                  /* that are made and not gone */
    unsigned hung;                     /* whose turn hangs */

    struct sfid__turns turns; /* all berths */
};

static _Atomic(struct sfid__crew *) latest;

/* ---- the crew of this process ---------------------------------------------- */

/* NULL if there is none. Acquire, with the exchange in make_ours(): it is filled in. */
static struct sfid__crew *ours(void) {
    struct sfid__crew *c = atomic_load_explicit(&latest, memory_order_acquire);
    return c && c->process == sfid__process() ? c : NULL;
}

static void crew_drop(struct sfid__crew *c) {
    pthread_cond_destroy(&c->changed);
    pthread_cond_destroy(&c->idle);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void init_idle(pthread_cond_t *idle) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(idle, &attr);
    pthread_condattr_destroy(&attr);
}

static struct sfid__crew *make_ours(void) {
    struct sfid__crew *c = ours();
    struct sfid__crew *fresh = c ? NULL : calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return c;
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->changed, NULL);
    init_idle(&fresh->idle);
    fresh->process = sfid__process();
    /* the exchange corrects it */
    fresh->older = atomic_load_explicit(&latest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&latest, &fresh->older, fresh,
                                                  memory_order_acq_rel, memory_order_acquire))
        if ((c = ours()) != NULL) { /* another thread was first */
            crew_drop(fresh);
            return c;
        }
    return fresh;
}

/* ---- berths --------------------------------------------------------------------- */

/* I2: the berth is out. */
static void take_out(struct sfid__crew *c, struct sfid__berth *b) {
    sfid__turns_leave(&c->turns, b);
    b->crew = NULL;
}

/* One that is due already stays so late: helpers go by that. */
static void heed_one(struct sfid__crew *c, struct sfid__berth *b) {
    const int64_t now = sfid__deadline_now_ms();
    if (b && b->waits && b->due_ms > now && b->ops->is_poked(b))
        sfid__turns_wait(&c->turns, b, now);
}

/* I3. What the bell said may be meant for an earlier thread with this watch: it is a hint. */
static void heed(struct sfid__crew *c, uint32_t what) {
    if (what == SFID__WATCH_ALL)
        for (size_t i = 0; i < c->turns.room; i++)
            heed_one(c, c->turns.berth[i]);
    else if (what != 0 && what <= c->turns.room)
        heed_one(c, c->turns.berth[what - 1]);
}

/* ---- a thread --------------------------------------------------------------------- */

static struct worker *free_helper(struct sfid__crew *c) {
    for (unsigned i = 1; i <= HELPERS; i++) {
        struct worker *w = &c->worker[i];
        if (w->made && w->gone) { /* its last step was to unlock */
            pthread_join(w->thread, NULL);
            w->made = false;
        }
        if (!w->made)
            return w;
    }
    return NULL;
}

static void *crew_main(void *arg);

/* I1. 0 or an errno. */
static int make_worker(struct sfid__crew *c, struct worker *w) {
    *w = (struct worker){.crew = c};
    const int why = sfid__thread_start(&w->thread, crew_main, w);
    w->made = why == 0;
    c->workers += w->made;
    return why;
}

/* I6. If all threads hang, and there is a berth beside theirs, makes one more. A failure is fine:
 * the next hang tries again. */
static void stand_by(struct sfid__crew *c) {
    struct worker *w =
        c->hung >= c->workers && c->turns.count > c->hung && !c->joining ? free_helper(c) : NULL;
    if (w)
        make_worker(c, w);
}

/* Wakes a thread that sleeps, to look anew at what is due: one that hangs or ends its turn may have
 * made its sleep too long. */
static void have_one_look(struct sfid__crew *c, uint32_t number) {
    if (c->workers > 1) {
        pthread_cond_signal(&c->idle);
        sfid__watch_ring(c->watch, number);
    }
}

/* Only threads beside it do what is due meanwhile. */
static void note_hang(struct sfid__crew *c, struct worker *w) {
    if (!w->hangs) {
        w->hangs = true;
        c->hung++;
        have_one_look(c, w->berth->number);
    }
    stand_by(c); /* again if it hangs on: there may have been no memory for a thread */
}

/* In the thread that waits, without the lock. */
static void hangs(void *worker) {
    struct worker *w = worker;
    pthread_mutex_lock(&w->crew->lock);
    if (w->berth)
        note_hang(w->crew, w);
    pthread_mutex_unlock(&w->crew->lock);
}

static void begin_turn(struct sfid__crew *c, struct worker *w, struct sfid__berth *b) {
    sfid__turns_begin(&c->turns, b, sfid__deadline_now_ms());
    w->berth = b;
    w->hangs = false;
    if (!b->remote && b->ops->group(b) != 0)
        note_hang(c, w); /* perhaps */
}

static void end_turn(struct sfid__crew *c, struct worker *w) {
    struct sfid__berth *b = w->berth;
    c->hung -= w->hangs;
    w->berth = NULL;
    /* of a pool, the server that has the lease now */
    sfid__turns_end(&c->turns, b, b->ops->has_failed(b), b->ops->group(b));
}

/* Called and left with the lock. The turn itself is without it. */
static void give_turn(struct sfid__crew *c, struct worker *w, struct sfid__berth *b) {
    const uint64_t watch = c->watch;
    const uint32_t number = b->number;
    begin_turn(c, w, b);
    pthread_mutex_unlock(&c->lock);
    const int64_t due_ms = b->ops->turn(b, watch, number);
    pthread_mutex_lock(&c->lock);
    end_turn(c, w);
    if (b->leaves) {
        take_out(c, b);
    } else if (watch != c->watch) { /* the main thread has ended meanwhile */
        take_out(c, b);
        b->ops->left(b);
    } else {
        const int64_t soon_ms = sfid__deadline_now_ms() + 1; /* behind those that are due now */
        sfid__turns_wait(&c->turns, b,
                         b->ops->is_poked(b) ? sfid__deadline_now_ms()
                                             : SFID__MAX(due_ms, soon_ms));
    }
    pthread_cond_broadcast(&c->changed);
    have_one_look(c, number);
}

static void sleep_on_bell(struct sfid__crew *c, int64_t ms) {
    const uint64_t watch = c->watch;
    pthread_mutex_unlock(&c->lock);
    sfid__watch_sleep(watch, ms);
    pthread_mutex_lock(&c->lock);
}

static void sleep_beside_main(struct sfid__crew *c, int64_t ms) {
    const int64_t until_ns = sfid__deadline_now_ns() + ms * 1000000;
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    pthread_cond_timedwait(&c->idle, &c->lock, &until);
}

static bool goes_on(const struct sfid__crew *c) {
    return c->turns.count > 0 && !c->joining && sfid__watch_is_ours(c->watch);
}

/* Serves berths until there are none. */
static void serve(struct sfid__crew *c) {
    while (goes_on(c)) {
        heed(c, sfid__watch_hear(c->watch));
        const int64_t now = sfid__deadline_now_ms();
        struct sfid__berth *b = sfid__turns_next(&c->turns, now);
        if (b == NULL || b->due_ms > now) {
            sleep_on_bell(c, b && b->due_ms != FOREVER ? b->due_ms - now : FOREVER);
            continue;
        }
        c->main_in_turn = true;
        give_turn(c, &c->worker[0], b);
        c->main_in_turn = false;
    }
}

/* I6. True if nobody else would serve a berth that is due. */
static bool is_needed(const struct sfid__crew *c) { return c->hung + 1 >= c->workers; }

/*
 * Serves berths that wait although they are due, until there was none for a while and another
 * thread is free. The bell is for the main thread, unless that is in a turn.
 */
static void help(struct sfid__crew *c, struct worker *w) {
    int64_t end_ms = sfid__deadline_now_ms() + HELPER_IDLE_MS;
    while (goes_on(c)) {
        const uint32_t what = sfid__watch_hear(c->watch);
        heed(c, what);
        if (what != 0 && !c->main_in_turn) /* the bell woke this thread in place of the main one */
            sfid__watch_ring(c->watch, what);
        const int64_t now = sfid__deadline_now_ms();
        if (end_ms <= now && is_needed(c))
            end_ms = now + HELPER_IDLE_MS;
        struct sfid__berth *b = sfid__turns_next(&c->turns, now);
        const int64_t late_ms = b && b->due_ms < end_ms ? b->due_ms + LATE_MS : FOREVER;
        if (late_ms <= now) {
            give_turn(c, w, b);
            end_ms = sfid__deadline_now_ms() + HELPER_IDLE_MS;
        } else if (end_ms <= now) {
            pthread_cond_signal(&c->idle); /* another helper may have to hear the bell now */
            return;
        } else if (c->main_in_turn) {
            sleep_on_bell(c, SFID__MIN(late_ms, end_ms) - now);
        } else {
            sleep_beside_main(c, SFID__MIN(late_ms, end_ms) - now);
        }
    }
}

/* The main thread has lost its watch, or got none. Those in turn leave when that is over. */
static void turn_out(struct sfid__crew *c) {
    for (size_t i = 0; i < c->turns.room; i++)
        if (c->turns.berth[i] && c->turns.berth[i]->waits) {
            struct sfid__berth *b = c->turns.berth[i];
            take_out(c, b);
            b->ops->left(b);
        }
}

static void lead(struct sfid__crew *c) {
    c->watch = sfid__watch_take();
    serve(c);
    turn_out(c);
    /* helpers may still sleep on the bell, which is the next owner's from then on */
    while (c->joining && c->workers > 1)
        pthread_cond_wait(&c->changed, &c->lock);
    sfid__watch_leave(c->watch);
    c->watch = 0;
}

static void *crew_main(void *arg) {
    struct worker *w = arg;
    struct sfid__crew *c = w->crew;
    const bool leads = w == &c->worker[0];
    pthread_setname_np(pthread_self(), leads ? THREAD_NAME : HELPER_NAME);
    sfid__thread_on_hang(hangs, w);
    pthread_mutex_lock(&c->lock);
    if (leads)
        lead(c);
    else
        help(c, w);
    w->gone = true;
    c->workers--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* I4. Waits for the end of the main thread if that is near, and of helpers if no turn can be under
 * way. */
static void join_threads(struct sfid__crew *c) {
    while (c->joining)
        pthread_cond_wait(&c->changed, &c->lock);
    if (!c->worker[0].made || (c->turns.count > 0 && !c->worker[0].gone))
        return;
    const bool all = c->turns.count == 0;
    c->joining = true;
    sfid__watch_ring_all(c->watch);
    pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
    /* the main thread last: helpers sleep on the bell of its watch */
    for (unsigned i = all ? HELPERS + 1 : 1; i-- > 0;)
        if (c->worker[i].made) {
            pthread_join(c->worker[i].thread, NULL);
            c->worker[i].made = false;
        }
    pthread_mutex_lock(&c->lock);
    c->joining = false;
    pthread_cond_broadcast(&c->changed);
}

/* ---- for keepers ---------------------------------------------------------------- */

int sfid__crew_join(struct sfid__berth *b) {
    struct sfid__crew *c = make_ours();
    if (c == NULL)
        return ENOMEM;
    pthread_mutex_lock(&c->lock);
    join_threads(c); /* I1: of a main thread that has ended, or of the crew before */
    int why = sfid__turns_grow(&c->turns) ? 0 : ENOMEM;
    if (why == 0) {
        b->crew = c;
        b->leaves = false;
        sfid__turns_enter(&c->turns, b, b->ops->group(b), sfid__deadline_now_ms());
        why = c->worker[0].made ? 0 : make_worker(c, &c->worker[0]);
        if (why)
            take_out(c, b);
        stand_by(c);
    }
    const uint64_t watch = c->watch;
    const uint32_t number = b->number;
    pthread_mutex_unlock(&c->lock);
    if (why == 0 && watch)
        sfid__watch_ring(watch, number);
    return why;
}

void sfid__crew_leave(struct sfid__berth *b) {
    struct sfid__crew *c = ours();
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    b->leaves = true;
    while (b->crew == c && !b->waits)
        pthread_cond_wait(&c->changed, &c->lock);
    if (b->crew == c)
        take_out(c, b);
    if (c->turns.count == 0)
        join_threads(c);
    pthread_mutex_unlock(&c->lock);
}

void sfid__crew_look(struct sfid__berth *b) {
    struct sfid__crew *c = ours();
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    if (b->crew == c && b->waits && !c->joining) {
        heed_one(c, b);
        sfid__watch_ring(c->watch, b->number);
    }
    pthread_mutex_unlock(&c->lock);
}
