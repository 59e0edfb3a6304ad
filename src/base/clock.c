/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/random.h"

#include "base/futex.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* A sandbox may forbid one call: each has a second way. A clock that cannot be read at all is at 0:
 * that is before every epoch. */
static struct timespec read_clock(clockid_t clock, clockid_t coarse) {
    struct timespec ts = {0, 0};
    if (clock_gettime(clock, &ts) < 0)
        clock_gettime(coarse, &ts);
    return ts;
}

static struct sfid__time system_now(const struct sfid__clock *self) {
    (void)self;
    const struct timespec ts = read_clock(CLOCK_REALTIME, CLOCK_REALTIME_COARSE);
    return (struct sfid__time){(int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000,
                               (int32_t)(ts.tv_nsec % 1000000)};
}

static int64_t system_monotonic_ns(const struct sfid__clock *self) {
    (void)self;
    const struct timespec ts = read_clock(CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void system_sleep_ns(const struct sfid__clock *self, int64_t ns) {
    (void)self;
    const struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    const int why = clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
    if (why == 0 || why == EINTR) /* a signal may end it early: callers check again */
        return;
    _Atomic uint32_t nobody = 0; /* wakes it */
    const int saved = errno;
    sfid__futex_wait(&nobody, SFID__FUTEX_PRIVATE, 0, SFID__MAX(1, ns / 1000000));
    errno = saved;
}

/*
 * Where the futex is refused, with whatever errno, the word still has its value: a plain sleep
 * takes its place. The futex is no cancellation point, as clock_nanosleep() is: a thread that is
 * cancelled in its wait finds that at the end of it. Relaxed: the value only chooses how to go on;
 * the caller looks at everything anew.
 */
static void system_wait_ns(const struct sfid__clock *self, _Atomic uint32_t *word, uint32_t value,
                           int64_t ns) {
    const int saved = errno,
              why = sfid__futex_wait(word, SFID__FUTEX_SHARED, value, SFID__MAX(1, ns / 1000000));
    errno = saved;
    if (why == 0 || why == EINTR || why == ETIMEDOUT ||
        atomic_load_explicit(word, memory_order_relaxed) != value)
        pthread_testcancel();
    else
        system_sleep_ns(self, ns);
}

const struct sfid__clock sfid__system_clock = {system_now, system_monotonic_ns, system_sleep_ns,
                                               system_wait_ns};

struct sfid__time sfid__now(const struct sfid__clock *clock) {
    return clock->now(clock);
}

int64_t sfid__monotonic_ms(const struct sfid__clock *clock) {
    return clock->monotonic_ns(clock) / 1000000;
}

int64_t sfid__deadline_now_ns(void) { return system_monotonic_ns(NULL); }

int64_t sfid__deadline_now_ms(void) { return system_monotonic_ns(NULL) / 1000000; }

int sfid__deadline_left_ms(struct sfid__deadline *d) {
    const int64_t now = sfid__deadline_now_ms();
    /* Acquire, with the release of the thread that sets the flag: the caller sees everything that
     * thread did before. */
    if (d->stop && d->stop_at_ms == 0 && atomic_load_explicit(d->stop, memory_order_acquire) != 0)
        d->stop_at_ms = now + SFID__STOP_GRACE_MS;
    int64_t left = d->at_ms - now;
    if (d->stop_at_ms != 0)
        left = SFID__MIN(left, d->stop_at_ms - now);
    else if (d->stop)
        left = SFID__MIN(left, SFID__STOP_LOOK_MS);
    return (int)SFID__MAX(0, SFID__MIN(left, 3600000));
}

static int64_t floor_of(int64_t n, int64_t unit) { return n / unit - (n % unit < 0); }

void sfid__time_text(int64_t unix_ms, int64_t now_ms, char out[SFID__TIME_TEXT]) {
    const int64_t second = floor_of(unix_ms, 1000), day = floor_of(second, 86400),
                  of_day = second - day * 86400;
    /* Years begin on 1 March, where a leap day is the last; 400 of them have 146097 days. 719468:
     * from 1 March of the year 0 to 1970. */
    const int64_t cycle = floor_of(day + 719468, 146097), of_cycle = day + 719468 - cycle * 146097;
    const int64_t of_cycle_year =
        (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
    const int64_t of_year =
        of_cycle - (365 * of_cycle_year + of_cycle_year / 4 - of_cycle_year / 100);
    /* five months have 153 days */
    const int64_t month = (5 * of_year + 2) / 153, date = of_year - (153 * month + 2) / 5 + 1;
    int n = 0;
    if (day != floor_of(floor_of(now_ms, 1000), 86400))
        n = snprintf(out, SFID__TIME_TEXT, "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T",
                     cycle * 400 + of_cycle_year + (month > 9), month < 10 ? month + 3 : month - 9,
                     date);
    snprintf(out + n, SFID__TIME_TEXT - (size_t)n, "%02" PRId64 ":%02" PRId64 ":%02" PRId64 "Z",
             of_day / 3600, of_day / 60 % 60, of_day % 60);
}

int64_t sfid__pause_ns(int64_t *pause_ns) {
    uint64_t random;
    sfid__random(&random, sizeof random);
    const int64_t pause = *pause_ns / 2 + (int64_t)(random % (uint64_t)*pause_ns);
    *pause_ns = SFID__MIN(*pause_ns * 4, SFID__PAUSE_MOST_NS);
    return pause;
}
