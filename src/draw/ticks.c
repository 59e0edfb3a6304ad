/* SPDX-License-Identifier: MIT */
#include "draw/ticks.h"

#include "base/clock.h"
#include "base/process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define RATE_SHIFT 24
#define CALIBRATION_NS INT64_C(4000000) /* shortest span that tells the rate to far better than the margin */
#define RECALIBRATION_NS INT64_C(1000000000)
#define MARGIN_DIVISOR 1024 /* of what is left of the tick ... */
#define MARGIN_COUNTS 256   /* ... and this, so that the tick ends early by the counter rather than late */

#if SFID__HAVE_COUNTER
/* On x86 a process may have it forbidden; on arm64 the kernel reads it for whoever may not. */
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
    const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
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

/* Turns the reading of the rate into one that can be relied on: two in a row that agree within the margin. */
static void settle_rate(struct sfid__ticks *t, uint64_t rate) {
    const uint64_t before = t->rate;
    t->rate = rate;
    const uint64_t apart = rate > before ? rate - before : before - rate;
    const bool known = apart <= rate / (2 * MARGIN_DIVISOR);
    /* Relaxed: see sfid__ticks_now. A rate in doubt stops the use of the counter at once. */
    atomic_store_explicit(&t->span, known ? (t->unit_ms * 1000000 * rate >> RATE_SHIFT) + 1 : 0, memory_order_relaxed);
}

/* Counter and monotonic clock at one moment, as far as can be told: the clock was read somewhere within `width` counts. */
struct reading {
    uint64_t count, width;
    int64_t ns;
};

static struct reading read_both(const struct sfid__ticks *t) {
    struct reading r;
    r.count = t->counter();
    r.ns = sfid__system_clock.monotonic_ns(&sfid__system_clock);
    r.width = t->counter() - r.count; /* large where this thread was preempted in between */
    return r;
}

static void begin_at(struct sfid__ticks *t, const struct reading *r) {
    t->base_count = r->count;
    t->base_width = r->width;
    t->base_ns = r->ns;
}

/* Measures the counter against the monotonic clock, now and then, by two readings that are sharp enough for the margin. */
static void calibrate(struct sfid__ticks *t) {
    const struct reading now = read_both(t);
    const bool known = atomic_load_explicit(&t->span, memory_order_relaxed) != 0;
    const int64_t ns = now.ns - t->base_ns;
    const uint64_t counts = now.count - t->base_count;
    if (t->base_count == 0 || now.count < t->base_count || counts >= UINT64_C(1) << (63 - RATE_SHIFT)) {
        begin_at(t, &now);
    } else if (ns >= (known ? RECALIBRATION_NS : CALIBRATION_NS)) {
        const bool sharp = t->base_width + now.width <= counts / (8 * MARGIN_DIVISOR);
        if (sharp)
            settle_rate(t, (counts << RATE_SHIFT) / (uint64_t)ns);
        if (sharp || now.width < t->base_width)
            begin_at(t, &now);
    }
}

/*
 * One thread at a time; the others go on with the clock. A lock that fork()
 * copied while a thread of the parent had it is of another process, and free.
 */
static bool try_lock(struct sfid__ticks *t) {
    const uint64_t self = sfid__process();
    uint64_t holder = atomic_load_explicit(&t->lock, memory_order_relaxed);
    /* Acquire, with the release of the unlock: rate and base pass from one holder to the next. */
    return holder != self &&
           atomic_compare_exchange_strong_explicit(&t->lock, &holder, self, memory_order_acquire, memory_order_relaxed);
}

uint64_t sfid__ticks_refresh(struct sfid__ticks *t) {
    struct timespec ts;
    const uint64_t count = t->counter(); /* before the clock: what passes in between only makes the end come early */
    clock_gettime(CLOCK_REALTIME, &ts);
    const uint64_t ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 - (uint64_t)t->epoch_ms;
    const uint64_t tick = ms / t->unit_ms;
    if (!try_lock(t))
        return tick;
    if (count <= t->newest_count) { /* this thread was asleep since it read the clock, and others have been here */
        atomic_store_explicit(&t->lock, 0, memory_order_release);
        return tick;
    }
    t->newest_count = count;
    calibrate(t);
    const uint64_t left_ns = (t->unit_ms - ms % t->unit_ms) * 1000000 - (uint64_t)ts.tv_nsec % 1000000;
    const uint64_t left = left_ns * t->rate >> RATE_SHIFT;
    if (atomic_load_explicit(&t->span, memory_order_relaxed) != 0 && left > left / MARGIN_DIVISOR + MARGIN_COUNTS) {
        atomic_store_explicit(&t->tick, tick, memory_order_relaxed); /* ordered by the release below */
        atomic_store_explicit(&t->end, count + left - left / MARGIN_DIVISOR - MARGIN_COUNTS, memory_order_release);
    }
    atomic_store_explicit(&t->lock, 0, memory_order_release);
    return tick;
}
