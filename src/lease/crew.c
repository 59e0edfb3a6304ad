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
 *   - A turn hangs. Its thread holds no lock, so other berths join, leave and
 *     get turns of helpers. Who leaves waits for its own turn alone.
 *   - A poke comes from another process, or from a signal handler: it takes no
 *     lock. It marks the page and rings the bell. Who hears the bell looks at the
 *     berth that it names, or at all.
 *   - The lock of the watch is freed while the thread lives (base/watch.h), and
 *     another thread has it. The main thread finds that before its next turn,
 *     makes all berths leave, and ends. The next call that needs a turn begins
 *     anew.
 *
 * Invariants:
 *
 *   I1  A process has at most one main thread, and at most HELPERS helpers. A
 *       thread is made under the lock, and only after the one that had its place
 *       was joined.
 *   I2  A berth is in exactly one state: out; waiting, with a place in the order
 *       of times; in turn, with place 0. One thread takes it from waiting to in
 *       turn, under the lock, and only that one takes it back or out. So no two
 *       turns of a berth run at once, and each sees what the one before did.
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
 *
 * Who may run with whom, in one process:
 *
 *             join   leave  help   turn
 *     join    yes    yes    yes    yes
 *     leave          yes    yes    yes    of one berth: leave waits for its turn, and nothing runs with its join
 *     help                  yes    yes    of one berth: not beside its leave; beside its join it may find it out
 *     turn                         I2
 */
#include "lease/crew.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/watch.h"

#include <sfid.h>
#include <stdlib.h>
#include <time.h>

#define THREAD_NAME "sfid-keeper"
#define HELPER_NAME "sfid-helper"
#define HELPERS 4
#define HELPER_IDLE_MS 1000
#define HELPER_LOOK_MS 100 /* longest sleep of a helper that does not hear the bell */
#define LATE_MS 20         /* a helper leaves to the main thread what is not later than this */
#define DOUBTFUL_MOST 3    /* turns that may hang at one time, where the last one of their group failed: two threads are left */
#define GROUPS 64
#define FOREVER INT64_MAX

struct worker {
    pthread_t thread;
    struct sfid__crew *crew;
    bool made, gone; /* gone: only its end is left to join */
};

/* A heap of berths by due_ms: place - 1 is the index. */
struct order {
    struct sfid__berth **at;
    size_t n;
};

struct sfid__crew {
    struct sfid__crew *older; /* of an ancestor: never touched, but reachable for leak checkers */
    uint64_t process;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a turn is over, or threads were joined */
    pthread_cond_t idle;    /* helpers sleep on it; signalled when they have to end */
    bool main_in_turn;
    uint64_t watch; /* of the main thread; 0: it has none */
    bool joining;
    struct worker worker[1 + HELPERS]; /* the first one is the main thread */
    unsigned workers;                  /* that are made and not gone */
    unsigned busy;                     /* that are in a turn */

    size_t room, count;         /* of berths */
    struct sfid__berth **berth; /* by number - 1; NULL: not in use */
    uint32_t *spare;            /* numbers not in use: room - count of them */
    struct order order[2];      /* of those that wait; the second: of doubtful ones */
    unsigned doubtful;          /* turns of those that are under way */
    uint64_t fails[GROUPS];     /* groups of which the last turn failed, by their hash; of two in one place the later one */
};

static _Atomic(struct sfid__crew *) latest;

/* ---- the crew of this process ---------------------------------------------- */

/* NULL if there is none. Acquire, with the exchange in make_ours(): it is filled in. */
static struct sfid__crew *ours(void) {
    struct sfid__crew *c = atomic_load_explicit(&latest, memory_order_acquire);
    return c && c->process == sfid__process() ? c : NULL;
}

static void drop(struct sfid__crew *c) {
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
    fresh->older = atomic_load_explicit(&latest, memory_order_relaxed); /* the exchange corrects it */
    while (!atomic_compare_exchange_weak_explicit(&latest, &fresh->older, fresh, memory_order_acq_rel, memory_order_acquire))
        if ((c = ours()) != NULL) { /* another thread was first */
            drop(fresh);
            return c;
        }
    return fresh;
}

static int64_t now_ms(void) { return sfid__deadline_now_ms(); }

/* ---- the order of times ------------------------------------------------------ */

static void put_at(struct order *o, size_t place, struct sfid__berth *b) {
    o->at[place - 1] = b;
    b->place = place;
}

/* Finds the place of a berth that may be due earlier, or later, than those around it. */
static void sift(struct order *o, size_t place, struct sfid__berth *b) {
    for (; place > 1 && o->at[place / 2 - 1]->due_ms > b->due_ms; place /= 2)
        put_at(o, place, o->at[place / 2 - 1]);
    for (size_t next; (next = 2 * place) <= o->n; place = next) {
        next += next < o->n && o->at[next]->due_ms < o->at[next - 1]->due_ms;
        if (o->at[next - 1]->due_ms >= b->due_ms)
            break;
        put_at(o, place, o->at[next - 1]);
    }
    put_at(o, place, b);
}

static uint64_t *fails_of(struct sfid__crew *c, const struct sfid__berth *b) { return &c->fails[b->group % GROUPS]; }

static bool is_doubtful(struct sfid__crew *c, const struct sfid__berth *b) {
    return b->failed || (b->group != 0 && *fails_of(c, b) == b->group);
}

/* I2: the berth waits no more. */
static void pick(struct sfid__crew *c, struct sfid__berth *b) {
    const size_t place = b->place;
    struct order *o = &c->order[b->doubtful];
    struct sfid__berth *last = o->at[--o->n];
    b->place = 0;
    if (last != b)
        sift(o, place, last);
}

/* I2: the berth waits. */
static void wait_until(struct sfid__crew *c, struct sfid__berth *b, int64_t due_ms) {
    if (b->place)
        pick(c, b);
    b->due_ms = due_ms;
    b->doubtful = is_doubtful(c, b);
    sift(&c->order[b->doubtful], ++c->order[b->doubtful].n, b);
}

static struct sfid__berth *first_of(const struct order *o) { return o->n ? o->at[0] : NULL; }

/*
 * The berth whose turn is next; NULL: none may have one. Those of a server that does not answer wait behind all others that are
 * due, and only some of them have a turn at one time, so that they cannot keep all threads busy.
 */
static struct sfid__berth *next_berth(struct sfid__crew *c, int64_t now) {
    struct sfid__berth *b, *d;
    while ((b = first_of(&c->order[0])) != NULL && is_doubtful(c, b))
        wait_until(c, b, b->due_ms);
    d = c->doubtful < DOUBTFUL_MOST ? first_of(&c->order[1]) : NULL;
    return d == NULL || (b && (b->due_ms <= now || b->due_ms <= d->due_ms)) ? b : d;
}

/* ---- berths --------------------------------------------------------------------- */

static bool grow(struct sfid__crew *c) {
    const size_t room = c->room ? 2 * c->room : 16;
    if (c->count < c->room)
        return true;
    struct sfid__berth **berth = realloc(c->berth, room * sizeof *berth);
    c->berth = berth ? berth : c->berth;
    for (int i = 0; i < 2; i++) {
        struct sfid__berth **at = realloc(c->order[i].at, room * sizeof *at);
        c->order[i].at = at ? at : c->order[i].at;
        if (at == NULL)
            return false;
    }
    uint32_t *spare = realloc(c->spare, room * sizeof *spare);
    c->spare = spare ? spare : c->spare;
    if (!berth || !spare || room >= SFID__WATCH_ALL)
        return false;
    for (size_t i = room; i > c->room; i--) {
        c->berth[i - 1] = NULL;
        c->spare[room - i] = (uint32_t)i;
    }
    c->room = room;
    return true;
}

static void enter(struct sfid__crew *c, struct sfid__berth *b) {
    b->crew = c;
    b->number = c->spare[c->room - ++c->count];
    c->berth[b->number - 1] = b;
    b->place = 0;
    b->failed = false;
    wait_until(c, b, now_ms());
}

/* I2: the berth is out. */
static void take_out(struct sfid__crew *c, struct sfid__berth *b) {
    if (b->place)
        pick(c, b);
    c->berth[b->number - 1] = NULL;
    c->spare[c->room - c->count--] = b->number;
    b->crew = NULL;
}

static void heed_one(struct sfid__crew *c, struct sfid__berth *b) {
    if (b && b->place && b->ops->is_poked(b))
        wait_until(c, b, now_ms());
}

/* I3. What the bell said may be meant for an earlier thread with this watch: it is a hint. */
static void heed(struct sfid__crew *c, uint32_t what) {
    if (what == SFID__WATCH_ALL)
        for (size_t i = 0; i < c->room; i++)
            heed_one(c, c->berth[i]);
    else if (what != 0 && what <= c->room)
        heed_one(c, c->berth[what - 1]);
}

/* ---- a thread --------------------------------------------------------------------- */

static void note_failure(struct sfid__crew *c, struct sfid__berth *b) {
    b->failed = b->ops->has_failed(b);
    if (b->group != 0 && (b->failed || *fails_of(c, b) == b->group))
        *fails_of(c, b) = b->failed ? b->group : 0;
}

/* With the lock; without it in the turn itself. */
static void give_turn(struct sfid__crew *c, struct sfid__berth *b) {
    const uint64_t watch = c->watch;
    const uint32_t number = b->number;
    const bool doubtful = b->doubtful;
    pick(c, b);
    c->busy++;
    c->doubtful += doubtful;
    pthread_mutex_unlock(&c->lock);
    const int64_t due_ms = b->ops->turn(b, watch, number);
    pthread_mutex_lock(&c->lock);
    c->doubtful -= doubtful;
    c->busy--;
    if (watch != c->watch) { /* the main thread has ended meanwhile */
        take_out(c, b);
        b->ops->left(b);
    } else {
        note_failure(c, b);
        wait_until(c, b, b->ops->is_poked(b) ? now_ms() : SFID__MAX(due_ms, now_ms() + 1)); /* behind those that are due now */
    }
    pthread_cond_broadcast(&c->changed);
    if (!c->main_in_turn) /* it sleeps, perhaps for longer than until due_ms */
        sfid__watch_ring(c->watch, number);
}

static void sleep_on_bell(struct sfid__crew *c, int64_t ms) {
    const uint64_t watch = c->watch;
    pthread_mutex_unlock(&c->lock);
    sfid__watch_sleep(watch, ms);
    pthread_mutex_lock(&c->lock);
}

static void sleep_beside_main(struct sfid__crew *c, int64_t ms) {
    const int64_t until_ns = sfid__system_clock.monotonic_ns(&sfid__system_clock) + ms * 1000000;
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    pthread_cond_timedwait(&c->idle, &c->lock, &until);
}

static bool goes_on(const struct sfid__crew *c) { return c->count > 0 && !c->joining && sfid__watch_is_ours(c->watch); }

/* Serves berths until there are none. */
static void serve(struct sfid__crew *c) {
    while (goes_on(c)) {
        heed(c, sfid__watch_hear(c->watch));
        const int64_t now = now_ms();
        struct sfid__berth *b = next_berth(c, now);
        if (b == NULL || b->due_ms > now) {
            sleep_on_bell(c, b && b->due_ms != FOREVER ? b->due_ms - now : FOREVER);
            continue;
        }
        c->main_in_turn = true;
        give_turn(c, b);
        c->main_in_turn = false;
    }
}

/*
 * Serves berths that wait although they are due, until there was none for a while. The bell is for the main thread, unless that
 * is in a turn.
 */
static void help(struct sfid__crew *c) {
    int64_t end_ms = now_ms() + HELPER_IDLE_MS;
    while (goes_on(c)) {
        const uint32_t what = sfid__watch_hear(c->watch);
        heed(c, what);
        if (what != 0 && !c->main_in_turn) /* the bell woke this thread in place of the main one */
            sfid__watch_ring(c->watch, what);
        const int64_t now = now_ms();
        struct sfid__berth *b = next_berth(c, now);
        const int64_t late_ms = b && b->due_ms < end_ms ? b->due_ms + LATE_MS : FOREVER;
        if (late_ms <= now) {
            give_turn(c, b);
            end_ms = now_ms() + HELPER_IDLE_MS;
        } else if (end_ms <= now) {
            return;
        } else if (c->main_in_turn) {
            sleep_on_bell(c, SFID__MIN(late_ms, end_ms) - now);
        } else {
            sleep_beside_main(c, SFID__MIN(SFID__MIN(late_ms, end_ms) - now, HELPER_LOOK_MS));
        }
    }
}

/* The main thread has lost its watch, or got none. Those in turn leave when that is over. */
static void turn_out(struct sfid__crew *c) {
    for (size_t i = 0; i < c->room; i++)
        if (c->berth[i] && c->berth[i]->place) {
            struct sfid__berth *b = c->berth[i];
            take_out(c, b);
            b->ops->left(b);
        }
}

static void end_worker(struct sfid__crew *c, struct worker *w) {
    w->gone = true;
    c->workers--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void *main_thread(void *arg) {
    struct worker *w = arg;
    struct sfid__crew *c = w->crew;
    pthread_setname_np(pthread_self(), THREAD_NAME);
    pthread_mutex_lock(&c->lock);
    c->watch = sfid__watch_take();
    serve(c);
    turn_out(c);
    sfid__watch_leave(c->watch);
    c->watch = 0;
    end_worker(c, w);
    return NULL;
}

static void *helper_thread(void *arg) {
    struct worker *w = arg;
    struct sfid__crew *c = w->crew;
    pthread_setname_np(pthread_self(), HELPER_NAME);
    pthread_mutex_lock(&c->lock);
    help(c);
    end_worker(c, w);
    return NULL;
}

/* I1. */
static bool make_worker(struct sfid__crew *c, struct worker *w, void *(*main)(void *)) {
    w->crew = c;
    w->gone = false;
    w->made = sfid__thread_start(&w->thread, main, w) == 0;
    c->workers += w->made;
    return w->made;
}

/* I4. Waits for the end of the main thread if that is near, and of helpers if no turn can be under way. */
static void join_threads(struct sfid__crew *c) {
    while (c->joining)
        pthread_cond_wait(&c->changed, &c->lock);
    if (!c->worker[0].made || (c->count > 0 && !c->worker[0].gone))
        return;
    const bool all = c->count == 0;
    c->joining = true;
    sfid__watch_ring_all(c->watch);
    pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = all ? HELPERS + 1 : 1; i-- > 0;) /* the main thread last: helpers sleep on the bell of its watch */
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
        return SFID_ENOMEM;
    pthread_mutex_lock(&c->lock);
    join_threads(c); /* I1: of a main thread that has ended, or of the crew before */
    bool good = grow(c);
    if (good) {
        enter(c, b);
        good = c->worker[0].made || make_worker(c, &c->worker[0], main_thread);
        if (!good)
            take_out(c, b);
    }
    const uint64_t watch = c->watch;
    const uint32_t number = b->number;
    pthread_mutex_unlock(&c->lock);
    if (good && watch)
        sfid__watch_ring(watch, number);
    return good ? 0 : SFID_ENOMEM;
}

void sfid__crew_leave(struct sfid__berth *b) {
    struct sfid__crew *c = ours();
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    while (b->crew == c && b->place == 0)
        pthread_cond_wait(&c->changed, &c->lock);
    if (b->crew == c)
        take_out(c, b);
    if (c->count == 0)
        join_threads(c);
    pthread_mutex_unlock(&c->lock);
}

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

void sfid__crew_help(struct sfid__berth *b) {
    struct sfid__crew *c = ours();
    struct worker *w = NULL;
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    const bool may = b->crew == c && !c->joining;
    if (may)
        heed_one(c, b);
    if (may && c->busy >= c->workers) {
        const int64_t now = now_ms();
        const struct sfid__berth *next = next_berth(c, now);
        if (next && next->due_ms <= now)
            w = free_helper(c);
    } else if (may && b->place && !c->main_in_turn) {
        sfid__watch_ring(c->watch, b->number);
    }
    if (w)
        make_worker(c, w, helper_thread); /* a failure is fine: the next call tries again */
    pthread_mutex_unlock(&c->lock);
}
