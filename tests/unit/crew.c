/* SPDX-License-Identifier: MIT */
/* crew.c - the one thread of a process: order of times, bell, leaving, forks, watches. crew_help.c
 * has its helpers. */
#include "crew_scene.h"

static bool has_left(void *arg) { return atomic_load(&((struct guest *)arg)->left) > 0; }

/* ---- one thread, in order of times ---------------------------------------------- */

static void keeps_order(void) {
    struct guest *a = fresh(0, INT64_MAX);
    is_i64(sfid__crew_join(&a->berth), 0, "order: the first joins");
    ok(wait_for(had_turns, a), "order: and gets a turn at once");
    const int64_t soon = sfid__deadline_now_ms() + 1500;
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
    ok(threads_end(), "order: with the last one the thread ends");
}

static bool all_had_a_turn(void *n) {
    for (int i = 0; i < *(int *)n; i++)
        if (atomic_load(&guests[i].turns) == 0)
            return false;
    return true;
}

/* The second turns come by their times, however late they are. False if the first turns took until
 * then. */
static bool falls_into_order(int n, int64_t from_now_ms) {
    int mixed = 0, wrong = 0, stay = 0;
    const int64_t first_ms = sfid__deadline_now_ms() + from_now_ms;
    for (int i = 0; i < n; i++)
        sfid__crew_join(&fresh(i, first_ms + i * INT64_C(7919) % n / 2)->berth);
    const bool all = wait_until(all_had_a_turn, &n);
    for (int i = 0; i < n; i += 3) /* some leave out of the middle */
        sfid__crew_leave(&guests[i].berth);
    atomic_store(&order, 0);
    const bool before = sfid__deadline_now_ms() < first_ms;
    for (int i = 0; i < n && before; i++) /* who was late may have no second one */
        stay += i % 3 != 0 && wait_for(had_two, &guests[i]);
    for (int i = 1; i < stay; i++)
        mixed += guests[turn_of[i - 1]].next_ms > guests[turn_of[i]].next_ms;
    for (int i = 0; i < n; i++)
        wrong += atomic_load(&guests[i].turns) != (i % 3 ? 2 : 1);
    for (int i = 0; i < n; i++)
        sfid__crew_leave(&guests[i].berth);
    if (!before)
        return false;
    ok(all, "heap: %d get a turn at once", n);
    is_i64(mixed, 0, "heap: the next ones come by their times");
    is_i64(wrong, 0, "heap: to those that have not left meanwhile");
    ok(threads_end(), "heap: no thread is left");
    return true;
}

/* One that is always due again does not keep the others waiting. */
static int64_t always_due(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    turn(b, watch, number);
    return 0;
}

static void is_fair(void) {
    static const struct sfid__berth_ops eager = {.turn = always_due,
                                                 .is_poked = is_poked,
                                                 .has_failed = has_failed,
                                                 .group = group_of,
                                                 .left = left};
    struct guest *a = fresh(0, INT64_MAX), *b = fresh(1, sfid__deadline_now_ms() + 2000);
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
    is_i64(turns_of(a, 4), 4, "bell: and its own");
    atomic_store(&a->poked, 1);
    sfid__watch_ring(atomic_load(&b->watch), SFID__WATCH_ALL - 1);
    sfid__watch_ring_all(atomic_load(&b->watch));
    is_i64(turns_of(a, 5), 5, "bell: a bell for all finds who was poked");
    sfid__crew_leave(&a->berth);
    sfid__crew_leave(&b->berth);
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
    need(pthread_create(&thread, NULL, leave_it, a) == 0, "thread");
    nap(50);
    is_i64(atomic_load(&a->left), 0, "leave: waits for its own turn");
    atomic_store(&a->hangs, 0);
    pthread_join(thread, NULL);
    ok(atomic_load(&a->inside) == 0 && atomic_load(&a->left) == 100,
       "leave: which then is over, and is not told of that");

    for (int i = 0; i < 300; i++) { /* the thread ends and begins all the time */
        sfid__crew_join(&fresh(0, INT64_MAX)->berth);
        sfid__crew_join(&fresh(1, INT64_MAX)->berth);
        if (i % 2)
            wait_for(had_turns, b);
        sfid__crew_leave(&a->berth);
        sfid__crew_leave(&b->berth);
    }
    ok(threads_end(), "leave: 300 crews in turn leave no thread");
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
        sfid__crew_look(&g->berth);
        sfid__crew_leave(&g->berth);
    }
    return NULL;
}

static int child_of_churn(void *unused) {
    (void)unused;
    struct guest *g = fresh(MANY - 1, INT64_MAX);
    if (sfid__crew_join(&g->berth) != 0 || !wait_for(had_turns, g))
        return 1;
    /* a copy of its parent's: it is in no crew of this process */
    sfid__crew_leave(&guests[0].berth);
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
        need(pthread_create(&thread[i], NULL, churn, fresh(i, INT64_MAX)) == 0, "thread");
    if (SANITIZED) {
        nap(300);
        skip(1, "a sanitizer's allocator does not survive a fork amid threads");
    } else {
        for (int i = 0; i < 100; i++)
            bad += status_of(spawn(child_of_churn, NULL)) != 0;
        is_i64(bad, 0, "fork: each child has a crew of its own, whatever its parent's was at");
    }
    atomic_store(&churning, 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        wrong += failed != NULL || atomic_load(&guests[i].beside) != 0;
    }
    is_i64(wrong, 0, "fork: and in the parent no two turns of one were at once");
    ok(threads_end(), "fork: no thread is left");
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
    need(sfid__watch_prepare(), "no memory");
    const pid_t child = spawn(live_on, NULL);
    ok(wait_until(has_watch, NULL), "watch: a relative has one");
    const uint64_t watch = atomic_load(&shared->watch);
    ok(sfid__watch_lives(watch), "watch: it lives, as others see");
    ok(!sfid__watch_lives(watch + 1) && !sfid__watch_lives(0) && !sfid__watch_lives(~watch),
       "watch: no other name does");
    int before = atomic_load(&shared->turns);
    ok(wait_until(rings_through, &before), "watch: others can ring its bell");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(!sfid__watch_lives(watch), "watch: once killed, it does not live");
    struct guest *g = fresh(0, INT64_MAX);
    sfid__crew_join(&g->berth);
    wait_for(had_turns, g);
    ok(atomic_load(&g->watch) != watch && sfid__watch_lives(atomic_load(&g->watch)) &&
           !sfid__watch_lives(watch),
       "watch: the next thread has another name");
    sfid__crew_leave(&g->berth);
}

/* All places are taken, by this thread. */
static void none_to_be_had(void) {
    enum { PLACES = 1 << 14 };
    static uint64_t names[PLACES + 1], of_place[PLACES];
    int n = 0, again = 0;
    while (n < PLACES && (names[n] = sfid__watch_take()) != 0)
        n++;
    is_u64(sfid__watch_take(), 0, "no watch: %d are taken", n);
    struct guest *a = fresh(0, INT64_MAX);
    is_i64(sfid__crew_join(&a->berth), 0, "no watch: one joins");
    ok(wait_for(has_left, a), "no watch: and is told that it has left");
    is_i64(atomic_load(&a->turns), 0, "no watch: without a turn");
    sfid__crew_leave(&a->berth);
    ok(threads_end(), "no watch: a leave then finds nothing but the thread");
    is_i64(atomic_load(&a->left), 1, "no watch: it was told once");
    while (n-- > 0) {
        sfid__watch_leave(names[n]);
        of_place[names[n] % PLACES] = names[n];
    }
    for (n = 0; n < 64; n++) {
        const uint64_t name = sfid__watch_take();
        again += of_place[name % PLACES] == name;
        sfid__watch_leave(name);
    }
    is_i64(again, 0, "a place that is taken again has another name");
    sfid__crew_join(&fresh(0, INT64_MAX)->berth);
    ok(wait_for(had_turns, a), "no watch: with one it has a turn again");
    sfid__crew_leave(&a->berth);
}

int main(void) {
    keeps_order();
    int64_t ms = 1000;
    for (; ms < 60000 && !falls_into_order(MANY / 2, ms); ms *= 4)
        ;
    need(ms < 60000, "the first turns took too long each time");
    is_fair();
    hears_the_bell();
    leaves();
    forks();
    relatives_know();
    if (SANITIZED)
        skip(1, "a sanitizer needs memory of its own");
    else
        none_to_be_had();
    return done_testing();
}
