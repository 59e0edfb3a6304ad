/* SPDX-License-Identifier: MIT */
/* orders_lease.c - keepers: how they are called, follow one another, and note what a server
 * said. */
#include "orders.h"

/* ---- page.c, keeper.c, keeper_berth.c: the poke ------------------------------------- */

enum { POKE, STOP, ASKED, WATCH };

static void stop_by_poke(void) {
    store(STOP, 1, stop_set);
    exchange(POKE, 1, poke_set);
}
static void run_until_stop(void) {
    if (load(STOP, stop_run) == 1)
        return;
    await(load(POKE, RLX) == 1); /* futex */
    exchange(POKE, 0, poke_thread);
    want(load(STOP, stop_run) == 1, "the poke is taken, and the keeper rests again");
}

/* Once a step has answered, nothing is left of what was asked: else the keeper counts as deaf. */
static void ask(void) {
    store(ASKED, 1, RLX);
    exchange(POKE, 1, poke_set);
}
static void answer(void) {
    note(0, exchange(POKE, 0, arg(0)));
    store(ASKED, 0, RLX);
}
static void answered(void) {
    want(!noted(0) || last(ASKED) == 0, "a keeper that has answered counts as deaf");
}

/* A call that finds its poke cleared by the first turn rings the bell of that turn's watch. An
 * earlier poke is there. */
static void first_turn(void) {
    long none = 0;
    swap(WATCH, &none, 1, watch_take);
    exchange(POKE, 0, poke_berth);
}
static void poke_again(void) {
    if (exchange(POKE, 1, poke_set) == 0)
        want(load(WATCH, RLX) == 1, "the crew rests, and nobody rings its bell");
}

/* ---- I7: two crews take turns on a page ----------------------------------------------- */

enum { STEPS = 5, IN_TURN = 8 };

static void step(void) { write_plain(STEPS, read_plain(STEPS) + 1); }

static bool pass(long from, long to) { return swap(WATCH, &from, to, watch_pass); }

static void crew_1(void) {
    long seen = load(WATCH, watch_get);
    if (seen != 0 || !swap(WATCH, &seen, 1 | IN_TURN, watch_take))
        return;
    step();
    if (!pass(1 | IN_TURN, 1) || !pass(1, 1 | IN_TURN))
        return;
    step();
    pass(1 | IN_TURN, 1);
}
static void crew_2(void) {
    long seen = load(WATCH, watch_get);
    if ((seen & IN_TURN) || !swap(WATCH, &seen, 2 | IN_TURN, watch_take))
        return;
    step();
    pass(2 | IN_TURN, 2);
}

/* ---- I1: a keeper's thread is made, ends, and is made again ----------------------------- */

enum { OWNER, THREAD, CREATED, LEFT };
enum { IDLE, STARTING, RUNNING, ENDED };

static void start(void) {
    long owner = load(OWNER, RLX), starting = STARTING;
    if (owner != IDLE || !swap(OWNER, &owner, STARTING, owner_start))
        return;
    write_plain(LEFT, 0);
    store(CREATED, 1, REL); /* pthread_create(), which may set its result last */
    write_plain(THREAD, 1);
    swap(OWNER, &starting, RUNNING, owner_runs);
}
static void thread_main(void) {
    await(load(CREATED, ACQ) == 1);
    await(load(OWNER, owner_made) != STARTING);
    store(OWNER, ENDED, owner_ended);
}
static void start_again(void) {
    long owner = load(OWNER, RLX);
    await(owner == ENDED);
    if (swap(OWNER, &owner, STARTING, owner_start))
        write_plain(THREAD, read_plain(THREAD) + 1); /* joins the one, makes the next */
}
static void stop_thread(void) {
    await(load(OWNER, owner_stop) == RUNNING);
    read_plain(THREAD);
}

/* No thread can be made; another call tries again. */
static void start_in_vain(void) {
    write_plain(THREAD, 1);
    store(OWNER, IDLE, owner_idle);
}
static void start_after(void) {
    long idle = load(OWNER, RLX);
    if (idle == IDLE && swap(OWNER, &idle, STARTING, owner_start))
        write_plain(THREAD, 2);
}

/* A crew that has lost its watch. */
static void berth_left(void) {
    write_plain(LEFT, 1);
    store(OWNER, ENDED, owner_left);
}
static void join_again(void) {
    long owner = load(OWNER, RLX);
    if (owner == ENDED && swap(OWNER, &owner, STARTING, owner_start))
        write_plain(LEFT, 0);
}

/* A keeper that finds another reign sees what the newer one saw before it sat down. */
enum { REIGN, SEEN };

static void sit_down(void) {
    long reign = load(REIGN, reign_get);
    store(SEEN, 1, RLX);
    swap(REIGN, &reign, 2, reign_set);
}
static void find_reign(void) {
    if (load(REIGN, reign_get) == 2)
        want(load(SEEN, RLX) == 1, "the older keeper ends, and sees less than the newer one");
}

/* ---- alive.c: the word of a thread -------------------------------------------------------- */

enum { WORD, WATCHED, LEFT_BEHIND };
enum { DEAD = 9 };

static void have_word(void) {
    long nobody = 0;
    if (!swap(WORD, &nobody, 1, alive_take))
        return;
    write_plain(LEFT_BEHIND, read_plain(LEFT_BEHIND) + 1);
    long us = 1;
    swap(WORD, &us, 0, alive_leave);
}
/* A crew dies in its turn; the release is the kernel's. Another one finds that, and takes the
 * page. */
static void die_in_turn(void) {
    write_plain(LEFT_BEHIND, 1);
    store(WORD, DEAD, REL);
}
static void take_from_dead(void) {
    long seen = 1 | IN_TURN;
    if (load(WORD, alive_look) == DEAD && swap(WATCHED, &seen, 2 | IN_TURN, watch_take))
        want(read_plain(LEFT_BEHIND) == 1, "the page of a dead crew is taken as it was before");
}
/* The seat of a dead keeper is taken. */
static void take_seat(void) {
    long dead = DEAD;
    if (swap(WORD, &dead, 2, alive_take))
        want(read_plain(LEFT_BEHIND) == 1,
             "the seat of a dead keeper is taken, and what it left is not there");
}

/* ---- nonces.c, record.c: what stands in the record ------------------------------------- */

enum { NONCE, NEXT, LIMIT };

static void raise_limit(void) {
    long limit = 0;
    swap(LIMIT, &limit, 1, limit_raise);
}
static void answered_2(void) { /* sfid__nonces_answered(r, 2), where 1 was answered before */
    raise_limit();
    for (long n; (n = load(NONCE, nonce_get)) != 2;) {
        if (load(NEXT, nonce_get) != 2)
            return;
        if (swap(NONCE, &n, 2, nonce_swap))
            break;
    }
    long next = 2;
    swap(NEXT, &next, 0, nonce_swap);
}
static void note_2(void) { /* sfid__record_note(r, 2, 0) */
    raise_limit();
    store(NONCE, 2, nonce_note);
    store(NEXT, 0, next_note);
}
/* sfid__nonces_of(), then the limit. */
static void find_nonces(void) {
    const long n = load(NONCE, nonce_get), x = load(NEXT, nonce_get);
    if (load(NONCE, nonce_get) != n)
        return;
    want(n == 2 || x == 2, "a pair that never stood there");
    if (n == 2)
        want(load(LIMIT, RLX) == 1, "a nonce is answered, and its limit is missing");
}

/* Of two keepers one is late: between its looks at the nonces and its exchange the other one has
 * had an answer. */
static void renew_3(void) {
    long two = 2, next = 3;
    await(swap(NEXT, &two, 3, nonce_swap));
    if (swap(NONCE, &(long){2}, 3, nonce_swap))
        swap(NEXT, &next, 0, nonce_swap);
}
static void show_4(void) {
    long nothing = 0;
    await(load(NONCE, nonce_get) == 2 && load(NEXT, nonce_get) == 2 && load(NONCE, nonce_get) == 2);
    if (swap(NEXT, &nothing, 4, nonce_swap))
        want(load(NONCE, nonce_get) == 3, "an old nonce is shown, and the lease counts as lost");
}

const struct program lease_programs[] = {
    {"a keeper is stopped by a poke", {stop_by_poke, run_until_stop}, NULL},
    {"a poke is answered by a thread", {ask, answer}, answered, .arg = {poke_thread}},
    {"a poke is answered by a crew", {ask, answer}, answered, .arg = {poke_berth}},
    {"a poke beside a crew's first turn", {first_turn, poke_again}, NULL, .start = {[POKE] = 1}},
    {"two crews take turns", {crew_1, crew_2}, NULL},
    {"a thread is made, ends, and is made again", {start, thread_main, start_again}, NULL},
    {"a thread is made, and stopped", {start, stop_thread}, NULL},
    {"no thread can be made", {start_in_vain, start_after}, NULL, .start = {[OWNER] = STARTING}},
    {"a crew ends, and is joined again",
     {berth_left, join_again},
     NULL,
     .start = {[OWNER] = RUNNING}},
    {"another keeper sits down", {sit_down, find_reign}, NULL, .start = {[REIGN] = 1}},
    {"a word is taken and left", {have_word, have_word, have_word}, NULL},
    {"a crew dies in its turn",
     {die_in_turn, take_from_dead},
     NULL,
     .start = {[WATCHED] = 1 | IN_TURN}},
    {"a keeper dies on its seat", {die_in_turn, take_seat}, NULL},
    {"nonces: an answer is noted",
     {answered_2, find_nonces},
     NULL,
     .start = {[NONCE] = 1, [NEXT] = 2}},
    {"nonces: the same by one keeper alone",
     {note_2, find_nonces},
     NULL,
     .start = {[NONCE] = 1, [NEXT] = 2}},
    {"nonces: one keeper is late", {renew_3, show_4}, NULL, .start = {[NONCE] = 2, [NEXT] = 2}},
    {.name = NULL}};
