/* SPDX-License-Identifier: MIT */
/* crew.c - the one thread of a process: order of times, bell, helpers beside a turn that hangs, leaving, forks. */
#include "lease/crew.h"

#include "base/clock.h"
#include "base/watch.h"

#include "support/scene.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#define NAME "sfid-keeper"
#define HELPER "sfid-helper"
#define MANY 1000

struct guest {
    struct sfid__berth berth; /* first */
    int64_t next_ms;          /* monotonic: what a turn answers; INT64_MAX: when poked */
    _Atomic int turns, left, inside, beside, goes;
    _Atomic int hangs, poked, fails;
    _Atomic uint64_t watch;
    _Atomic uint32_t number;
    int64_t turn_ms;
    pid_t thread;
};

static _Atomic int order; /* counts turns of all */
static int turn_of[MANY]; /* by turn: whose it was */
static struct guest guests[MANY];

static struct guest *guest_of(const struct sfid__berth *b) { return (struct guest *)(void *)(uintptr_t)b; }

static void nap(int64_t ms) {
    const struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&ts, NULL);
}

static int64_t turn(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    struct guest *g = guest_of(b);
    if (atomic_fetch_add(&g->inside, 1) > 0)
        atomic_fetch_add(&g->beside, 1);
    atomic_store(&g->poked, 0);
    atomic_store(&g->watch, watch);
    atomic_store(&g->number, number);
    g->thread = gettid();
    g->turn_ms = sfid__deadline_now_ms();
    const int at = atomic_fetch_add(&order, 1);
    if (at < MANY)
        turn_of[at] = (int)(g - guests);
    atomic_fetch_add(&g->turns, 1);
    while (atomic_load(&g->hangs))
        nap(1);
    atomic_fetch_sub(&g->inside, 1);
    return atomic_load(&g->goes) ? SFID__CREW_OVER : g->next_ms > g->turn_ms ? g->next_ms : INT64_MAX;
}

static bool is_poked(const struct sfid__berth *b) { return atomic_load(&guest_of(b)->poked) != 0; }
static bool has_failed(const struct sfid__berth *b) { return atomic_load(&guest_of(b)->fails) != 0; }
static void left(struct sfid__berth *b) { atomic_fetch_add(&guest_of(b)->left, 1); }

static const struct sfid__berth_ops ops = {.turn = turn, .is_poked = is_poked, .has_failed = has_failed, .left = left};

static struct guest *fresh(int i, int64_t next_ms) {
    memset((void *)&guests[i], 0, sizeof guests[i]);
    guests[i].berth.ops = &ops;
    guests[i].next_ms = next_ms;
    return &guests[i];
}

/* As a page is poked: the mark first, then the bell. */
static void poke(struct guest *g) {
    atomic_store(&g->poked, 1);
    sfid__watch_ring(atomic_load(&g->watch), atomic_load(&g->number));
}

static bool had_turns(void *arg) {
    const struct guest *g = arg;
    return atomic_load(&g->turns) > 0;
}

static bool had_two(void *arg) {
    const struct guest *g = arg;
    return atomic_load(&g->turns) >= 2;
}

static bool had_three(void *arg) { return atomic_load(&((struct guest *)arg)->turns) >= 3; }

static bool has_left(void *arg) { return atomic_load(&((struct guest *)arg)->left) > 0; }

/* Once something has not come, nothing else is waited for as long. */
static bool wait_for(bool (*holds)(void *arg), struct guest *g) {
    static _Atomic bool failed;
    const bool good = tap_wait_until(holds, g, atomic_load(&failed) ? 100 : 20000);
    if (!good)
        atomic_store(&failed, true);
    return good;
}

static bool no_threads(void *unused) {
    (void)unused;
    return threads_named(NAME) == 0 && threads_named(HELPER) == 0;
}

static bool no_helper(void *unused) { return unused == NULL && threads_named(HELPER) == 0; }

/* ---- one thread, in order of times ---------------------------------------------- */

static void keeps_order(void) {
    struct guest *a = fresh(0, INT64_MAX);
    is_i64(sfid__crew_join(&a->berth), 0, "order: the first joins");
    ok(wait_for(had_turns, a), "order: and gets a turn at once");
    const int64_t soon = sfid__deadline_now_ms() + 300;
    for (int i = 1; i < 20; i++) { /* the times fall, then rise */
        struct guest *g = fresh(i, soon + (i < 10 ? 200 - 20 * i : 20 * i + 7));
        sfid__crew_join(&g->berth);
    }
    for (int i = 1; i < 20; i++)
        wait_for(had_two, &guests[i]);
    int early = 0, wrong = 0;
    for (int i = 1; i < 20; i++) {
        early += guests[i].turn_ms < guests[i].next_ms && atomic_load(&guests[i].turns) < 3;
        wrong += atomic_load(&guests[i].beside);
    }
    is_i64(early, 0, "order: no turn before its time");
    is_i64(wrong, 0, "order: no two turns of one at once");
    is_i64(atomic_load(&a->turns), 1, "order: one that waits for the bell has no other turn");
    is_i64(threads_named(NAME), 1, "order: one thread serves all");
    for (int i = 0; i < 20; i++)
        sfid__crew_leave(&guests[i].berth);
    ok(no_threads(NULL), "order: with the last one the thread ends");
}

static bool all_had_a_turn(void *n) {
    for (int i = 0; i < *(int *)n; i++)
        if (atomic_load(&guests[i].turns) == 0)
            return false;
    return true;
}

/* The second turns come by their times, however late they are. False if the first turns took until then. */
static bool falls_into_order(int n, int64_t from_now_ms) {
    int mixed = 0, wrong = 0, stay = 0;
    const int64_t first_ms = sfid__deadline_now_ms() + from_now_ms;
    for (int i = 0; i < n; i++)
        sfid__crew_join(&fresh(i, first_ms + i * INT64_C(7919) % n / 2)->berth);
    const bool all = tap_wait_until(all_had_a_turn, &n, 20000);
    for (int i = 0; i < n; i += 3) /* some leave out of the middle */
        sfid__crew_leave(&guests[i].berth);
    atomic_store(&order, 0);
    const bool in_time = sfid__deadline_now_ms() < first_ms;
    for (int i = 0; i < n; i++)
        stay += i % 3 != 0 && wait_for(had_two, &guests[i]);
    for (int i = 1; i < stay; i++)
        mixed += guests[turn_of[i - 1]].next_ms > guests[turn_of[i]].next_ms;
    for (int i = 0; i < n; i++)
        wrong += atomic_load(&guests[i].turns) != (i % 3 ? 2 : 1);
    for (int i = 0; i < n; i++)
        sfid__crew_leave(&guests[i].berth);
    if (!in_time)
        return false;
    ok(all, "heap: %d get a turn at once", n);
    is_i64(mixed, 0, "heap: the next ones come by their times");
    is_i64(wrong, 0, "heap: to those that have not left meanwhile");
    ok(no_threads(NULL), "heap: no thread is left");
    return true;
}

/* One that is always due again does not keep the others waiting. */
static int64_t always_due(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    turn(b, watch, number);
    return 0;
}

static void is_fair(void) {
    static const struct sfid__berth_ops eager = {.turn = always_due, .is_poked = is_poked, .has_failed = has_failed, .left = left};
    struct guest *a = fresh(0, INT64_MAX), *b = fresh(1, sfid__deadline_now_ms() + 20);
    a->berth.ops = &eager;
    sfid__crew_join(&a->berth);
    sfid__crew_join(&b->berth);
    ok(wait_for(had_two, b), "fair: a turn beside one that is always due");
    sfid__crew_leave(&a->berth);
    sfid__crew_leave(&b->berth);
}

/* ---- the bell ------------------------------------------------------------------------ */

static void hears_the_bell(void) {
    struct guest *a = fresh(0, INT64_MAX), *b = fresh(1, INT64_MAX);
    sfid__crew_join(&a->berth);
    sfid__crew_join(&b->berth);
    ok(wait_for(had_turns, a) && wait_for(had_turns, b), "bell: both had a turn");
    poke(a);
    ok(wait_for(had_two, a), "bell: the one that is poked gets a turn");
    is_i64(atomic_load(&b->turns), 1, "bell: and the other does not");
    atomic_store(&a->hangs, 1);
    poke(a);
    ok(wait_for(had_three, a), "bell: in a turn");
    poke(a);
    poke(b);
    atomic_store(&a->hangs, 0);
    ok(wait_for(had_two, b), "bell: of two pokes during a turn the other one's is heard");
    for (int i = 0; i < 20000 && atomic_load(&a->turns) < 4; i++)
        nap(1);
    is_i64(atomic_load(&a->turns), 4, "bell: and its own");
    atomic_store(&a->poked, 1);
    sfid__watch_ring(atomic_load(&b->watch), SFID__WATCH_ALL - 1);
    sfid__watch_ring_all(atomic_load(&b->watch));
    for (int i = 0; i < 20000 && atomic_load(&a->turns) < 5; i++)
        nap(1);
    is_i64(atomic_load(&a->turns), 5, "bell: a bell for all finds who was poked");
    sfid__crew_leave(&a->berth);
    sfid__crew_leave(&b->berth);
}

/* A call that finds a berth late asks again and again, as calls do. */
static bool gets_help(void *arg) {
    struct guest *g = arg;
    sfid__crew_help(&g->berth);
    return atomic_load(&g->turns) >= 2;
}

/* ---- a turn that hangs -------------------------------------------------------------- */

static void helps_beside_a_hanging_turn(void) {
    struct guest *h = fresh(0, INT64_MAX), *a = fresh(1, INT64_MAX), *b = fresh(2, INT64_MAX);
    sfid__crew_join(&a->berth);
    sfid__crew_join(&b->berth);
    ok(wait_for(had_turns, a) && wait_for(had_turns, b), "hang: two are served");
    int tasks = entries("/proc/self/task");
    sfid__crew_help(&a->berth);
    is_i64(entries("/proc/self/task"), tasks, "hang: no help while nothing hangs");
    atomic_store(&h->hangs, 1);
    sfid__crew_join(&h->berth);
    ok(wait_for(had_turns, h), "hang: a third one hangs");
    ok(sfid__crew_is_busy(), "hang: that can be seen");
    tasks = entries("/proc/self/task");
    sfid__crew_help(&a->berth);
    is_i64(entries("/proc/self/task"), tasks, "hang: who is not late gets no helper");
    poke(a);
    ok(tap_wait_until(gets_help, a, 20000), "hang: who is gets its turn");
    is_i64(threads_named(NAME), 1, "hang: from a second thread");
    poke(b);
    ok(wait_for(had_two, b), "hang: which serves others as well");
    poke(h);
    poke(b);
    ok(wait_for(had_three, b), "hang: and hears the bell for the one that hangs");
    ok(a->thread != h->thread && b->thread != h->thread, "hang: not the one that hangs");

    const int64_t begin = tap_now_ms();
    sfid__crew_leave(&b->berth);
    const int64_t took = tap_now_ms() - begin;
    ok(took < 5000, "hang: another one leaves without waiting for it (%" PRId64 " ms)", took);
    ok(tap_wait_until(no_helper, NULL, 20000), "hang: a helper without work ends");
    poke(a);
    atomic_store(&a->hangs, 1);
    for (int i = 0; i < 20000 && atomic_load(&a->turns) < 3; i++, nap(1))
        sfid__crew_help(&a->berth);
    is_i64(atomic_load(&a->turns), 3, "hang: another comes when it is needed");
    atomic_store(&a->hangs, 0);
    atomic_store(&h->hangs, 0);
    ok(wait_for(had_two, h), "hang: which finds its poke after that turn");
    sfid__crew_leave(&a->berth);
    sfid__crew_leave(&h->berth);
    ok(no_threads(NULL), "hang: no thread is left");
    is_i64(atomic_load(&h->beside) + atomic_load(&a->beside) + atomic_load(&b->beside), 0, "hang: no two turns of one at once");
}

static void has_few_helpers(void) {
    enum { HANG = 8 };
    int inside = 0;
    for (int i = 0; i < HANG; i++) {
        atomic_store(&fresh(i, INT64_MAX)->hangs, 1);
        sfid__crew_join(&guests[i].berth);
    }
    for (int round = 0; round < 20000 && inside < 5; round++, nap(1))
        for (int i = inside = 0; i < HANG; i++) {
            inside += atomic_load(&guests[i].inside);
            sfid__crew_help(&guests[i].berth);
        }
    is_i64(inside, 5, "many hang: five threads");
    for (int i = 0; i < HANG; i++)
        sfid__crew_help(&guests[i].berth);
    is_i64(threads_named(HELPER), 4, "many hang: four of them are helpers, and no more come");
    for (int i = 0; i < HANG; i++)
        atomic_store(&guests[i].hangs, 0);
    for (int i = 0; i < HANG; i++)
        sfid__crew_leave(&guests[i].berth);
    ok(no_threads(NULL), "many hang: no thread is left");
}

/* ---- a server that does not answer ------------------------------------------------------- */

static int inside_of(int from, int to) {
    int n = 0;
    for (int i = from; i < to; i++)
        n += atomic_load(&guests[i].inside);
    return n;
}

/* Berths of one server: once one of them has failed, a few hang at one time, and others get their turns beside them. */
static void doubts_a_server_that_fails(void) {
    enum { HANG = 8, ALL = 12 };
    int most = 0;
    for (int i = 0; i < ALL; i++) {
        fresh(i, INT64_MAX)->berth.group = i < HANG ? 7 : 8;
        atomic_store(&guests[i].fails, i < HANG);
        sfid__crew_join(&guests[i].berth);
    }
    int n = ALL;
    ok(tap_wait_until(all_had_a_turn, &n, 20000), "doubt: all had a turn, and a server failed");
    for (int i = 0; i < HANG; i++)
        atomic_store(&guests[i].hangs, 1);
    for (int i = 0; i < HANG; i++)
        poke(&guests[i]);
    for (int round = 0; round < 20000 && most < 3; round++, nap(1)) {
        for (int i = 0; i < HANG; i++)
            sfid__crew_help(&guests[i].berth);
        most = inside_of(0, HANG) > most ? inside_of(0, HANG) : most;
    }
    for (int i = HANG; i < ALL; i++) {
        poke(&guests[i]);
        ok(tap_wait_until(gets_help, &guests[i], 20000), "doubt: number %d, of another server, gets a turn", i);
        most = inside_of(0, HANG) > most ? inside_of(0, HANG) : most;
    }
    is_i64(most, 3, "doubt: three turns of the one that fails hang at one time");
    for (int i = 0; i < HANG; i++) {
        atomic_store(&guests[i].fails, 0);
        atomic_store(&guests[i].hangs, 0);
    }
    for (int i = 0; i < HANG; i++)
        ok(wait_for(had_two, &guests[i]), "doubt: it answers: number %d gets its turn", i);
    for (int i = 0; i < ALL; i++)
        sfid__crew_leave(&guests[i].berth);
    ok(no_threads(NULL), "doubt: no thread is left");
}

/* ---- leaving ----------------------------------------------------------------------------- */

static void *leave_it(void *arg) {
    struct guest *g = arg;
    sfid__crew_leave(&g->berth);
    atomic_store(&g->left, 100);
    return NULL;
}

static void leaves(void) {
    pthread_t thread;
    struct guest *a = fresh(0, INT64_MAX), *b = fresh(1, INT64_MAX);
    atomic_store(&a->hangs, 1);
    sfid__crew_join(&a->berth);
    ok(wait_for(had_turns, a), "leave: in its turn");
    if (pthread_create(&thread, NULL, leave_it, a) != 0)
        bail("thread");
    nap(50);
    is_i64(atomic_load(&a->left), 0, "leave: waits for its own turn");
    atomic_store(&a->hangs, 0);
    pthread_join(thread, NULL);
    ok(atomic_load(&a->inside) == 0 && atomic_load(&a->left) == 100, "leave: which then is over, and is not told of that");

    atomic_store(&fresh(0, INT64_MAX)->goes, 1);
    sfid__crew_join(&a->berth);
    ok(wait_for(has_left, a), "leave: by itself");
    sfid__crew_leave(&a->berth);
    ok(no_threads(NULL), "leave: after that, a leave finds nothing but the thread");
    is_i64(atomic_load(&a->left), 1, "leave: and it is told once");

    for (int i = 0; i < 300; i++) { /* the thread ends and begins all the time */
        sfid__crew_join(&fresh(0, INT64_MAX)->berth);
        sfid__crew_join(&fresh(1, INT64_MAX)->berth);
        if (i % 2)
            wait_for(had_turns, b);
        sfid__crew_leave(&a->berth);
        sfid__crew_leave(&b->berth);
    }
    ok(no_threads(NULL), "leave: 300 crews in turn leave no thread");
}

static _Atomic int churning;

static void *churn(void *arg) {
    struct guest *g = arg;
    for (int i = 0; atomic_load(&churning); i++) {
        g->berth = (struct sfid__berth){.ops = &ops};
        if (sfid__crew_join(&g->berth) != 0)
            return g;
        if (i % 3 == 0)
            wait_for(had_turns, g);
        if (i % 2 == 0)
            poke(g);
        sfid__crew_help(&g->berth);
        sfid__crew_leave(&g->berth);
    }
    return NULL;
}

static int child_of_churn(void *unused) {
    (void)unused;
    struct guest *g = fresh(MANY - 1, INT64_MAX);
    if (sfid__crew_is_busy() || sfid__crew_join(&g->berth) != 0 || !wait_for(had_turns, g))
        return 1;
    sfid__crew_leave(&guests[0].berth); /* a copy of its parent's: it is in no crew of this process */
    sfid__crew_leave(&g->berth);
    return 0;
}

/* Forks while other threads of the parent join, leave and hold its lock. */
static void forks(void) {
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    int bad = 0, wrong = 0;
    atomic_store(&churning, 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, churn, fresh(i, INT64_MAX)) != 0)
            bail("thread");
    for (int i = 0; i < (SANITIZED ? 0 : 100); i++) /* a sanitizer's own locks would be copied as well */
        bad += status_of(spawn(child_of_churn, NULL)) != 0;
    is_i64(bad, 0, "fork: each child has a crew of its own, whatever its parent's was at");
    if (SANITIZED)
        nap(300);
    atomic_store(&churning, 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        wrong += failed != NULL || atomic_load(&guests[i].beside) != 0;
    }
    is_i64(wrong, 0, "fork: and in the parent no two turns of one were at once");
    ok(no_threads(NULL), "fork: no thread is left");
}

/* ---- the watch ---------------------------------------------------------------------------- */

static struct {
    _Atomic uint64_t watch;
    _Atomic int turns;
} * shared;

static int live_on(void *unused) {
    (void)unused;
    struct guest *g = fresh(0, INT64_MAX);
    sfid__crew_join(&g->berth);
    wait_for(had_turns, g);
    atomic_store(&shared->watch, atomic_load(&g->watch));
    while (atomic_load(&shared->watch) != 0) { /* until it is killed */
        atomic_store(&shared->turns, atomic_load(&g->turns));
        atomic_store(&g->poked, 1); /* a bell from outside is enough */
        nap(1);
    }
    return 1;
}

static bool has_watch(void *unused) { return unused == NULL && atomic_load(&shared->watch) != 0; }

static bool rings_through(void *before) {
    sfid__watch_ring_all(atomic_load(&shared->watch));
    return atomic_load(&shared->turns) > *(int *)before;
}

static void relatives_know(void) {
    shared = shared_memory(sizeof *shared);
    if (!sfid__watch_prepare())
        bail("no memory");
    const pid_t child = spawn(live_on, NULL);
    ok(tap_wait_until(has_watch, NULL, 20000), "watch: a relative has one");
    const uint64_t watch = atomic_load(&shared->watch);
    ok(sfid__watch_lives(watch), "watch: it lives, as others see");
    ok(!sfid__watch_lives(watch + 1) && !sfid__watch_lives(0) && !sfid__watch_lives(~watch), "watch: no other name does");
    int before = atomic_load(&shared->turns);
    ok(tap_wait_until(rings_through, &before, 20000), "watch: others can ring its bell");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(!sfid__watch_lives(watch), "watch: once killed, it does not live");
    struct guest *g = fresh(0, INT64_MAX);
    sfid__crew_join(&g->berth);
    wait_for(had_turns, g);
    ok(atomic_load(&g->watch) != watch && sfid__watch_lives(atomic_load(&g->watch)) && !sfid__watch_lives(watch),
       "watch: the next thread has another name");
    sfid__crew_leave(&g->berth);
}

int main(void) {
    keeps_order();
    for (int64_t ms = 1000; !falls_into_order(MANY / 2, ms) && ms < 60000; ms *= 4)
        ;
    is_fair();
    hears_the_bell();
    helps_beside_a_hanging_turn();
    has_few_helpers();
    doubts_a_server_that_fails();
    leaves();
    forks();
    relatives_know();
    return done_testing();
}
