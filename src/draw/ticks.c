/* SPDX-License-Identifier: MIT */
/*
 * ticks.c - measures the counter, and publishes a tick with the count at which
 * it ends.
 *
 * IDs stay unique and in order whatever the hint says: (a), (b) and (c) of
 * slow.c see to that. A wrong hint costs a slow call, or an ID whose time is
 * off by as much. What can go wrong, and what happens then:
 *
 *   A thread is preempted
 *     between counter and clock: the end comes early (1).
 *     between clock and lock: others may have published a newer tick. The
 *       thread sees that by newest_count, and publishes nothing (3).
 *     with the lock: the others read the clock for each ID. An end that it
 *       publishes too late is past (2).
 *     while it measures: the reading is not sharp, and makes no rate (4).
 *   The counter goes back or jumps (a virtual machine moves): from then on the
 *     tick is used for one tick's counts at most (2). Every call reads the
 *     clock until the counter has passed newest_count again.
 *   No ID is generated for minutes: the counts since the last measurement are
 *     too many for the arithmetic, and calibrate() begins anew.
 *   Counters of processors disagree: the kernel then keeps time by something
 *     else, and sfid__counter_is_good() says no. It is asked once, at open.
 *   The clock steps: the tick is off until its end. If the clock is slewed by
 *     more than the margin, the ends are late until the next measurement.
 *   fork() copies a lock that is held: the child finds another process's value
 *     in it, and takes it. Rate and base may be half changed in the copy: ends
 *     may be late, within (2), until the child's next measurement.
 *
 * Invariants:
 *
 *   1. The end comes before the tick is over by the clock. The count is read
 *      before the clock, and what is left of the tick is rounded down. The
 *      margin covers the error of the rate and the age of a count.
 *   2. A tick is used from memory only while 0 < end - count <= span.
 *   3. tick and end are stored only by the thread with the lock, only for a
 *      count above newest_count, and the tick first. So a reader of an end
 *      finds its tick or a newer one.
 *   4. span is not 0 only if the last two sharp measurements agree within half
 *      of the margin. Sharp: both readings together took no more than an
 *      eighth of the margin.
 *
 * Who may run with whom:
 *
 *   sfid__ticks_init      alone, before the caller gets the handle.
 *   sfid__ticks_now,      any number of threads and signal handlers. Without
 *   sfid__ticks_refresh   the lock they read the clock, the atomics, and what
 *                         init has set. Nobody waits for the lock: a handler
 *                         that interrupts its holder goes on without it.
 *   calibrate             the thread with the lock.
 */
#include "draw/ticks.h"

#include "base/clock.h"
#include "base/process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define RATE_SHIFT 24
/* the shortest span that gives the rate with an error far below the margin */
#define CALIBRATION_NS INT64_C(4000000)
#define RECALIBRATION_NS INT64_C(1000000000)
#define MARGIN_DIVISOR 1024 /* of what is left of the tick ... */
/* ... and this many counts: the tick ends early by the counter, not late */
#define MARGIN_COUNTS 256

#if SFID__HAVE_COUNTER
/* On x86 a process may be forbidden to read it; on arm64 the kernel then reads it for the
 * process. */
static bool may_read_counter(void) {
#ifdef __x86_64__
    int permitted = PR_TSC_SIGSEGV;
    return prctl(PR_GET_TSC, &permitted) == 0 && permitted == PR_TSC_ENABLE;
#else
    return true;
#endif
}
#endif

bool sfid__counter_is_good(void) {
#if SFID__HAVE_COUNTER
    static const char source[] = SFID__COUNTER_SOURCE "\n";
    char name[sizeof source + 1] = "";
    if (!may_read_counter())
        return false;
    const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    return n > 0 && strcmp(name, source) == 0;
#else
    return false;
#endif
}

void sfid__ticks_init(struct sfid__ticks *t, int64_t epoch_ms, uint64_t unit_ms) {
    memset((void *)t, 0, sizeof *t);
    t->counter = sfid__counter;
    t->epoch_ms = epoch_ms;
    t->unit_ms = unit_ms;
}

/* Takes in a measured rate. It is used only if it agrees with the one before (4). */
static void settle_rate(struct sfid__ticks *t, uint64_t rate) {
    const uint64_t before = t->rate;
    t->rate = rate;
    const uint64_t apart = rate > before ? rate - before : before - rate;
    const bool known = apart <= rate / (2 * MARGIN_DIVISOR);
    /* Relaxed: see sfid__ticks_now. A rate in doubt ends the use of the counter. */
    atomic_store_explicit(&t->span, known ? (t->unit_ms * 1000000 * rate >> RATE_SHIFT) + 1 : 0,
                          memory_order_relaxed);
}

/* Counter and monotonic clock at about one moment: the clock was read at some point within `width`
 * counts. */
struct reading {
    uint64_t count, width;
    int64_t ns;
};

static struct reading read_both(const struct sfid__ticks *t) {
    struct reading r;
    r.count = t->counter();
    r.ns = sfid__system_clock.monotonic_ns(&sfid__system_clock);
    r.width = t->counter() - r.count; /* large if this thread was preempted in between */
    return r;
}

static void begin_at(struct sfid__ticks *t, const struct reading *r) {
    t->base_count = r->count;
    t->base_width = r->width;
    t->base_ns = r->ns;
}

/* Measures the counter against the monotonic clock: every second, or sooner while the rate is not
 * known. */
static void calibrate(struct sfid__ticks *t) {
    const struct reading now = read_both(t);
    const bool known = atomic_load_explicit(&t->span, memory_order_relaxed) != 0;
    const int64_t ns = now.ns - t->base_ns;
    const uint64_t counts = now.count - t->base_count;
    if (t->base_count == 0 || now.count < t->base_count ||
        counts >= UINT64_C(1) << (63 - RATE_SHIFT)) {
        begin_at(t, &now);
    } else if (ns >= (known ? RECALIBRATION_NS : CALIBRATION_NS)) {
        const bool sharp = t->base_width + now.width <= counts / (8 * MARGIN_DIVISOR);
        if (sharp)
            settle_rate(t, (counts << RATE_SHIFT) / (uint64_t)ns);
        if (sharp || now.width < t->base_width)
            begin_at(t, &now);
    }
}

/* Only tries: a thread without the lock uses the clock. A lock that fork() copied holds another
 * process's value, and is free. */
static bool try_lock(struct sfid__ticks *t) {
    const uint64_t self = sfid__process();
    uint64_t owner = atomic_load_explicit(&t->lock, memory_order_relaxed);
    /* Acquire, with the release of the unlock: rate and base pass from one holder to the next. */
    return owner != self && atomic_compare_exchange_strong_explicit(
                                &t->lock, &owner, self, memory_order_acquire, memory_order_relaxed);
}

uint64_t sfid__ticks_refresh(struct sfid__ticks *t) {
    struct timespec ts;
    const uint64_t count = t->counter(); /* before the clock: see (1) */
    clock_gettime(CLOCK_REALTIME, &ts);
    const uint64_t ms =
        (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 - (uint64_t)t->epoch_ms;
    const uint64_t tick = ms / t->unit_ms;
    if (!try_lock(t))
        return tick;
    /* this thread slept after it read the clock, and others were here meanwhile */
    if (count <= t->newest_count) {
        atomic_store_explicit(&t->lock, 0, memory_order_release);
        return tick;
    }
    t->newest_count = count;
    calibrate(t);
    const uint64_t left_ns =
        (t->unit_ms - ms % t->unit_ms) * 1000000 - (uint64_t)ts.tv_nsec % 1000000;
    const uint64_t left = left_ns * t->rate >> RATE_SHIFT;
    if (atomic_load_explicit(&t->span, memory_order_relaxed) != 0 &&
        left > left / MARGIN_DIVISOR + MARGIN_COUNTS) {
        /* before the release below: see (3) */
        atomic_store_explicit(&t->tick, tick, memory_order_relaxed);
        atomic_store_explicit(&t->end, count + left - left / MARGIN_DIVISOR - MARGIN_COUNTS,
                              memory_order_release);
    }
    atomic_store_explicit(&t->lock, 0, memory_order_release);
    return tick;
}
