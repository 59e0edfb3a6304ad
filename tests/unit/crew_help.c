/* SPDX-License-Identifier: MIT */
/* crew_help.c - helpers beside turns that hang: when there are some, how many, and what is not lost
 * when they come and go. */
#include "crew_scene.h"

static bool no_helper(void *unused) { return unused == NULL && threads_named(HELPER) == 0; }

static bool is_out(void *arg) { return atomic_load(&((struct guest *)arg)->inside) == 0; }

static bool is_inside(void *arg) { return atomic_load(&((struct guest *)arg)->inside) == 1; }

static bool has_said(void *arg) { return atomic_load(&((struct guest *)arg)->said) == 1; }

static int inside_of(int from, int to) {
    int n = 0;
    for (int i = from; i < to; i++)
        n += atomic_load(&guests[i].inside);
    return n;
}

struct inside {
    int from, to, least;
};

static bool are_inside(void *arg) {
    const struct inside *in = arg;
    return inside_of(in->from, in->to) >= in->least;
}

/* Waits until at least so many of these are in their turns, and returns how many are. */
static int wait_inside(int from, int to, int least) {
    wait_until(are_inside, &(struct inside){from, to, least});
    return inside_of(from, to);
}

/* Guests of one server, or of one disk, that have had a turn. */
static void join(int from, int to, bool remote, uint64_t group) {
    for (int i = from; i < to; i++) {
        atomic_store(&fresh(i, INT64_MAX)->group, group);
        guests[i].berth.remote = remote;
        sfid__crew_join(&guests[i].berth);
    }
    for (int i = from; i < to; i++)
        wait_for(had_turns, &guests[i]);
}

static void poke_to_hang(int from, int to) {
    for (int i = from; i < to; i++)
        atomic_store(&guests[i].hangs, SAYS_SO);
    for (int i = from; i < to; i++)
        poke(&guests[i]);
}

static void go_on(int from, int to) {
    for (int i = from; i < to; i++)
        atomic_store(&guests[i].hangs, 0);
}

static void end(int n, const char *what) {
    int beside = 0;
    go_on(0, n);
    for (int i = 0; i < n; i++) {
        sfid__crew_leave(&guests[i].berth);
        beside += atomic_load(&guests[i].beside);
    }
    ok(threads_end(), "%s: no thread is left", what);
    is_i64(beside, 0, "%s: no two turns of one were at once", what);
}

/* ---- a turn that hangs -------------------------------------------------------------- */

static void helps_beside_a_hanging_turn(void) {
    struct guest *h = &guests[0], *a = &guests[1], *b = &guests[2];
    join(0, 3, true, 0);
    is_i64(threads_named(HELPER), 0, "hang: no helper while nothing hangs");
    poke_to_hang(0, 1);
    ok(wait_for(is_inside, h), "hang: one hangs");
    poke(a);
    ok(wait_for(had_two, a), "hang: another one has its turn, though no call asks for help");
    is_i64(threads_named(NAME), 1, "hang: from a second thread");
    is_i64(threads_named(HELPER), 1, "hang: which is one");
    poke(b);
    ok(wait_for(had_two, b), "hang: and serves others as well");
    ok(a->thread != h->thread && b->thread != h->thread, "hang: not the one that hangs");
    poke(h);
    sfid__crew_leave(&b->berth);
    ok(atomic_load(&h->inside) == 1, "hang: another one leaves without waiting for it");
    for (int64_t until = sfid__deadline_now_ms() + 2500; sfid__deadline_now_ms() < until;)
        nap(10); /* longer than a helper stays that is not needed */
    is_i64(threads_named(HELPER), 1, "hang: the helper stays for as long as it does");
    poke(a);
    is_i64(turns_of(a, 3), 3, "hang: and serves");
    atomic_store(&h->hangs, 0);
    ok(wait_for(had_three, h), "hang: it finds its poke after that turn");
    ok(wait_until(no_helper, NULL), "hang: then the helper ends");
    end(2, "hang");
}

/* It hangs before there is another one. */
static void helps_those_that_come_later(void) {
    join(0, 1, true, 0);
    poke_to_hang(0, 1);
    ok(wait_for(is_inside, &guests[0]), "later: the only one hangs");
    is_i64(threads_named(HELPER), 0, "later: without a helper");
    join(1, 2, false, 0);
    ok(atomic_load(&guests[1].turns) > 0, "later: one that joins has its turn");
    end(2, "later");
}

static void has_few_helpers(void) {
    enum { HANG = 8 };
    join(0, HANG, false, 0);
    poke_to_hang(0, HANG);
    is_i64(wait_inside(0, HANG, 5), 5, "many hang: five threads");
    is_i64(threads_named(HELPER), 4, "many hang: four of them are helpers, and no more come");
    end(HANG, "many hang");
}

/* ---- servers and disks that do not answer ---------------------------------------------- */

/* Twenty of one server hang in it, before any has failed: few threads are enough for that. */
static void hangs_in_few(bool remote, const char *what) {
    enum { HANG = 20, ALL = 24 };
    join(0, HANG, remote, 7);
    join(HANG, ALL - 1, false, 0);
    join(ALL - 1, ALL, true, 8);
    poke_to_hang(0, HANG);
    ok(wait_inside(0, HANG, 1) > 0, "%s: turns hang", what); /* not always the first one's */
    for (int i = HANG; i < ALL - 1; i++) {
        poke(&guests[i]);
        ok(wait_for(had_two, &guests[i]),
           "%s: number %d, which does not depend on it, has its turn", what, i);
    }
    poke(&guests[ALL - 1]);
    ok(wait_for(had_two, &guests[ALL - 1]), "%s: so does one with another server", what);
    /* Others come first: the last that hangs may begin after them. */
    is_i64(wait_inside(0, HANG, remote ? 2 : 1), remote ? 2 : 1, "%s: few hang at one time", what);
    go_on(0, HANG);
    int late = 0;
    for (int i = 0; i < HANG; i++)
        late += !wait_for(had_two, &guests[i]);
    is_i64(late, 0, "%s: it answers, and all have their turns", what);
    end(ALL, what);
}

/* Many servers stop answering at once: what depends on none goes on. */
static void many_servers_hang(void) {
    enum { HANG = 14, ALL = 16 };
    for (int i = 0; i < HANG; i++)
        join(i, i + 1, true, 100 + (uint64_t)i);
    join(HANG, ALL, false, 3);
    poke_to_hang(0, HANG);
    wait_inside(0, HANG, 3);
    for (int i = HANG; i < ALL; i++) {
        poke(&guests[i]);
        ok(wait_for(had_two, &guests[i]), "many servers: number %d, of a disk, has its turn", i);
    }
    is_i64(inside_of(0, HANG), 3, "many servers: three turns hang");
    end(ALL, "many servers");
}

/* One disk hangs for good. Those of another one, which are due while one of theirs has its turn, do
 * not wait behind it. */
static void two_disks(void) {
    join(0, 2, false, 7);
    join(2, 5, false, 8);
    poke_to_hang(2, 3);
    ok(wait_for(is_inside, &guests[2]), "two disks: a turn with one of them lasts");
    poke_to_hang(0, 1);
    ok(wait_for(is_inside, &guests[0]) && wait_for(has_said, &guests[0]),
       "two disks: a turn with the other one hangs");
    poke(&guests[1]); /* due before these, and waits for its disk */
    for (int i = 3; i < 5; i++)
        poke(&guests[i]);
    go_on(2, 3);
    for (int i = 2; i < 5; i++)
        ok(wait_for(had_two, &guests[i]), "two disks: number %d, of the first one, has its turn",
           i);
    is_i64(atomic_load(&guests[1].turns), 1, "two disks: and one of the other waits");
    end(5, "two disks");
}

/* Of a server that has failed one turn hangs, whatever else is due. Others have theirs
 * meanwhile. */
static void hangs_in_one(void) {
    enum { ROUNDS = 5 };
    join(0, 4, true, 7);
    join(4, 5, true, 8);
    atomic_store(&guests[0].fails, 1);
    poke(&guests[0]);
    ok(wait_for(had_two, &guests[0]), "failed: a server fails");
    poke_to_hang(1, 4);
    is_i64(wait_inside(1, 4, 1), 1, "failed: a turn with it hangs");
    for (int i = 0; i < ROUNDS; i++) {
        poke(&guests[4]);
        turns_of(&guests[4], 2 + i);
    }
    is_i64(atomic_load(&guests[4].turns), 1 + ROUNDS,
           "failed: the one of another server has turn after turn");
    is_i64(inside_of(1, 4), 1, "failed: and no second turn with the server that failed has begun");
    go_on(1, 4);
    for (int i = 1; i < 4; i++)
        ok(wait_for(had_two, &guests[i]), "failed: it answers, and number %d has its turn", i);
    end(5, "failed");
}

/* A disk that hangs holds up nobody else's, whether that one has failed or not. */
static void goes_on_beside_a_disk(void) {
    join(0, 1, false, 7);
    join(1, 2, false, 8);
    join(2, 3, false, 0);
    poke_to_hang(0, 1);
    ok(wait_for(is_inside, &guests[0]), "beside a disk: it hangs");
    for (int i = 1; i < 3; i++) {
        atomic_store(&guests[i].fails, 1);
        poke(&guests[i]);
        ok(wait_for(had_two, &guests[i]), "beside a disk: number %d fails", i);
        poke(&guests[i]);
        ok(wait_for(had_three, &guests[i]), "beside a disk: and has another turn");
    }
    end(3, "beside a disk");
}

static bool had_two_though_rung(void *arg) {
    poke(arg);
    return had_two(arg);
}

/* A call that finds the window over rings each time, and never waits for long. */
static void serves_one_that_rings_on(void) {
    enum { TURN_MS = 500 };
    join(0, 2, true, 0);
    poke_to_hang(0, 1);
    ok(wait_for(is_inside, &guests[0]), "rings on: the main thread hangs");
    const int64_t began_ms = tap_now_ms();
    ok(wait_for(had_two_though_rung, &guests[1]),
       "rings on: one that is rung for again and again has its turn");
    in_time(took_since(began_ms), TURN_MS,
            "rings on: one that does has it before the machine is late once");
    end(2, "rings on");
}

/* Poked in each of its turns, as by a relative. */
static int64_t poked_always(struct sfid__berth *b, uint64_t watch, uint32_t number) {
    turn(b, watch, number);
    atomic_store(&guest_of(b)->poked, 1);
    return INT64_MAX;
}

static void *leave_it(void *arg) {
    sfid__crew_leave(&((struct guest *)arg)->berth);
    atomic_store(&((struct guest *)arg)->left, 100);
    return NULL;
}

static bool is_gone(void *arg) { return atomic_load(&((struct guest *)arg)->left) == 100; }

static void leaves_though_poked(void) {
    static const struct sfid__berth_ops restless = {.turn = poked_always,
                                                    .is_poked = is_poked,
                                                    .has_failed = has_failed,
                                                    .group = group_of,
                                                    .left = left};
    pthread_t thread;
    fresh(0, INT64_MAX)->berth.ops = &restless;
    sfid__crew_join(&guests[0].berth);
    ok(wait_for(had_three, &guests[0]),
       "poked: one that is poked in each turn has turn after turn");
    need(pthread_create(&thread, NULL, leave_it, &guests[0]) == 0, "thread");
    need(ok(wait_for(is_gone, &guests[0]), "poked: it can leave"), "it cannot");
    pthread_join(thread, NULL);
    ok(threads_end(), "poked: no thread is left");
}

/* ---- what helpers must not lose ------------------------------------------------------ */

/* 0: it has ended. */
static char state_of(void *arg) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)((struct guest *)arg)->thread);
    FILE *in = fopen(path, "re");
    if (in && fscanf(in, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (in)
        fclose(in);
    return state;
}

static bool its_thread_sleeps(void *arg) { return state_of(arg) == 'S'; }

static bool sleeps_or_ended(void *arg) {
    const char state = state_of(arg);
    return state == 'S' || state == 0;
}

/* Three that had a turn. The last one hangs in the main thread, and a helper gives the first one a
 * turn. */
static void begin_with_a_helper(int64_t next_ms) {
    join(0, 3, true, 0);
    poke_to_hang(2, 3);
    wait_for(is_inside, &guests[2]);
    guests[0].next_ms = next_ms;
    if (next_ms != INT64_MAX)
        poke_to_hang(0, 1);
    else
        poke(&guests[0]);
    wait_for(had_two, &guests[0]);
}

static struct { _Atomic int armed, heard; } helper;

/* Notes that a helper hears this guest's poke. */
static bool is_poked_and_heard(const struct sfid__berth *b) {
    if (atomic_load(&helper.armed) && is_poked(b) && gettid() != guests[2].thread)
        atomic_store(&helper.heard, 1);
    return is_poked(b);
}

/*
 * Two helpers sleep on the bell while the main thread is in a turn. The end of that turn wakes one
 * of them. The main thread goes to sleep behind the other one, and a poke wakes that one. True if
 * that helper hears it, and the main thread serves it all the same, not late by 20 ms: then the
 * helper would.
 */
static bool a_helper_rings_on(bool *served) {
    static const struct sfid__berth_ops noted = {.turn = turn,
                                                 .is_poked = is_poked_and_heard,
                                                 .has_failed = has_failed,
                                                 .group = group_of,
                                                 .left = left};
    atomic_store(&helper.armed, 0);
    atomic_store(&helper.heard, 0);
    join(0, 1, true, 0);
    fresh(1, INT64_MAX)->berth.ops = &noted;
    guests[1].berth.remote = true;
    sfid__crew_join(&guests[1].berth);
    wait_for(had_turns, &guests[1]);
    join(2, 3, true, 0);
    poke_to_hang(2, 3);
    wait_for(is_inside, &guests[2]); /* in the main thread */
    poke_to_hang(0, 1);
    wait_for(is_inside, &guests[0]); /* in a helper */
    poke(&guests[1]);
    wait_for(had_two, &guests[1]); /* in another one */
    go_on(0, 1);
    wait_for(is_out, &guests[0]);
    wait_for(sleeps_or_ended, &guests[0]);
    wait_for(sleeps_or_ended, &guests[1]);
    go_on(2, 3);
    wait_for(is_out, &guests[2]);
    wait_for(sleeps_or_ended, &guests[2]);
    atomic_store(&helper.armed, threads_named(HELPER) == 2);
    poke(&guests[1]);
    *served = wait_for(had_three, &guests[1]);
    return *served && atomic_load(&helper.heard) && guests[1].thread == guests[2].thread;
}

static void wakes_the_main_thread(void) {
    enum { TRIES = 60 };
    bool rung = false, served = true;
    for (int i = 0; i < TRIES && !rung && served; i++) {
        for (int n = 0; i > 0 && n < 3; n++)
            sfid__crew_leave(&guests[n].berth);
        rung = a_helper_rings_on(&served);
    }
    ok(served, "woken: each poke is served");
    ok(rung, "woken: a poke that wakes a helper is the main thread's");
    end(3, "woken");
}

/* The main thread has gone to sleep while a helper is in a turn, which then is due again. */
static void keeps_the_time(void) {
    enum { TURN_MS = 1000 }; /* it has no other reason to come than the time */
    const int64_t due_ms = tap_now_ms() + 3000;
    begin_with_a_helper(due_ms);
    go_on(2, 3);
    ok(wait_for(is_out, &guests[2]) && wait_for(its_thread_sleeps, &guests[2]),
       "due: the main thread sleeps beside a helper's turn");
    const int64_t over_ms = tap_now_ms();
    go_on(0, 1);
    ok(wait_for(had_three, &guests[0]), "due: what the helper had is due again");
    in_time(took_between(over_ms > due_ms ? over_ms : due_ms, guests[0].turn_ms), TURN_MS,
            "due: in time");
    end(3, "due");
}

/* Its bell rang for another crew, which had its page: a call has the thread look. */
static void looks_when_asked(void) {
    struct guest *a = &guests[0];
    join(0, 2, false, 0);
    ok(wait_for(its_thread_sleeps, a), "look: the thread sleeps");
    sfid__crew_look(&a->berth);
    poke(&guests[1]);
    wait_for(had_two, &guests[1]);
    is_i64(atomic_load(&a->turns), 1, "look: not poked, it has no turn");
    atomic_store(&a->poked, 1);
    sfid__crew_look(&a->berth);
    ok(wait_for(had_two, a), "look: poked, it has one");
    end(2, "look");
}

int main(void) {
    witness_begin();
    looks_when_asked();
    helps_beside_a_hanging_turn();
    helps_those_that_come_later();
    has_few_helpers();
    hangs_in_few(true, "one server");
    hangs_in_few(false, "one disk");
    many_servers_hang();
    two_disks();
    hangs_in_one();
    goes_on_beside_a_disk();
    serves_one_that_rings_on();
    leaves_though_poked();
    wakes_the_main_thread();
    keeps_the_time();
    return done_testing();
}
