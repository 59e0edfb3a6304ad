/* SPDX-License-Identifier: MIT */
/* lease_short.c - the lease machine: first windows, short pids, the move from one to an ordinary
 * pid, and strangers. */
#include "support/leases.h"

/* ---- first windows --------------------------------------------------------- */

static void heartbeats(void) {
    begin_first(ORDINARY_PID);
    is_i64(last()->due_ms - now, FIRST_HEARTBEAT, "a claim: the first renewal comes soon");
    ok(sfid__lease_is_brief(&l), "a claim: its window is a first one");
    wake_when_due();
    is_str(grant(ORDINARY_PID, 0, TICK + WINDOW), "h ENWS", "a renewal");
    is_i64(last()->due_ms - now, HEARTBEAT, "a renewal: the next comes after the whole heartbeat");
    ok(!sfid__lease_is_brief(&l), "a renewal: its window is a whole one");

    begin_first(SHORT_PID);
    for (unsigned i = 1; i <= 3; i++) {
        is_i64(last()->due_ms - now, FIRST_HEARTBEAT, "a short pid: renewal %u comes soon", i);
        ok(sfid__lease_is_brief(&l), "a short pid: its window %u is a first one", i);
        wake_when_due();
        grant(SHORT_PID, 0, TICK + FIRST_WINDOW + i);
    }

    begin(&two_windows);
    resume(TICK + WINDOW, 0);
    is_i64((grant(3, 0, TICK + WINDOW), last()->due_ms - now), FIRST_HEARTBEAT,
           "a short pid that was found: soon");
    struct sfid__lease_terms terms = two_windows;
    terms.short_every = 8;
    begin(&terms);
    resume(TICK + WINDOW, 0);
    ok(!sfid__lease_is_brief(&l), "an ordinary pid that was found: its window is a whole one");
    is_i64((grant(3, 0, TICK + WINDOW), last()->due_ms - now), HEARTBEAT,
           "an ordinary pid that was found: the whole heartbeat");
    terms.short_every = 0;
    begin_open(&terms);
    grant(SHORT_PID, TICK, TICK + FIRST_WINDOW);
    adopted(TICK + FIRST_WINDOW, true);
    wake_when_due();
    is_u64(last()->move_token, 0, "no share: no pid is short");
    is_i64((grant(SHORT_PID, 0, TICK + WINDOW), last()->due_ms - now), HEARTBEAT,
           "no share: the whole heartbeat");
}

/* How soon the next renewal comes, with any jitter, if our clock finds so many ticks of the window
 * gone when it is granted. */
static void next_is(uint64_t gone, int64_t ms, int64_t least_ms, const char *what) {
    int64_t lowest = INT64_MAX, highest = 0;
    for (uint64_t i = 0; i < 4000; i++) {
        begin_held(&usual);
        wake_when_due();
        tick = TICK + gone;
        jitter = i;
        grant(4, 0, TICK + WINDOW);
        lowest = SFID__MIN(lowest, last()->due_ms - now);
        highest = SFID__MAX(highest, last()->due_ms - now);
    }
    is_i64(highest, ms, "%s", what);
    is_i64(lowest, least_ms, "%s, less jitter", what);
}

static void clocks_ahead(void) {
    const int64_t eighth = HEARTBEAT / 8, sooner = HEARTBEAT - 20 * UNIT;
    next_is(0, HEARTBEAT, HEARTBEAT - HEARTBEAT / 10, "ahead: not at all: the whole heartbeat");
    next_is(1, HEARTBEAT - UNIT, HEARTBEAT - UNIT - (HEARTBEAT - UNIT) / 10,
            "ahead: a tick: sooner by a tick");
    next_is(20, sooner, sooner - sooner / 10, "ahead: 20 ticks: by 20");
    next_is(28, eighth, eighth, "ahead: seven eighths of a heartbeat: an eighth stays");
    next_is(29, eighth, eighth, "ahead: by more: it stays");
    next_is(WINDOW, eighth, eighth, "ahead: by the window: it stays");
    next_is((uint64_t)-50, HEARTBEAT, HEARTBEAT - HEARTBEAT / 10, "behind: the whole heartbeat");

    struct sfid__lease_terms marks = usual;
    marks.unit_ms = 0;
    begin_held(&marks);
    wake_when_due();
    tick = TICK + 20;
    grant(4, 0, TICK + WINDOW);
    is_i64(last()->due_ms - now, HEARTBEAT,
           "ahead: a store that goes by our clock: the whole heartbeat");
    begin_held(&usual);
    wake_when_due();
    now += eighth - 1;
    tick = TICK + WINDOW;
    grant(4, 0, TICK + WINDOW);
    is_i64(last()->due_ms - now, 1, "ahead: the eighth counts from when it was asked for");

    begin_open(&two_windows);
    tick = TICK + FIRST_WINDOW - 1;
    grant(4, TICK, TICK + FIRST_WINDOW);
    is_str(adopted(TICK + FIRST_WINDOW, true), "h LS",
           "ahead: a first window that is nearly over is good");
    is_i64(last()->due_ms, now, "ahead: and renewed at once");
    is_str(wake(false), "h NR", "ahead: whether anybody calls or not");
    grant(4, 0, TICK + WINDOW);
    is_i64(last()->due_ms - now, eighth, "ahead: but not over and over");
}

static void half_windows(void) {
    begin_first(ORDINARY_PID);
    tick = TICK + FIRST_WINDOW / 2 - 1;
    is_str(wake(true), "h S", "a first window: not before half of it has gone");
    tick++;
    is_str(wake(false), "h NR", "a first window: then");
    grant(ORDINARY_PID, 0, tick + WINDOW);
    now += HEARTBEAT / 8 - 1;
    tick += WINDOW / 2;
    is_str(wake(true), "h S", "renewed: not within an eighth of the whole heartbeat");
    now++;
    tick--;
    is_str(wake(true), "h S", "renewed: nor before half of the whole window has gone");
    tick++;
    is_str(wake(true), "h NR", "renewed: then");

    begin_first(SHORT_PID);
    wake_when_due();
    tick = TICK + 10;
    grant(SHORT_PID, 0, tick + FIRST_WINDOW);
    now += FIRST_HEARTBEAT / 8;
    tick += FIRST_WINDOW / 2 - 1;
    is_str(wake(true), "h S",
           "a short pid: not before half of a first window has gone, though it was renewed");
    tick++;
    is_str(wake(true), "h NR", "a short pid: then");
}

static void pauses_are(const int64_t *pauses, unsigned count, const char *what) {
    wake_when_due();
    for (unsigned i = 0; i < count; i++) {
        answer(SFID__FAILED);
        is_i64(last()->due_ms - now, pauses[i], "%s: failure %u: the pause after it", what, i + 1);
        wake_when_due();
    }
}

static void pauses(void) {
    static const int64_t brief[] = {50, 100, 200, 400, 800, 1600, 3200, 3200},
                         whole[] = {50, 100, 200, 400, 800, 1600, 3200, 5000};
    begin_first(ORDINARY_PID);
    pauses_are(brief, 8, "a first window");
    grant(ORDINARY_PID, 0, TICK + WINDOW);
    pauses_are(whole, 8, "a whole window");
    begin_first(SHORT_PID);
    pauses_are(brief, 8, "a short pid");
    grant(SHORT_PID, 0, TICK + FIRST_WINDOW);
    pauses_are(brief, 8, "a short pid that was renewed");
}

static void polls(void) {
    static const int64_t said_and_done[][2] = {
        {INT64_MIN, POLL}, {0, POLL},
        {POLL, POLL},      {POLL + 1, 11},
        {FIRST - 1, 49},   {FIRST_HEARTBEAT + 1, FIRST_HEARTBEAT + 1},
        {31999, 31999},    {POLL_MOST + 1, POLL_MOST}};
    for (unsigned i = 0; i < sizeof said_and_done / sizeof said_and_done[0]; i++) {
        begin_open(&two_windows);
        fail_and_wake();
        is_str(later(said_and_done[i][0], 5), "w S", "all pids are taken");
        is_i64(last()->due_ms - now, said_and_done[i][1], "all pids are taken for %" PRId64 " ms",
               said_and_done[i][0]);
    }
    wake_when_due();
    answer(SFID__FAILED);
    is_i64(last()->due_ms - now, FIRST, "the next failure is a first one");
}

/* R8: a claim grants a first window and not more. */
static void possible_claims(void) {
    static const uint64_t pids[] = {ORDINARY_PID, SHORT_PID};
    for (unsigned i = 0; i < 2; i++) {
        begin_open(&two_windows);
        is_str(grant(pids[i], TICK, TICK + FIRST_WINDOW), "w A",
               "R8: pid %" PRIu64 ": a first window", pids[i]);
        begin_open(&two_windows);
        is_str(grant(pids[i], TICK, TICK + FIRST_WINDOW + 1), "w FS",
               "R8: pid %" PRIu64 ": one tick more", pids[i]);
    }
    begin_open(&two_windows);
    is_str(switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW), "w FS",
           "R8: no claim is answered with a move");
    begin_open(&two_windows);
    is_str(answer(SFID__FOREIGN), "w FS", "R8: nor with a stranger");
}

/* ---- R11: moves ------------------------------------------------------------ */

/* A short pid's renewal is under way. */
static struct sfid__lease_action begin_move(void) {
    begin_first(SHORT_PID);
    is_str(wake_when_due(), "h NR", "a short pid is renewed");
    return *last();
}

static void what_is_asked(void) {
    begin_first(ORDINARY_PID);
    wake_when_due();
    ok(last()->move_token == 0 && last()->move_nonce == 0,
       "R11: an ordinary pid asks for no other");
    const struct sfid__lease_action first = begin_move();
    ok(first.move_token != 0 && first.move_token != first.token,
       "R11: a short pid asks for another under a token of its own");
    ok(first.move_nonce != 0, "R11: with a nonce");
    ok(first.pid == SHORT_PID && first.limit == TICK + FIRST_WINDOW,
       "R11: and shows what it holds");
    is_u64(first.start, 5, "R11: it looks where the claim looked");
    ok(out.list[0].move_token == 0 && out.list[0].next_nonce == first.next_nonce,
       "R3: only the renewal's nonces are noted");
    fail_and_wake();
    is_u64(last()->move_token, first.move_token, "R6: made again it has the same token");
    ok(last()->move_nonce > first.move_nonce, "R6: and a nonce of its own, above the one before");
    is_u64(last()->next_nonce, first.next_nonce, "R2: the renewal's nonce stays");
    const uint64_t before = last()->move_nonce;
    grant(SHORT_PID, 0, TICK + FIRST_WINDOW + 1);
    wake_when_due();
    is_u64(last()->move_token, first.move_token, "R6: the same token as long as the pid is held");
    ok(last()->move_nonce > before, "R6: with a nonce of its own");
    answer(SFID__LOST);
    grant(3, TICK, TICK + FIRST_WINDOW);
    adopted(TICK + FIRST_WINDOW, true);
    wake_when_due();
    ok(last()->move_token != first.move_token,
       "R5: another short lease has another token for a move");

    begin(&two_windows);
    resume(TICK + 20, 73);
    ok(last()->move_token != 0 && last()->move_token != 71,
       "R11: a restart asks at once, under a token of its own");
    is_u64(last()->start, 6, "R11: it looks where the process has its own place");
    is_str(switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW), "w A", "R11: and is moved");
    begin(&two_windows);
    resume_cold(TICK - 20);
    is_u64(last()->move_token, 0, "R9: what no ID was generated from is renewed first");
    is_str(switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW), "h FS", "R8: so it cannot be moved");
    begin_open(&two_windows);
    grant(SHORT_PID, TICK, TICK + FIRST_WINDOW);
    is_str(adopted(TICK + FIRST_WINDOW, false), "h NR", "a claim that is not sure is renewed");
    is_u64(last()->move_token, 0, "R11: before another pid is asked for");
}

static void what_a_move_brings(void) {
    const struct sfid__lease_action asked = begin_move();
    is_str(switched(ORDINARY_PID, TICK + 1, TICK + FIRST_WINDOW), "w A",
           "moved: a record, and nobody is told of a loss");
    ok(last()->pid == ORDINARY_PID && last()->floor == TICK + 1 &&
           last()->limit == TICK + FIRST_WINDOW,
       "moved: as granted");
    ok(last()->token == asked.move_token && last()->nonce == asked.move_nonce &&
           last()->next_nonce == 0,
       "moved: under the token and nonce of the move");
    is_str(adopted(TICK + FIRST_WINDOW, true), "h MS", "moved: told as leased again");
    is_i64(last()->due_ms - now, FIRST_HEARTBEAT, "moved: the first renewal comes soon");
    wake_when_due();
    ok(last()->pid == ORDINARY_PID && last()->token == asked.move_token &&
           last()->nonce == asked.move_nonce,
       "moved: the new lease is renewed");
    is_u64(last()->move_token, 0, "moved: and no other is asked for");
    is_str(grant(ORDINARY_PID, 0, TICK + WINDOW), "h ENWS", "moved: a whole window");
    is_i64(last()->due_ms - now, HEARTBEAT, "moved: from then on the whole heartbeat");
    is_str(close_lease(), "e V", "close after a move");
    ok(last()->pid == ORDINARY_PID && last()->token == asked.move_token,
       "close after a move: the new pid is given back");

    begin_move();
    switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    is_str(close_lease(), "e S", "close before the record is there: nothing is given back");
}

static void move_is(bool possible, uint64_t pid, uint64_t floor, uint64_t limit, const char *what) {
    const struct sfid__lease_action asked = begin_move();
    is_str(switched(pid, floor, limit), possible ? "w A" : "h FS", "R8: a move: %s", what);
    if (possible)
        return;
    is_i64(last()->due_ms - now, FIRST, "R10: %s: tried again after a pause", what);
    wake_when_due();
    ok(last()->kind == SFID__DO_RENEW && last()->token == asked.token &&
           last()->next_nonce == asked.next_nonce && last()->move_token == asked.move_token,
       "R8: %s: the short lease goes on", what);
}

static void possible_moves(void) {
    move_is(true, 2, TICK, TICK + FIRST_WINDOW, "the lowest pid");
    move_is(true, 9, TICK, TICK + FIRST_WINDOW, "the highest pid");
    move_is(false, 1, TICK, TICK + FIRST_WINDOW, "a pid too low");
    move_is(false, 10, TICK, TICK + FIRST_WINDOW, "a pid too high");
    move_is(false, SHORT_PID, TICK, TICK + FIRST_WINDOW, "the same pid");
    move_is(false, 3, TICK, TICK + FIRST_WINDOW, "another short pid");
    move_is(false, ORDINARY_PID, TICK, TICK + FIRST_WINDOW + 1, "a window one tick too long");
    move_is(false, ORDINARY_PID, TICK + 1, TICK, "a floor above the limit");
    move_is(false, ORDINARY_PID, TICK + REACH - 30, TICK + REACH + 1, "a window out of reach");
    begin_first(ORDINARY_PID);
    wake_when_due();
    is_str(switched(5, TICK, TICK + FIRST_WINDOW), "h FS", "R8: no move that was not asked for");
    is_u64(l.pid, ORDINARY_PID, "R8: the pid stays");
    begin_first(SHORT_PID);
    wake_when_due();
    switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    adopted(TICK + FIRST_WINDOW, true);
    wake_when_due();
    is_str(switched(5, TICK, TICK + FIRST_WINDOW), "h FS", "R8: nor a second one");
}

static void moves_without_a_record(void) {
    const struct sfid__lease_action asked = begin_move();
    switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    is_str(unfit(), "w FS", "moved, and no record: a pause");
    is_i64(last()->due_ms - now, FIRST, "moved, and no record: as after any failure");
    is_str(wake_when_due(), "w C", "R11: then a claim, not the short lease");
    ok(last()->token == asked.move_token,
       "R6: under the token of the move, so it finds the pid granted");
    ok(last()->nonce > asked.move_nonce, "R6: with a nonce of its own");
    is_str(answer(SFID__REFUSED), "w FS", "refused: it had a pid, and goes on");
    wake_when_due();
    grant(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    is_str(adopted(TICK + FIRST_WINDOW, true), "h MS", "then the move is done");
    begin_move();
    switched(ORDINARY_PID, TICK, TICK + FIRST_WINDOW);
    unfit();
    is_str(close_lease(), "e S",
           "close without a record for the move: neither lease is given back");
}

/* The store has moved the lease, and nobody heard: the short one goes on, and may be moved by the
 * next attempt. */
static void a_lost_move(void) {
    const struct sfid__lease_action asked = begin_move();
    fail_and_wake();
    const uint64_t nonce = last()->move_nonce;
    is_str(switched(5, TICK, TICK + FIRST_WINDOW), "w A", "the next attempt brings it");
    ok(last()->token == asked.move_token && last()->nonce == nonce,
       "R6: under the nonce of the attempt that was answered");
    begin_move();
    fail_and_wake();
    is_str(grant(SHORT_PID, 0, TICK + FIRST_WINDOW), "h ENWS",
           "or the short lease is renewed after all");
}

/* ---- R12: strangers -------------------------------------------------------- */

static void strangers(void) {
    static const uint64_t pids[] = {ORDINARY_PID, SHORT_PID};
    for (unsigned i = 0; i < 2; i++) {
        begin_first(pids[i]);
        wake_when_due();
        const struct sfid__lease_action before = *last();
        is_str(answer(SFID__FOREIGN), "w ZXC", "R12: closed first, then told, then claimed");
        ok(last()->token != before.token && last()->token != before.move_token,
           "R5: under a token never shown");
        ok(last()->nonce != before.nonce && last()->next_nonce == 0, "R5: and a nonce never shown");
        is_u64(last()->start, pids[i], "R12: near the same pid");
        answer(SFID__REFUSED);
        is_str(wake_when_due(), "w C", "R12: refused: it had a pid, and goes on");
        grant(5, TICK, TICK + FIRST_WINDOW);
        is_str(adopted(TICK + FIRST_WINDOW, true), "h MS",
               "R12: another pid is told as leased again");
        wake_when_due();
        is_u64(last()->pid, 5, "R12: and renewed");
        begin_first(pids[i]);
        wake_when_due();
        answer(SFID__FOREIGN);
        is_str(close_lease(), "e S", "R12: a stranger's pid is not given back");
    }
    begin_open(&two_windows);
    grant(ORDINARY_PID, TICK, TICK);
    adopted(TICK, false);
    is_str(answer(SFID__FOREIGN), "w ZXC", "R12: before it was sure");
    grant(5, TICK, TICK + FIRST_WINDOW);
    is_str(adopted(TICK + FIRST_WINDOW, true), "h LS",
           "R12: then the next pid is the first one told");
    begin(&two_windows);
    resume_cold(TICK - 20);
    is_str(answer(SFID__FOREIGN), "w ZXC", "R12: what a restart found");
}

int main(void) {
    heartbeats();
    clocks_ahead();
    half_windows();
    pauses();
    polls();
    possible_claims();
    what_is_asked();
    what_a_move_brings();
    possible_moves();
    moves_without_a_record();
    a_lost_move();
    strangers();
    return done_testing();
}
