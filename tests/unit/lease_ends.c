/* SPDX-License-Identifier: MIT */
/* lease_ends.c - the lease machine at the end of a process (R7), and of the next one in its slot at
 * its beginning (R9). */
#include "support/leases.h"

static void what_an_open_window_is_worth(void) {
    begin(&usual);
    is_str(resume_warm(TICK + 20), "h NR",
           "R9: of a window that is open, too, before anything is drawn");
    ok(!l.opened, "so nothing may be drawn");
    is_str(grant(3, 0, TICK + WINDOW), "h ENLS", "answered: there is a pid");
    ok(l.opened, "and numbers are drawn");
    static const enum sfid__lease_answer none[] = {SFID__FAILED, SFID__LATER};
    for (unsigned i = 0; i < 2; i++) {
        begin(&usual);
        resume_warm(TICK + 20);
        is_str(answer(none[i]), "h FS", "no answer: it asks again");
        ok(l.opened, "and numbers are drawn meanwhile");
        is_str(wake_when_due(), "h NR", "when it is time");
        is_u64(last()->next_nonce, 73, "R2: with the same nonce");
        is_str(grant(3, 0, TICK + WINDOW), "h ENWS",
               "then it goes on, as if it had been told of the pid");
    }
    begin(&usual);
    resume_warm(TICK + 20);
    is_str(answer(SFID__LOST), "w XC", "lost: another is claimed");
    ok(!l.opened, "before anything is drawn");
    begin(&usual);
    resume_warm(TICK + 20);
    is_str(answer(SFID__FOREIGN), "w ZXC", "R12: another's: its record is closed");
    ok(!l.opened, "before anything is drawn");
    begin(&usual);
    resume_warm(TICK + 20);
    is_str(answer(SFID__REFUSED), "h G", "refused: a person has to act, and nothing is drawn");
}

static void what_is_forgotten_at_the_end(void) {
    begin_held(&usual);
    const uint64_t token = l.token, limit = l.limit;
    close_lease();
    is_str(answer(SFID__LOST), "e NR", "R7: what the store has forgotten is shown to it");
    ok(last()->token == token && last()->limit == limit && last()->next_nonce != 0 &&
           last()->move_token == 0,
       "as it is, with a new nonce, and no other pid is wanted");
    const uint64_t nonce = last()->next_nonce;
    is_str(grant(last()->pid, 0, limit + WINDOW), "e NV", "and then given back");
    ok(last()->floor == 543 && last()->nonce == nonce && last()->next_nonce == 0 &&
           last()->limit == limit + WINDOW,
       "at the tick of before, as it was renewed");
    is_str(answer(SFID__LOST), "e S", "not shown again");
    begin_held(&usual);
    close_lease();
    answer(SFID__LOST);
    is_str(grant(last()->pid, 0, limit + 10 * WINDOW), "e S",
           "R8: an impossible answer to that counts as none");
    begin_first(SHORT_PID);
    close_lease();
    is_str(answer(SFID__LOST), "e NR", "a short pid is shown again, too");
    ok(last()->move_token == 0, "R11: but no ordinary one is wanted");
}

static void renew_once(void) {
    wake_when_due();
    grant(l.pid, 0, l.limit + WINDOW);
}

static bool renews(void) { return sfid__nonce_renews(last()->nonce); }

/* A record under a claim's nonce may have been made again, by a claim that came late. So whose a
 * nonce is has to show to any process that finds it. */
static void whose_nonce_is_shown(void) {
    begin_held(&usual);
    wake_when_due();
    ok(last()->kind == SFID__DO_RENEW && !renews(), "the first renewal shows a claim's");
    grant(l.pid, 0, l.limit + WINDOW);
    wake_when_due();
    ok(renews(), "the next one a renewal's");
    answer(SFID__LOST);
    ok(last()->kind == SFID__DO_CLAIM && !renews(), "a pid that is claimed anew has a claim's");
    begin_held(&usual);
    close_lease();
    ok(last()->kind == SFID__DO_RELEASE && !renews(), "so does a release");
    begin_held(&usual);
    renew_once();
    close_lease();
    ok(last()->kind == SFID__DO_RELEASE && renews(), "or what is a renewal's");
    begin_first(SHORT_PID);
    wake_when_due();
    ok(last()->move_token != 0 && !sfid__nonce_renews(last()->move_nonce) &&
           sfid__nonce_renews(last()->next_nonce),
       "R11: one that moves has a claim's");
}

static void what_a_failure_says_of_the_store(void) {
    begin_held(&usual);
    wake_when_due();
    answer(SFID__FAILED);
    is_str(close_lease(), "e S", "R7: not after a failure, which says that the store is not there");
    struct sfid__lease_terms marks = usual;
    marks.testifies = false;
    begin_held(&marks);
    wake_when_due();
    answer(SFID__FAILED);
    is_str(close_lease(), "e V", "but a mark is written after one, too");
}

int main(void) {
    what_an_open_window_is_worth();
    what_is_forgotten_at_the_end();
    whose_nonce_is_shown();
    what_a_failure_says_of_the_store();
    return done_testing();
}
