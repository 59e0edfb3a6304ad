/* SPDX-License-Identifier: MIT */
/* lease_rules.c - the lease machine: what its actions carry, which answers count, and when it does
 * what. */
#include "support/leases.h"

/* ---- what is shown --------------------------------------------------------- */

static void tokens_of_claims(void) {
    begin_open(&usual);
    const struct sfid__lease_action first = *last();
    is_u64(first.start, 5, "claim: looks first where open said");
    ok(first.token != 0 && first.nonce != 0 && first.token != first.nonce,
       "claim: token and nonce are there");
    fail_and_wake();
    const struct sfid__lease_action second = *last();
    is_u64(second.token, first.token, "R6: made again it has the same token");
    ok(second.nonce > first.nonce, "R6: and a nonce of its own, above the one before");
    later(700, 8);
    wake_when_due();
    is_u64(last()->token, first.token, "R6: all taken for now: still the same token");
    is_u64(last()->start, 8, "R6: it goes on where the answer said");
    is_str(grant(7, 505, 600), "w A", "granted: a record");
    is_u64(last()->pid, 7, "granted: of that pid");
    is_u64(last()->floor, 505, "granted: from its floor");
    is_u64(last()->limit, 600, "granted: to its limit");
    is_u64(last()->token, first.token, "granted: under the token it was claimed with");
    is_u64(last()->nonce, l.nonce, "granted: and the nonce of the attempt that was answered");
    is_u64(last()->next_nonce, 0, "granted: with none unanswered");
    unfit();
    ok(l.gave_up, "unfit: there is no other record to be had");
}

static void nonces_of_renewals(void) {
    begin_held(&usual);
    const uint64_t token = l.token, nonce = l.nonce;
    wake_when_due();
    const struct sfid__lease_action noted = out.list[0], sent = *last();
    ok(sent.next_nonce > nonce, "R2: a renewal has a new nonce, above the one before");
    ok(noted.kind == SFID__DO_NOTE && noted.nonce == nonce && noted.next_nonce == sent.next_nonce,
       "R3: noted before with the old");
    ok(sent.pid == 4 && sent.token == token && sent.nonce == nonce && sent.limit == TICK + WINDOW,
       "a renewal shows what is held");
    fail_and_wake();
    ok(last()->next_nonce == sent.next_nonce && last()->nonce == nonce,
       "R2: the same until it is answered");
    answer(SFID__LATER);
    wake_when_due();
    grant(4, 0, TICK + WINDOW - 1); /* not possible */
    wake_when_due();
    ok(last()->next_nonce == sent.next_nonce, "R2: an answer that is none does not count");
    grant(4, 0, TICK + WINDOW + 30);
    ok(out.list[0].kind == SFID__DO_EXTEND && out.list[0].limit == TICK + WINDOW + 30,
       "answered: the limit rises");
    ok(out.list[1].nonce == sent.next_nonce && out.list[1].next_nonce == 0,
       "answered: the new nonce is noted alone");
    wake_when_due();
    ok(last()->nonce == sent.next_nonce && last()->next_nonce != sent.next_nonce,
       "R2: the next one has another");
    is_u64(last()->limit, TICK + WINDOW + 30, "and testifies with the limit answered");
}

static const char *copied(void) {
    return step((struct sfid__lease_event){.kind = SFID__LEASE_COPIED});
}

static void what_copies_show(void) {
    begin_held(&usual);
    const uint64_t token = l.token;
    is_str(copied(), "w ZXC", "R13: a copy closes its record, tells of the loss and claims");
    ok(last()->token != token && last()->token != 0, "R13: under another token");
    is_u64(last()->start, 4, "R13: where it was");
    const uint64_t second = l.token;
    is_str(copied(), "w ZC", "R13: the like in the middle of a claim");
    ok(last()->token != second && last()->token != token, "R13: under a third one");
    grant(7, TICK, TICK + WINDOW);
    is_str(adopted(TICK + WINDOW, true), "h MS", "R13: it has a pid of its own, and says so");
    begin_held(&usual);
    wake_when_due();
    is_str(copied(), "w ZXC", "R13: the like in the middle of a renewal");
    begin_open(&usual);
    answer(SFID__REFUSED);
    is_str(copied(), "w S", "R13: one that gave up goes on waiting");
    begin_held(&usual);
    close_lease();
    is_str(copied(), "e S", "R13: and one that has ended is at its end");
}

static void what_restarts_show(void) {
    begin(&usual);
    is_str(resume(TICK + 20, 73), "h NR", "R9: what is found is renewed at once");
    ok(last()->pid == 3 && last()->token == 71 && last()->nonce == 72 && last()->limit == TICK + 20,
       "R9: as it was found");
    is_u64(last()->next_nonce, 73, "R9: and with the nonce that was not answered");
    is_u64(out.list[0].next_nonce, 73, "R3: which is noted again");
    resume(TICK + 20, 0);
    ok(last()->next_nonce > 73, "R2: else with a new one");
    is_str(grant(3, 0, TICK + WINDOW), "h ENWS", "R9: its opener was told that there is a pid");
    begin(&usual);
    resume(TICK - 20, 73);
    is_str(answer(SFID__LOST), "w XC", "a restart that comes too late hears that it is lost");
    is_u64(last()->start, 3, "and looks for a pid there first");

    begin(&usual);
    is_str(resume_cold(TICK - 20), "h NR",
           "R9: of a window that is over, too, before anything is claimed");
    ok(!l.opened, "but nothing may be drawn until it is answered");
    is_str(grant(3, 0, TICK + WINDOW), "h ENLS", "answered: there is a pid");
    ok(l.opened, "and numbers are drawn");
    begin(&usual);
    resume_cold(TICK - 20);
    is_str(answer(SFID__LOST), "w XC", "lost: another is claimed");
    grant(4, TICK, TICK + WINDOW);
    is_str(adopted(TICK + WINDOW, true), "h LS",
           "whose opener hears of one that is held, not of a loss");
    begin(&usual);
    resume_cold(TICK - 20);
    is_str(answer(SFID__REFUSED), "h G", "refused, and there never was one: given up");

    struct sfid__lease_terms terms = usual;
    terms.testifies = false;
    begin(&terms);
    is_str(resume(TICK + WINDOW, 0), "h S", "where the lock says it, nobody is asked");
    is_i64(last()->due_ms, NOW + HEARTBEAT, "till the heartbeat");
    begin_held(&terms);
    wake_when_due();
    is_str(resume(TICK + WINDOW, 0), "h S", "taken over during a renewal: that one is forgotten");
    is_str(wake_when_due(), "h NR", "and the next is due in its time");
}

static void what_is_lost(void) {
    begin_held(&usual);
    wake_when_due();
    const struct sfid__lease_action before = *last();
    is_str(answer(SFID__LOST), "w XC", "lost: told, and claimed at once");
    ok(last()->token != before.token && last()->nonce != before.nonce,
       "R5: under a token and a nonce never shown");
    is_u64(last()->next_nonce, 0, "R5: with none unanswered");
    is_u64(last()->start, 4, "lost: the same pid is looked at first");
    answer(SFID__REFUSED);
    is_str(wake_when_due(), "w C", "lost: refused, it goes on trying");
    grant(6, TICK, TICK + WINDOW);
    is_str(adopted(TICK + WINDOW, true), "h MS", "lost: another one is told as such");
    wake_when_due();
    is_str(grant(6, 0, TICK + WINDOW), "h ENWS", "lost: once");
    begin_open(&usual);
    grant(4, TICK, TICK);
    adopted(TICK, false);
    is_str(answer(SFID__LOST), "w XC", "lost before it was sure");
    grant(4, TICK, TICK + WINDOW);
    is_str(adopted(TICK + WINDOW, true), "h LS", "then the next is the first one told");
}

static void what_is_released(void) {
    begin_held(&usual);
    wake_when_due();
    const struct sfid__lease_action renewal = *last();
    is_str(close_lease(), "e V", "close: given back, also during a renewal");
    ok(last()->pid == 4 && last()->token == renewal.token, "close: the pid held");
    ok(last()->nonce == renewal.nonce && last()->next_nonce == renewal.next_nonce,
       "close: under both nonces, one is known");
    is_u64(last()->floor, 543, "close: from the first tick not used");
    is_str(close_lease(), "e S", "R7: not twice");
    is_str(answer(SFID__FAILED), "e S", "R7: not again when it failed");
    is_i64(last()->due_ms, SFID__FOREVER, "R7: nor ever");
    begin_open(&usual);
    grant(4, TICK, TICK);
    adopted(TICK, false);
    answer(SFID__REFUSED);
    is_str(close_lease(), "e V", "close: given back, though it never could be used");
}

/* ---- R4, R8: what is possible ---------------------------------------------- */

static void claim_is(bool possible, uint64_t pid, uint64_t floor, uint64_t limit,
                     const char *what) {
    begin_open(&usual);
    is_str(grant(pid, floor, limit), possible ? "w A" : "w FS", "R8: %s", what);
}

static void possible_claims(void) {
    claim_is(true, 2, TICK, TICK + WINDOW, "the lowest pid");
    claim_is(true, 9, TICK, TICK + WINDOW, "the highest pid");
    claim_is(false, 1, TICK, TICK + WINDOW, "a pid too low");
    claim_is(false, 10, TICK, TICK + WINDOW, "a pid too high");
    claim_is(false, UINT64_MAX, TICK, TICK + WINDOW, "the highest number for a pid");
    claim_is(true, 4, TICK, TICK, "an empty window");
    claim_is(false, 4, TICK + 1, TICK, "a floor above the limit");
    claim_is(false, 4, TICK, TICK + WINDOW + 1, "a window one tick too long");
    claim_is(true, 4, TICK - 400, TICK - 300, "a window long over");
    claim_is(true, 4, TICK + REACH - WINDOW, TICK + REACH,
             "a window as far ahead as clocks may differ");
    claim_is(false, 4, TICK + REACH - WINDOW + 1, TICK + REACH + 1, "one further ahead");
    claim_is(false, 4, UINT64_MAX - WINDOW, UINT64_MAX, "one at the end of all numbers");
    struct sfid__lease_terms terms = usual;
    terms.reach = 0;
    begin_open(&terms);
    is_str(grant(4, 9000, 9100), "w A",
           "R8: any distance, for a store that has no clock of its own");
}

static void renewal_is(bool possible, uint64_t limit, const char *what) {
    begin_held(&usual);
    wake_when_due();
    is_str(grant(4, 0, limit), possible ? "h ENWS" : "h FS", "%s", what);
    is_u64(l.limit, possible ? limit : TICK + WINDOW, "%s: the limit", what);
}

static void possible_renewals(void) {
    renewal_is(true, TICK + WINDOW, "R4: the same limit");
    renewal_is(false, TICK + WINDOW - 1, "R4: a lower limit");
    renewal_is(false, 0, "R4: no limit");
    renewal_is(true, TICK + REACH, "R8: a limit as far as can be");
    renewal_is(false, TICK + REACH + 1, "R8: a limit out of reach");
    renewal_is(false, UINT64_MAX, "R8: the highest number for a limit");
    begin_held(&usual);
    wake_when_due();
    tick = 10;
    is_str(grant(4, 0, TICK + WINDOW), "h ENWS",
           "R8: the limit there is, when our clock was set back");

    static const int64_t said_and_done[][2] = {
        {INT64_MIN, FIRST},         {-1, FIRST},           {0, FIRST},
        {FIRST + 1, FIRST + 1},     {1000, 1000},          {POLL_MOST, POLL_MOST},
        {POLL_MOST + 1, POLL_MOST}, {INT64_MAX, POLL_MOST}};
    for (unsigned i = 0; i < sizeof said_and_done / sizeof said_and_done[0]; i++) {
        begin_open(&usual);
        later(said_and_done[i][0], 0);
        is_i64(last()->due_ms - now, said_and_done[i][1], "R8: all pids taken for %" PRId64 " ms",
               said_and_done[i][0]);
    }
}

/* ---- when ------------------------------------------------------------------ */

static void pauses(void) {
    static const int64_t growth[] = {50, 100, 200, 400, 800, 1600, 3200, 5000, 5000};
    begin_held(&usual);
    wake_when_due();
    for (unsigned i = 0; i < sizeof growth / sizeof growth[0]; i++) {
        answer(SFID__FAILED);
        is_i64(last()->due_ms - now, growth[i], "failure %u: the pause after it", i + 1);
        now = l.due_ms - 1;
        is_str(wake(true), "h S", "failure %u: a poke does not shorten it", i + 1);
        wake_when_due();
    }
    grant(4, 0, TICK + WINDOW);
    is_i64(last()->due_ms - now, HEARTBEAT, "answered: the heartbeat");
    wake_when_due();
    answer(SFID__FAILED);
    is_i64(last()->due_ms - now, FIRST, "answered: the next failure is a first one");

    begin_open(&usual);
    fail_and_wake();
    answer(SFID__FAILED);
    is_i64(last()->due_ms - now, 100, "claims pause in the same way");
    wake_when_due();
    grant(4, TICK, TICK + WINDOW);
    adopted(TICK + WINDOW, true);
    wake_when_due();
    answer(SFID__FAILED);
    is_i64(last()->due_ms - now, FIRST, "and a grant ends that");
}

/* An attempt of a lease under whose window IDs are generated fails, and so do those after it. A
 * tick has unit_ms. */
static void runs_out(int64_t unit_ms, int64_t longest_ms, const char *what) {
    const int64_t begin_ms = now, begin_tick = (int64_t)tick,
                  end_ms = now + (int64_t)(l.limit - tick) * unit_ms;
    int64_t last_ms = now, most_ms = 0;
    bool hurries = false;
    while (now < end_ms) {
        last_ms = now;
        fail_and_wake();
        hurries = hurries || (most_ms >= 500 && now - last_ms < 450); /* a tenth earlier */
        most_ms = SFID__MAX(most_ms, now - last_ms);
        tick = (uint64_t)(begin_tick + (now - begin_ms) / unit_ms);
    }
    ok(end_ms - last_ms <= 500, "%s: %" PRId64 " ms before its end there is a try", what,
       end_ms - last_ms);
    ok(most_ms >= longest_ms / 2, "%s: pauses grow while there is time, to %" PRId64 " ms", what,
       most_ms);
    ok(!hurries, "%s: they shrink, but not below half a second", what);
    for (int i = 0; i < 8; i++)
        fail_and_wake();
    answer(SFID__FAILED);
    is_i64(last()->due_ms - now, longest_ms, "%s: once it has ended, they grow again", what);
}

static void pauses_at_the_end(void) {
    begin_held(&usual);
    wake_when_due();
    tick += WINDOW / 3;
    runs_out(3 * HEARTBEAT / WINDOW, LONGEST, "a window");
    begin_first(ORDINARY_PID);
    wake_when_due();
    tick += FIRST_WINDOW / 3;
    runs_out(3 * FIRST_HEARTBEAT / FIRST_WINDOW, FIRST_HEARTBEAT, "a first window");
    struct sfid__lease_terms coarse = usual;
    coarse.window = coarse.first_window = 10;
    begin_open(&coarse);
    grant(4, TICK, TICK + 10);
    adopted(TICK + 10, true);
    wake_when_due();
    tick += 3;
    runs_out(3 * HEARTBEAT / 10, LONGEST, "a window of few ticks");
    begin_held(&usual);
    wake_when_due();
    answer(SFID__LOST);
    tick += WINDOW / 3;
    runs_out(3 * HEARTBEAT / WINDOW, LONGEST, "a lost pid's window");
}

static void jitters(void) {
    int64_t lowest[2] = {INT64_MAX, INT64_MAX}, highest[2] = {0, 0};
    for (uint64_t i = 0; i < 20000; i++) {
        begin_held(&usual);
        wake_when_due();
        jitter = i;
        grant(4, 0, TICK + WINDOW);
        lowest[0] = SFID__MIN(lowest[0], last()->due_ms - now);
        highest[0] = SFID__MAX(highest[0], last()->due_ms - now);
        wake_when_due();
        answer(SFID__FAILED);
        lowest[1] = SFID__MIN(lowest[1], last()->due_ms - now);
        highest[1] = SFID__MAX(highest[1], last()->due_ms - now);
    }
    is_i64(highest[0], HEARTBEAT, "jitter: the heartbeat is never later");
    is_i64(lowest[0], HEARTBEAT - HEARTBEAT / 10, "jitter: nor a tenth earlier");
    is_i64(highest[1], FIRST, "jitter: a pause is never longer");
    is_i64(lowest[1], FIRST - FIRST / 10, "jitter: nor a tenth shorter");
}

static void half_windows(void) {
    begin_held(&usual);
    tick = TICK + WINDOW / 2 - 1;
    is_str(wake(true), "h S", "short: not yet, whoever asks");
    is_i64(last()->due_ms, l.due_ms, "short: till it is due");
    tick++;
    is_str(wake(false), "h NR", "short: when half of the window has gone");
    grant(4, 0, TICK + WINDOW);
    const int64_t answered = now;
    is_str(wake(true), "h S", "short: when that gained nothing, not at once again");
    now = answered + HEARTBEAT / 8 - 1;
    is_str(wake(true), "h S", "short: nor soon");
    now++;
    is_str(wake(true), "h NR", "short: but before the heartbeat");
    grant(4, 0, TICK + WINDOW);
    is_str(resume(TICK + WINDOW, 0), "h NR", "short: a restart asks anew");
    now += HEARTBEAT / 8; /* this process is stopped, and the clocks go on */
    tick = TICK + 3 * WINDOW;
    grant(4, 0, TICK + 2 * WINDOW);
    is_str(wake(true), "h NR",
           "short: at once, if the answer was read long after it was asked for");

    struct sfid__lease_terms terms = usual;
    terms.end = TICK + WINDOW;
    begin_held(&terms);
    tick = TICK + WINDOW - 1;
    now = l.due_ms;
    is_str(wake(true), "h S", "the end of the layout: nothing to renew");
    is_i64(last()->due_ms, SFID__FOREVER, "the end of the layout: nor ever");
    terms.end++;
    begin_held(&terms);
    is_str(wake_when_due(), "h NR", "one tick before it there is");
    is_str(grant(4, 0, TICK + 2 * WINDOW), "h ENWS", "a limit past the end is taken");
    is_str(wake_when_due(), "h S", "and is the last one");
}

/* The word lies far ahead of the clock, as where a run directory was lost. */
static void waits_for_the_clock(void) {
    struct sfid__lease_terms terms = usual;
    terms.rests = true;
    terms.testifies = false;
    begin(&terms);
    idle = true;
    tick = TICK + 50;
    open_lease();
    grant(4, TICK + 50, TICK + 50);
    is_str(adopted(TICK + 50, false), "h LS",
           "nothing can be issued yet: there is a pid, and nothing is asked");
    is_i64(last()->due_ms, SFID__FOREVER, "until the generator asks");
    is_str(wake(true), "h S", "which is in vain while nothing can be issued");
    idle = false;
    position = 2;
    is_str(wake(true), "h NR", "and then gets a window");
    is_str(grant(4, 0, TICK + WINDOW), "h ENWS", "which is used");
    idle = true;
    is_str(wake_when_due(), "h S", "a clock that went back since asks for nothing");

    begin(&terms);
    idle = true;
    tick = TICK + 50;
    open_lease();
    grant(4, TICK + 50, TICK + 50);
    is_str(adopted(TICK + 80, false), "h NR",
           "a window found that the store does not know of is renewed first");
    ok(!l.opened, "before anything is generated");
    begin(&usual);
    idle = true;
    open_lease();
    grant(4, TICK, TICK);
    is_str(adopted(TICK, false), "h NR", "where a lease has to be shown, it is shown all the same");
}

static void rests(void) {
    struct sfid__lease_terms terms = usual;
    terms.rests = true;
    begin_held(&terms);
    is_str(wake_when_due(), "h NR", "rest: the first renewal comes in any case");
    grant(4, 0, TICK + WINDOW);
    position = 2;
    is_str(wake_when_due(), "h NR", "rest: not while numbers are drawn");
    grant(4, 0, TICK + WINDOW);
    is_str(wake_when_due(), "h S", "rest: when none was");
    is_i64(last()->due_ms, SFID__FOREVER, "rest: till somebody asks");
    is_str(wake(true), "h S", "rest: for more than there is");
    tick += WINDOW;
    is_str(wake(false), "h S", "rest: or the window is over");
    is_str(wake(true), "h NR", "rest: then it is renewed");
    answer(SFID__FAILED);
    is_str(wake_when_due(), "h NR", "rest: and again after a failure, though nothing is drawn");
    grant(4, 0, tick + WINDOW);
    tick += WINDOW / 2;
    position = 3;
    now += HEARTBEAT / 8;
    is_str(wake(false), "h NR", "rest: a draw that is noticed does as well");
    begin_held(&usual);
    wake_when_due();
    grant(4, 0, TICK + WINDOW);
    is_str(wake_when_due(), "h NR", "no rest where a lease has to be kept");
}

/* A bound below the next number: the page alone knows that number, until the store knows as
 * well. */
static void raises_a_bound(void) {
    struct sfid__lease_terms terms = usual;
    terms.rests = true;
    begin(&terms);
    idle = true;
    open_lease();
    grant(4, TICK, TICK);
    is_str(
        step((struct sfid__lease_event){.kind = SFID__LEASE_ADOPTED, .limit = TICK, .bare = true}),
        "h NR", "a bound below the next number is raised, though nothing can be issued");
    answer(SFID__FAILED);
    is_str(wake_when_due(), "h NR", "and again after a failure");
    is_str(grant(4, 0, TICK), "h ENLS", "then the pid is held");
    is_str(wake_when_due(), "h S", "and the clock is waited for");
    is_i64(last()->due_ms, SFID__FOREVER, "until the generator asks");
}

static void gives_up(void) {
    begin_open(&usual);
    fail_and_wake();
    is_str(answer(SFID__REFUSED), "w G", "gives up when refused");
    is_str(wake_when_due(), "w S", "and asks no more");
    is_i64(last()->due_ms, SFID__FOREVER, "ever");
    begin_open(&usual);
    grant(4, TICK, TICK);
    adopted(TICK, false);
    is_str(answer(SFID__REFUSED), "h G", "gives up a pid that it never could use");
    now += HEARTBEAT;
    is_str(wake(true), "h S", "and asks no more for that either");
    is_str(open_lease(), "w C", "until it is opened again");
    answer(SFID__REFUSED);
    is_str(resume(TICK - 10, 0), "h NR", "or a record turns up");
    answer(SFID__FAILED);
    is_str(wake_when_due(), "h NR", "and then it goes on trying");
    begin(&usual);
    resume(TICK - 10, 0);
    is_str(answer(SFID__REFUSED), "h FS", "never in a later life");
    begin_open(&usual);
    grant(4, TICK - WINDOW, TICK);
    is_str(adopted(TICK, true), "h NR", "a window that is over when it comes is renewed");
    ok(!l.opened, "and nothing is told before");
    is_str(grant(4, 0, TICK + WINDOW), "h ENLS", "but then");
    wake_when_due();
    is_str(answer(SFID__REFUSED), "h FS", "never once it had a pid");
}

int main(void) {
    tokens_of_claims();
    nonces_of_renewals();
    what_copies_show();
    what_restarts_show();
    what_is_lost();
    what_is_released();
    possible_claims();
    possible_renewals();
    pauses();
    pauses_at_the_end();
    jitters();
    half_windows();
    rests();
    waits_for_the_clock();
    raises_a_bound();
    gives_up();
    return done_testing();
}
