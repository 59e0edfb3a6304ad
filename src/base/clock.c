/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

/* A sandbox may forbid one call. A clock that cannot be read at all is at 0: that is before every epoch. */
static struct timespec read_clock(clockid_t clock, clockid_t coarse) {
    struct timespec ts = {0, 0};
    if (clock_gettime(clock, &ts) < 0)
        clock_gettime(coarse, &ts);
    return ts;
}

static struct sfid__time system_now(const struct sfid__clock *self) {
    (void)self;
    const struct timespec ts = read_clock(CLOCK_REALTIME, CLOCK_REALTIME_COARSE);
    return (struct sfid__time){(int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000, (int32_t)(ts.tv_nsec % 1000000)};
}

static int64_t system_monotonic_ns(const struct sfid__clock *self) {
    (void)self;
    const struct timespec ts = read_clock(CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void system_sleep_ns(const struct sfid__clock *self, int64_t ns) {
    (void)self;
    const struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL); /* a signal may end it early: callers check again */
}

const struct sfid__clock sfid__system_clock = {system_now, system_monotonic_ns, system_sleep_ns};

struct sfid__time sfid__now(const struct sfid__clock *clock) { return clock->now(clock); }

int64_t sfid__monotonic_ms(const struct sfid__clock *clock) { return clock->monotonic_ns(clock) / 1000000; }

int64_t sfid__deadline_now_ns(void) { return system_monotonic_ns(NULL); }

int64_t sfid__deadline_now_ms(void) { return system_monotonic_ns(NULL) / 1000000; }

int sfid__deadline_left_ms(struct sfid__deadline *d) {
    const int64_t now = sfid__deadline_now_ms();
    /* Acquire, with the release of the thread that sets the flag: the caller sees everything that thread did before. */
    if (d->stop && d->stop_at_ms == 0 && atomic_load_explicit(d->stop, memory_order_acquire) != 0)
        d->stop_at_ms = now + SFID__STOP_GRACE_MS;
    int64_t left = d->at_ms - now;
    if (d->stop_at_ms != 0)
        left = SFID__MIN(left, d->stop_at_ms - now);
    else if (d->stop)
        left = SFID__MIN(left, SFID__STOP_LOOK_MS);
    return (int)SFID__MAX(0, SFID__MIN(left, 3600000));
}
