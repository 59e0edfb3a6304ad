/* SPDX-License-Identifier: MIT */
/*
 * preempted.c - a call that is stopped between its look at the word and its add: meanwhile a signal's handler uses up the
 * tick, or the record is closed and replaced. No ID of a tick that has not begun, none of a closed record, none twice.
 */
#include "support/fake.h"
#include "support/tap.h"

#include <signal.h>
#include <sys/time.h>

enum { SEQ_BITS = 2, OF_A_TICK = 1 << SEQ_BITS, LOOKS = 6000, SWITCHES = 300 };

static struct fake f;
static volatile sig_atomic_t looks, switches, early, disorders, errors;
static _Atomic int64_t highest; /* ID returned so far, by a call that began when no other was under way */

/* What is wrong with an ID. */
static void judge(int64_t id) {
    if (id < 0)
        errors += id != SFID_EAGAIN;
    else
        early += fake_tick_of(&f, id) > fake_tick(&f);
}

/* Async-signal-safe, as the test has it: the page is plain memory, and no other thread is there. */
static void meanwhile(int sig) {
    (void)sig;
    if (++looks % 8 == 0 && switches < SWITCHES) {
        switches++;
        fake_switch(&f, (uint64_t)switches % 1000, 0, f.g.end);
    }
    for (int i = 0; i < 2 * OF_A_TICK; i++) {
        const int64_t id = sfid_try_next(fake_handle(&f));
        judge(id);
        if (id > highest)
            highest = id;
    }
}

int main(void) {
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = meanwhile, .sa_flags = SA_RESTART};
    fake_open(&f, "41:10:2/1ms", SFID_FAIL, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t calls = 1; looks < LOOKS; calls++) {
        const int64_t before = highest;
        const int64_t id = sfid_try_next(fake_handle(&f));
        judge(id);
        disorders += id >= 0 && id <= before;
        if (id > highest)
            highest = id;
        if (id < 0)
            fake_pass_ms(&f, 1);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    ok(switches > 0, "the record was replaced %d times, and the tick used up %d times", (int)switches, (int)looks);
    is_i64(early, 0, "no ID is of a tick that has not begun");
    is_i64(disorders, 0, "each is above those that were there when its call began");
    is_i64(errors, 0, "and calls fail by a used-up sequence alone");
    fake_close(&f);
    return done_testing();
}
