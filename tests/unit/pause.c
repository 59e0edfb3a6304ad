/* SPDX-License-Identifier: MIT */
/*
 * What another process has for a while is not looked at all the time: a thousand that wait would
 * take the processor from the one that they wait for. The program has a clock_nanosleep() of its
 * own, which the library calls instead of the system's, and counts.
 */
#include "base/clock.h"

#include "support/marks.h"
#include "support/scene.h"

#include <sfid.h>
#include <time.h>

static unsigned naps;
static int64_t asked_for;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                    struct timespec *left) {
    (void)clock, (void)flags, (void)left;
    naps++;
    asked_for += (int64_t)wanted->tv_sec * 1000000000 + wanted->tv_nsec;
    return nanosleep(wanted, NULL) == 0 ? 0 : EINTR;
}

static void pauses(void) {
    enum { STEPS = 40, TIMES = 200 };
    unsigned outside = 0, same = 0;
    int64_t longest = 0, last = 0;
    for (unsigned time = 0; time < TIMES; time++) {
        int64_t pause_ns = SFID__PAUSE_FIRST_NS;
        for (unsigned step = 0; step < STEPS; step++) {
            const int64_t about = pause_ns, pause = sfid__pause_ns(&pause_ns);
            outside += pause < about / 2 || pause >= about / 2 + about;
            outside += pause_ns != SFID__MIN(about * 4, SFID__PAUSE_MOST_NS);
            longest = SFID__MAX(longest, pause);
            same += step == STEPS - 1 && pause == last;
            last = step == STEPS - 1 ? pause : last;
        }
    }
    is_u64(outside, 0, "each pause is about four times as long as the one before");
    ok(longest > SFID__PAUSE_MOST_NS && longest < SFID__PAUSE_MOST_NS * 2, "up to a longest one");
    ok(same < 3, "those who began at once do not look at once: %u of %d pauses are the one before",
       same, TIMES);
}

/* Pauses of half the length at least, each four times the one before: 9 of them last longer than
 * that. */
static void a_door(void) {
    enum { SHUT_MS = 400, MOST = 9 };
    const int held = sfid__door_enter(&mark_app, 1, 0, &mark_err);
    need(held >= 0, "%s", mark_err.text);
    naps = 0;
    asked_for = 0;
    const int64_t begin = tap_now_ms();
    is_i64(sfid__door_enter(&mark_app, 1, sfid__deadline_now_ms() + SHUT_MS, &mark_err), -1,
           "a door that stays shut");
    const struct took took = took_since(begin);
    is_i64(mark_err.code, SFID_EBUSY, "is told of");
    ok(naps > 1 && naps <= MOST, "it is looked at 2 to %d times in %d ms: %u", MOST, SHUT_MS, naps);
    is_i64(SFID__MAX(asked_for, SHUT_MS * INT64_C(1000000)), SHUT_MS * INT64_C(1000000),
           "no pause goes beyond the end");
    lasted(took, SHUT_MS - 1, "the last time at the end");
    naps = 0;
    is_i64(sfid__door_enter(&mark_app, 1, SFID__DOOR_LOOK, &mark_err), -1,
           "one that somebody only looks at");
    is_i64(mark_err.code, SFID_EAGAIN, "is told apart");
    is_u64(naps, 0, "and not waited for");
    sfid__door_leave(held);
    const int open = sfid__door_enter(&mark_app, 1, SFID__DOOR_LOOK, &mark_err);
    ok(open >= 0, "an open one is entered");
    sfid__door_leave(open);
}

int main(void) {
    marks_begin();
    pauses();
    a_door();
    sfid__dir_close(&mark_app);
    return done_testing();
}
