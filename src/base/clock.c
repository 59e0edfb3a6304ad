/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static struct sfid__time system_now(const struct sfid__clock *self) {
    (void)self;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (struct sfid__time){(int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000, (int32_t)(ts.tv_nsec % 1000000)};
}

static int64_t system_monotonic_ns(const struct sfid__clock *self) {
    (void)self;
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void system_sleep_ns(const struct sfid__clock *self, int64_t ns) {
    (void)self;
    const struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL); /* a signal may end it early: callers check again */
}

const struct sfid__clock sfid__system_clock = {system_now, system_monotonic_ns, system_sleep_ns};
