/* SPDX-License-Identifier: MIT */
/*
 * preempted.c - a call, for one ID or several, that is stopped between its look at the word and its
 * add: meanwhile a signal's handler uses up the tick, or the record is closed and replaced. No ID
 * of a tick that has not begun, none of a closed record, none twice.
 */
#include "support/fake.h"
#include "support/tap.h"

#include <signal.h>
#include <sys/time.h>

/* OF_A_TICK: IDs of a tick that are left when the handler comes. BATCH fits in a tick, MORE does
 * not. */
enum { OF_A_TICK = 4, BATCH = 3, MORE = 5, LOOKS = 6000, SWITCHES = 150 };

static struct fake f;
static sigset_t alarms;
static volatile sig_atomic_t looks, switches, early, disorders, errors;
/* ID returned so far, by a call that began when no other was under way */
static _Atomic int64_t highest;

/* All that may come twice: what the handler got, and what the calls got that it interrupted. */
static int64_t kept[2 * LOOKS * OF_A_TICK + LOOKS * MORE];
static volatile sig_atomic_t kept_count;

static void keep(int64_t id) {
    if (kept_count < (int)(sizeof kept / sizeof kept[0]))
        kept[kept_count++] = id;
}

/* What is wrong with an ID. */
static void judge(int64_t id) {
    if (id < 0)
        errors += id != SFID_EAGAIN;
    else
        early += fake_tick_of(&f, id) > fake_tick(&f);
}

/* Passes over most of a long sequence. A word that is in another tick, or closed, stays. */
static void leave_few(void) {
    const unsigned bits = f.g.layout.seq_bits;
    const uint64_t end = (fake_tick(&f) + 1) << bits, word = atomic_load(&fake_record(&f)->word);
    if (word >> bits == fake_tick(&f) && end - word > OF_A_TICK)
        atomic_store(&fake_record(&f)->word, end - OF_A_TICK);
}

/* Async-signal-safe, as the test has it: the page is plain memory, and no other thread is there. */
static void meanwhile(int sig) {
    (void)sig;
    leave_few();
    if (++looks % 8 == 0 && switches < SWITCHES) {
        switches++;
        fake_switch(&f, (uint64_t)switches % 1000, 0, f.g.end);
    }
    for (int i = 0; i < 2 * OF_A_TICK; i++) {
        const int64_t id = sfid_try_next(fake_handle(&f));
        judge(id);
        if (id >= 0)
            keep(id);
        if (id > highest)
            highest = id;
    }
}

static int64_t one(int64_t *id) {
    *id = sfid_try_next(fake_handle(&f));
    return *id < 0 ? *id : 1;
}

static void call(int n) {
    int64_t ids[MORE];
    const int64_t before = highest;
    const int looks_before = looks;
    const int64_t got = n > 1 ? sfid_next_n(fake_handle(&f), ids, (size_t)n) : one(ids);
    const bool interrupted = looks != looks_before;
    if (got < 0) {
        judge(got);
        fake_pass_ms(&f, 1);
    }
    for (int i = 0; i < got; i++) {
        judge(ids[i]);
        disorders += ids[i] <= (i == 0 ? before : ids[i - 1]);
        if (interrupted) {
            sigprocmask(SIG_BLOCK, &alarms, NULL); /* the handler keeps, too */
            keep(ids[i]);
            sigprocmask(SIG_UNBLOCK, &alarms, NULL);
        }
    }
    if (got > 0 && ids[got - 1] > highest)
        highest = ids[got - 1];
}

static unsigned repeats(void) {
    unsigned n = 0;
    qsort(kept, (size_t)kept_count, sizeof kept[0], by_i64);
    for (int i = 1; i < kept_count; i++)
        n += kept[i] == kept[i - 1];
    return n;
}

static void preempted(const char *layout) {
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    const int most = tap_rounds(LOOKS);
    looks = switches = early = disorders = errors = kept_count = 0;
    highest = 0;
    fake_open(&f, layout, SFID_FAIL, 0, 0);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t calls = 1; looks < most; calls++)
        call(calls % 3 == 0 ? MORE : calls % 3 == 1 ? 1 : BATCH);
    setitimer(ITIMER_REAL, &never, NULL);
    ok(switches > 0, "%s: the record was replaced %d times, and the tick used up %d times", layout,
       (int)switches, (int)looks);
    is_u64(repeats(), 0, "%s: no ID comes twice", layout);
    is_i64(early, 0, "%s: no ID is of a tick that has not begun", layout);
    is_i64(disorders, 0, "%s: each is above those that were there when its call began", layout);
    is_i64(errors, 0, "%s: and calls fail by a used-up sequence alone", layout);
    fake_close(&f);
}

int main(void) {
    struct sigaction action = {.sa_handler = meanwhile, .sa_flags = SA_RESTART};
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    preempted("41:10:2/1ms");
    preempted("37:10:16/1ms"); /* calls look at the word once a tick */
    return done_testing();
}
