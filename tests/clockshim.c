/* SPDX-License-Identifier: MIT */
/*
 * clockshim - gives a program another wall clock, through LD_PRELOAD.
 *
 * $SFID_TEST_CLOCK names a file with a struct test_clock (clockshim.h), which
 * a test maps and changes while the program runs. One file per program, so
 * that a server, its replica and their clients can disagree about the time.
 * Monotonic clocks stay as they are, as they do when somebody sets the clock.
 */
#define _GNU_SOURCE 1
#include "clockshim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { NS = 1000000000 };

static struct test_clock *clock_file;

__attribute__((constructor)) static void map_clock(void) {
    const char *path = getenv("SFID_TEST_CLOCK");
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *clock_file, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED)
        clock_file = at;
}

/* The kernel's own: what the C library calls it by is replaced below. */
static int real_clock(clockid_t id, struct timespec *to) { return (int)syscall(SYS_clock_gettime, id, to); }

static int64_t wall_ns(clockid_t id) {
    struct timespec t = {0};
    const int64_t fixed = clock_file ? atomic_load(&clock_file->fixed_ns) : 0;
    if (fixed != 0)
        return fixed;
    real_clock(id, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec + (clock_file ? atomic_load(&clock_file->offset_ns) : 0);
}

EXPORT int clock_gettime(clockid_t id, struct timespec *to) {
    if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
        return real_clock(id, to);
    const int64_t ns = wall_ns(id);
    to->tv_sec = ns / NS;
    to->tv_nsec = ns % NS;
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    (void)zone;
    const int64_t ns = wall_ns(CLOCK_REALTIME);
    to->tv_sec = ns / NS;
    to->tv_usec = ns % NS / 1000;
    return 0;
}

EXPORT time_t time(time_t *to) {
    const time_t now = wall_ns(CLOCK_REALTIME_COARSE) / NS;
    if (to)
        *to = now;
    return now;
}
