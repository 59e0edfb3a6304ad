/* SPDX-License-Identifier: MIT */
/* crew_help.c - helpers beside turns that hang: who gets one, who does not, what is not lost when they come and go. */
#include "crew_scene.h"

static bool no_helper(void *unused) { return unused == NULL && threads_named(HELPER) == 0; }

static bool is_out(void *arg) { return atomic_load(&((struct guest *)arg)->inside) == 0; }

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

/* ---- what helpers must not lose ------------------------------------------------------ */

/* Two guests that had a turn, a third whose turn hangs in the main thread, and a helper, which has given the first a turn. */
static void begin_with_a_helper(int64_t next_ms) {
    for (int i = 0; i < 2; i++) {
        sfid__crew_join(&fresh(i, INT64_MAX)->berth);
        wait_for(had_turns, &guests[i]);
    }
    atomic_store(&fresh(2, INT64_MAX)->hangs, 1);
    sfid__crew_join(&guests[2].berth);
    wait_for(had_turns, &guests[2]);
    guests[0].next_ms = next_ms;
    atomic_store(&guests[0].hangs, next_ms != INT64_MAX);
    poke(&guests[0]);
    tap_wait_until(gets_help, &guests[0], 20000);
}

static bool its_thread_sleeps(void *arg) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)((struct guest *)arg)->thread);
    FILE *in = fopen(path, "re");
    const bool known = in && fscanf(in, "%*d (%*[^)]) %c", &state) == 1;
    if (in)
        fclose(in);
    return known && state == 'S';
}

static void end_with_helper(const char *what) {
    for (int i = 0; i < 3; i++)
        sfid__crew_leave(&guests[i].berth);
    ok(no_threads(NULL), "%s: no thread is left", what);
}

/* Both sleep on one bell, the helper first in the queue. */
static void wakes_the_main_thread(void) {
    begin_with_a_helper(INT64_MAX);
    ok(wait_for(its_thread_sleeps, &guests[0]), "woken: a helper sleeps on the bell");
    atomic_store(&guests[2].hangs, 0);
    ok(wait_for(is_out, &guests[2]) && wait_for(its_thread_sleeps, &guests[2]), "woken: so does the main thread, behind it");
    const int64_t begin = tap_now_ms();
    poke(&guests[1]);
    wait_for(had_two, &guests[1]);
    const int64_t took = tap_now_ms() - begin;
    ok(atomic_load(&guests[1].turns) >= 2 && took < 10000, "woken: a poke that wakes the helper is served (%" PRId64 " ms)", took);
    end_with_helper("woken");
}

/* The main thread has gone to sleep while a helper is in a turn, which then is due again. */
static void keeps_the_time(void) {
    begin_with_a_helper(sfid__deadline_now_ms() + 3000);
    atomic_store(&guests[2].hangs, 0);
    ok(wait_for(is_out, &guests[2]) && wait_for(its_thread_sleeps, &guests[2]),
       "due: the main thread sleeps beside a helper's turn");
    atomic_store(&guests[0].hangs, 0);
    ok(tap_wait_until(had_three, &guests[0], 10000), "due: what the helper had is due again, in time");
    end_with_helper("due");
}

/* Servers are told apart by a hash. */
static void tells_servers_apart(void) {
    for (int i = 0; i < 4; i++) {
        fresh(i, INT64_MAX)->berth.group = i < 3 ? 7 : 7 + (UINT64_C(1) << 40);
        atomic_store(&guests[i].fails, i < 3);
        sfid__crew_join(&guests[i].berth);
    }
    int n = 4;
    ok(tap_wait_until(all_had_a_turn, &n, 20000), "apart: all had a turn, and a server failed");
    for (int i = 0; i < 3; i++) {
        atomic_store(&guests[i].hangs, 1);
        poke(&guests[i]);
    }
    for (int round = 0; round < 20000 && inside_of(0, 3) < 3; round++, nap(1))
        for (int i = 0; i < 3; i++)
            sfid__crew_help(&guests[i].berth);
    is_i64(inside_of(0, 3), 3, "apart: three of its turns hang");
    poke(&guests[3]);
    ok(tap_wait_until(gets_help, &guests[3], 5000), "apart: one of a server that answers gets its turn");
    for (int i = 0; i < 3; i++)
        atomic_store(&guests[i].hangs, 0);
    for (int i = 0; i < 4; i++)
        sfid__crew_leave(&guests[i].berth);
    ok(no_threads(NULL), "apart: no thread is left");
}

/* It is due later, and a call finds it late: the main thread, which sleeps, gives it a turn. */
static void wakes_for_a_late_one(void) {
    struct guest *a = fresh(0, INT64_MAX);
    sfid__crew_join(&a->berth);
    ok(wait_for(had_turns, a) && wait_for(its_thread_sleeps, a), "late: the thread sleeps");
    atomic_store(&a->poked, 1); /* its bell rang for another crew */
    sfid__crew_help(&a->berth);
    ok(wait_for(had_two, a), "late: a call has it look");
    is_i64(threads_named(HELPER), 0, "late: without a helper");
    sfid__crew_leave(&a->berth);
}

int main(void) {
    helps_beside_a_hanging_turn();
    has_few_helpers();
    doubts_a_server_that_fails();
    wakes_the_main_thread();
    keeps_the_time();
    tells_servers_apart();
    wakes_for_a_late_one();
    return done_testing();
}
