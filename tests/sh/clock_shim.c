/* SPDX-License-Identifier: MIT */
/*
 * clock_shim.c - loaded before the C library, gives a program another clock.
 *
 *     SHIM_AHEAD_S=N    CLOCK_REALTIME is N seconds ahead
 *     SHIM_STEP_MS=N    and by N milliseconds more once the program has slept
 *     SHIM_KERNEL=HOW   what adjtimex(2) says: kept, leap, unkept or denied
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

static int slept;

static long long number(const char *name) {
    const char *text = getenv(name);
    return text ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts) {
    int (*real)(clockid_t, struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    const int rc = real(clock, ts);
    if (rc < 0 || clock != CLOCK_REALTIME)
        return rc;
    const long long ns = ts->tv_nsec + (slept ? number("SHIM_STEP_MS") % 1000 * 1000000 : 0);
    ts->tv_sec += number("SHIM_AHEAD_S") + (slept ? number("SHIM_STEP_MS") / 1000 : 0) + (ns >= 1000000000) - (ns < 0);
    ts->tv_nsec = (ns + 1000000000) % 1000000000;
    return rc;
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    slept = 1;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
}

int adjtimex(struct timex *t) {
    const char *how = getenv("SHIM_KERNEL");
    memset(t, 0, sizeof *t);
    t->maxerror = 1500;
    errno = EPERM;
    if (how && strcmp(how, "unkept") == 0)
        t->status = STA_UNSYNC;
    if (how && strcmp(how, "denied") == 0)
        return -1;
    return t->status ? TIME_ERROR : how && strcmp(how, "leap") == 0 ? TIME_INS : TIME_OK;
}
