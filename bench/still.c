/* SPDX-License-Identifier: MIT */
#include "still.h"

#include <sfid.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BEGIN_MS (SFID_EPOCH_MS + INT64_C(100000000) * STILL_UNIT_MS) /* in all layouts */

long still_looks;
static int64_t begun_ns, stopped_ns; /* by the kernel's clock; by this one, once it stands still */
static time_t begin_s, passed_s;     /* what time() says */

static int64_t kernel_ns(void) {
    long t[2] = {0, 0}; /* as this call has them, whatever the width of time_t */
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, t);
    return (int64_t)t[0] * 1000000000 + t[1];
}

static int64_t now_ns(void) {
    return stopped_ns ? stopped_ns : BEGIN_MS * 1000000 + (kernel_ns() - begun_ns) / STILL_SLOWER;
}

int clock_gettime(clockid_t clock, struct timespec *to) {
    (void)clock;
    still_looks++;
    const int64_t ns = now_ns();
    *to = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

/* Each call that is counted calls it: it takes as few instructions as the C library's. */
time_t time(time_t *to) {
    const time_t now = begin_s + passed_s;
    return to ? (*to = now) : now;
}

void still_begin(void) {
    begun_ns = kernel_ns();
    begin_s = now_ns() / 1000000000;
}

void still_stop(void) {
    stopped_ns = now_ns();
    passed_s = stopped_ns / 1000000000 - begin_s;
}

int64_t still_since_begin_ms(void) { return (kernel_ns() - begun_ns) / 1000000; }

void still_next_ms(void) {
    stopped_ns = (stopped_ns / 1000000 + 1) * 1000000;
    nanosleep(&(struct timespec){0, STILL_SLOWER * 1100000}, NULL);
}
