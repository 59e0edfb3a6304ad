/* SPDX-License-Identifier: MIT */
/*
 * ticks_counter.c - the tick by the counter, with a counter and clocks that the test moves: a tick
 * by the counter ends in time however the rate was measured, and what cannot be relied on is not
 * used. The program has a clock_gettime() of its own, which the library calls instead of the
 * system's.
 */
#include "draw/ticks.h"

#include "base/process.h"
#include "support/tap.h"

#include <time.h>

enum { MS = 1000000, UNIT_MS = 10, STALE_COUNTS = 256 };

/* One line of time. Each reading of a clock or the counter is of a moment on it. */
static struct {
    int64_t ns;
    uint64_t rate, from_count; /* counts per ns since from_ns */
    int64_t from_ns;
    int64_t before_ns, after_ns; /* pass around a reading of the monotonic clock */
    int64_t stale_ns;            /* not 0: counter and time of day are read as of then */
} world;

static uint64_t count_at(int64_t ns) {
    return world.from_count + (uint64_t)(ns - world.from_ns) * world.rate;
}

static uint64_t world_counter(void) { return count_at(world.stale_ns ? world.stale_ns : world.ns); }

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (clock == CLOCK_MONOTONIC)
        world.ns += world.before_ns;
    const int64_t ns = clock == CLOCK_REALTIME && world.stale_ns ? world.stale_ns : world.ns;
    if (clock == CLOCK_MONOTONIC)
        world.ns += world.after_ns;
    *t = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

static void set_rate(uint64_t rate) {
    world.from_count = count_at(world.ns);
    world.from_ns = world.ns;
    world.rate = rate;
}

static struct sfid__ticks *ticks;

static uint64_t span(void) { return atomic_load(&ticks->span); }

static uint64_t end(void) { return atomic_load(&ticks->end); }

static uint64_t tick(void) { return atomic_load(&ticks->tick); }

/* Looks at the clock after a while. The reading of both takes so long before the clock and
 * after. */
static uint64_t refresh(int64_t pass_ns, int64_t before_ns, int64_t after_ns) {
    world.ns += pass_ns;
    world.before_ns = before_ns;
    world.after_ns = after_ns;
    return sfid__ticks_refresh(ticks);
}

static void begin(void) {
    world.ns = 1000 * (int64_t)MS;
    world.from_ns = 0;
    world.from_count = 5000;
    world.rate = 3;
    world.stale_ns = 0;
    sfid__ticks_init(ticks, 0, UNIT_MS);
    ticks->counter = world_counter;
}

/* A rate that two good readings agree on. */
static void begin_known(void) {
    begin();
    for (int i = 0; i < 3; i++)
        refresh(4 * MS, 10, 10);
    need(span() != 0, "the rate is not known after three readings");
}

/* The count at which the tick that the page names is over. */
static uint64_t true_end(void) { return count_at((int64_t)(tick() + 1) * UNIT_MS * MS); }

static bool ends_in_time(void) { return end() + STALE_COUNTS <= true_end(); }

/* as sfid__ticks_now() has it */
static bool is_current(uint64_t count) { return end() - count - 1 < span(); }

/* ---- the rate ------------------------------------------------------------ */

static void first_readings(void) {
    begin();
    is_u64(refresh(0, 10, 10), 100, "the first look gives the clock's tick");
    refresh(4 * MS, 10, 10);
    is_u64(span(), 0, "one span of time is no rate to rely on");
    is_u64(end(), 0, "and no tick ends by it");
    refresh(4 * MS, 10, 10);
    ok(span() >= 3 * UNIT_MS * (uint64_t)MS && span() < 3 * UNIT_MS * (uint64_t)MS + 30,
       "two that agree are one");
    ok(tick() == 100 && is_current(count_at(world.ns)) && ends_in_time(),
       "the tick lasts by the counter");
    ok(end() > true_end() - 3 * 4 * MS, "for most of what is left of it");
    is_u64(refresh(0, 0, 0), 100, "at the same count nothing is new");
}

/* A rate of two readings, the first with its clock late and the second with it early, as far as a
 * sharp one may: too high. */
static void begin_too_high(int64_t width_ns) {
    begin();
    refresh(0, 0, width_ns);
    refresh(4 * MS, width_ns, 0);
    /* at the begin of a tick, of which the whole is left */
    refresh(6 * MS - world.ns % MS, 0, width_ns);
}

static void margin(void) {
    unsigned late = 0, used = 0;
    for (int64_t width_ns = 0; width_ns <= 240; width_ns += 10) {
        begin_too_high(width_ns);
        used += is_current(count_at(world.ns));
        late += !ends_in_time();
    }
    is_u64(late, 0,
           "a tick by the counter is over before the clock's, however the rate was measured");
    is_u64(used, 25, "and lasts");
    begin_known();
    for (int64_t left = 0; left < 2000; left++) { /* the last 2 us */
        const int64_t at = (world.ns / (UNIT_MS * MS) + 2) * UNIT_MS * MS - left;
        refresh(at - world.ns, 0, 0);
        late += !ends_in_time() && is_current(count_at(at));
        used += is_current(count_at(at));
    }
    is_u64(late, 0, "to its last nanosecond");
    ok(used > 25 + 1000, "where it can be used (%u)", used);
}

static void blunt(void) {
    begin();
    for (int i = 0; i < 5; i++)
        refresh(4 * MS, 4000, 4000);
    ok(span() == 0 && end() == 0,
       "readings in which the thread was held up make no rate, though they agree");
    for (int i = 0; i < 3; i++)
        refresh(4 * MS, 10, 10);
    ok(span() != 0, "sharp ones that follow do");
    begin();
    refresh(0, 10, 10);
    refresh(4 * MS, 4000, 4000);
    refresh(4 * MS, 10, 10);
    ok(ticks->rate != 0, "one between two sharp ones is passed over");
    begin_known();
    const uint64_t before = ticks->rate;
    refresh(1500 * (int64_t)MS, 5 * MS, 0);
    ok(ticks->rate == before && span() != 0, "nor do they change one");
    refresh(5 * MS, 10, 10);
    refresh(1500 * (int64_t)MS, 10, 10);
    ok(ticks->rate == before && span() != 0, "a sharp one after it is as good as ever");
}

/* Both widths lie beside an eighth of the margin of 4 ms, which is 488 ns. */
static void nearly_sharp(void) {
    begin();
    refresh(0, 0, 0);
    refresh(4 * MS, 520, 0);
    is_u64(ticks->rate, 0, "a reading that took more than an eighth of the margin makes no rate");
    begin();
    refresh(0, 0, 520);
    refresh(4 * MS, 0, 0);
    is_u64(ticks->rate, 0, "nor does the one after it");
    begin();
    refresh(0, 0, 0);
    refresh(4 * MS, 480, 0);
    ok(ticks->rate != 0, "one that took less does");
}

/* Half of the margin is one in 2,048. */
static void nearly_agreed(void) {
    for (uint64_t rate = 1500; rate <= 2100; rate += 600) {
        begin();
        set_rate(rate);
        refresh(0, 0, 0);
        refresh(4 * MS, 0, 0);
        set_rate(rate + 1);
        refresh(4 * MS, 0, 0);
        ok((span() != 0) == (rate == 2100),
           "%d and one more: agreed only within half of the margin", (int)rate);
    }
}

static void another_rate(void) {
    begin_known();
    const uint64_t before = end();
    set_rate(4); /* the machine was moved to another host */
    refresh(1500 * (int64_t)MS, 10, 10);
    is_u64(span(), 0, "two rates that disagree are both in doubt");
    is_u64(end(), before, "and no tick ends by them");
    for (int i = 0; i < 3; i++)
        refresh(1500 * (int64_t)MS, 10, 10);
    ok(span() >= 4 * UNIT_MS * (uint64_t)MS && span() < 4 * UNIT_MS * (uint64_t)MS + 40 &&
           ends_in_time(),
       "the new one is known by two readings of its own");
}

static void epoch(void) {
    begin();
    sfid__ticks_init(ticks, 400, UNIT_MS);
    ticks->counter = world_counter;
    is_u64(refresh(0, 0, 0), 60, "ticks count from the epoch");
}

/* ---- the counter --------------------------------------------------------- */

static void late_thread(void) {
    begin_known();
    refresh(20 * MS, 10, 10);
    const uint64_t t = tick(), e = end();
    world.stale_ns = world.ns - 15 * MS;
    is_u64(refresh(0, 10, 10), (uint64_t)(world.stale_ns / (UNIT_MS * MS)),
           "a thread that slept since its look has the tick of then");
    ok(tick() == t && end() == e, "and leaves the tick of those that were here meanwhile");
    is_u64(atomic_load(&ticks->lock), 0, "and the lock");
    world.stale_ns = 0;
    refresh(1 * MS, 10, 10);
    ok(tick() == t && end() != e && ends_in_time(), "the next look goes on from there");
}

/* A signal handler that interrupted the thread with the lock. */
static void own_lock(void) {
    begin_known();
    refresh(20 * MS, 10, 10);
    const uint64_t t = tick(), e = end();
    atomic_store(&ticks->lock, sfid__process());
    is_u64(refresh(20 * MS, 10, 10), t + 2,
           "while this process has the lock, the tick is the clock's");
    ok(tick() == t && end() == e && atomic_load(&ticks->lock) == sfid__process(),
       "and nothing is published");
}

static void counter_went_back(void) {
    begin_known();
    const uint64_t before = ticks->rate;
    /* the guest was resumed from an image: all counts are below those of then */
    ticks->newest_count = 0;
    world.from_count = 0;
    world.from_ns = world.ns;
    refresh(2 * MS, 10, 10);
    is_u64(ticks->rate, before, "a counter that went back: the span over it makes no rate");
    refresh(1500 * (int64_t)MS, 10, 10);
    ok(span() != 0 && ticks->rate == before, "the span after it does");
}

static void long_pause(void) {
    begin_known();
    const uint64_t before = ticks->rate;
    /* 1.2e12 counts: shifted left by 24 they do not fit */
    refresh(INT64_C(400) * 1000 * MS, 10, 10);
    ok(ticks->rate == before && span() != 0, "a span too long for the arithmetic makes no rate");
    refresh(1500 * (int64_t)MS, 10, 10);
    ok(ticks->rate == before && span() != 0 && ends_in_time(), "the one after it does");
}

int main(void) {
    ticks = aligned_alloc(SFID__LINE, sizeof *ticks);
    need(ticks != NULL, "out of memory");
    first_readings();
    margin();
    blunt();
    nearly_sharp();
    nearly_agreed();
    another_rate();
    epoch();
    late_thread();
    own_lock();
    counter_went_back();
    long_pause();
    free(ticks);
    return done_testing();
}
