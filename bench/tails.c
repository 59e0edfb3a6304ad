/* SPDX-License-Identifier: MIT */
/*
 * tails - how long the slowest calls take: each call is timed by itself.
 *
 *     tails [MILLIONS [SECONDS [STORE]]]
 *
 * Generates MILLIONS of IDs (100) in each way, a hundredth of them at a time, and waits a third of
 * a second after each part: so the calls lie on both sides of changes of the tick, and of renewals.
 * In the middle nobody generates for SECONDS (75). The first call after that has a column of its
 * own. The first row is a floor: time() and an atomic add, timed in the same way. What it has in
 * its tail is the machine's: interrupts, and other processes. Marks and pages lie in /dev/shm.
 */
#include "counter.h"
#include "floor.h"
#include "rows.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PARTS = 100,
    PAUSE_US = 333333,
    FINE_BITS = 5,
    FINE = 1 << FINE_BITS,
    BUCKETS = (65 - FINE_BITS) * FINE
};

static const sfid_layout seconds = SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS),
                         millis = SFID_LAYOUT(41, 2, 20, 1, SFID_EPOCH_MS);
static _Alignas(64) _Atomic uint64_t word;
static sfid *in_seconds, *in_millis, *shared;
static sfid_lane *lane;

static int64_t by_floor(void) { return floor_next(&word); }
static int64_t by_next(void) { return sfid_next(in_seconds); }
static int64_t by_next_ms(void) { return sfid_next(in_millis); }
static int64_t by_shared(void) { return sfid_next(shared); }
static int64_t by_lane(void) { return sfid_lane_next(lane); }

static struct way {
    const char *name;
    int64_t (*draw)(void);
    uint64_t most, paused; /* in counts, as the buckets; paused: the first call after the pause */
    uint64_t calls[BUCKETS];
} ways[] = {{"time() + fetch_add", by_floor, 0, 0, {0}},
            {"sfid_next, 1 s", by_next, 0, 0, {0}},
            {"sfid_next, 1 ms", by_next_ms, 0, 0, {0}},
            {"sfid_next, 1 s, share", by_shared, 0, 0, {0}},
            {"a lane, 1 s", by_lane, 0, 0, {0}}};

enum { WAYS = sizeof ways / sizeof ways[0] };

/* Exact below 2 * FINE, then FINE buckets for each power of two. */
static unsigned bucket_of(uint64_t counts) {
    if (counts < FINE)
        return (unsigned)counts;
    const unsigned down = 63 - (unsigned)__builtin_clzll(counts) - FINE_BITS;
    return (down << FINE_BITS) + (unsigned)(counts >> down);
}

/* The least count in a bucket. */
static uint64_t counts_of(unsigned bucket) {
    if (bucket < 2 * FINE)
        return bucket;
    const unsigned down = (bucket >> FINE_BITS) - 1;
    return (uint64_t)(bucket - (down << FINE_BITS)) << down;
}

static uint64_t time_one(struct way *way, bool by_counter) {
    const uint64_t begin = cheapest_clock(by_counter);
    const int64_t id = way->draw();
    const uint64_t counts = cheapest_clock(by_counter) - begin;
    if (id < 0) {
        fprintf(stderr, "tails: %s: %s\n", way->name, sfid_strerror((int)id));
        exit(1);
    }
    return counts;
}

static void time_many(struct way *way, long n, bool by_counter) {
    for (; n > 0; n--) {
        const uint64_t counts = time_one(way, by_counter);
        way->calls[bucket_of(counts)]++;
        if (counts > way->most)
            way->most = counts;
    }
}

static double quantile(const struct way *way, double part, uint64_t calls, double ns) {
    uint64_t below = 0;
    unsigned b = 0;
    for (; b < BUCKETS - 1 && (double)(below += way->calls[b]) < part * (double)calls; b++)
        ;
    return (double)counts_of(b) * ns;
}

static void print_all(uint64_t calls, double ns) {
    static const double parts[] = {0.5, 0.999, 0.9999, 0.99999};
    printf("%-24s %9s %9s %9s %9s %9s %12s\n", "ns, with the timing", "50 %", "99.9 %", "99.99 %",
           "99.999 %", "most", "after a pause");
    for (unsigned i = 0; i < WAYS; i++) {
        printf("%-24s", ways[i].name);
        for (unsigned k = 0; k < sizeof parts / sizeof parts[0]; k++)
            printf(" %9.0f", quantile(&ways[i], parts[k], calls, ns));
        printf(" %9.0f %12.0f\n", (double)ways[i].most * ns, (double)ways[i].paused * ns);
    }
}

int main(int argc, char **argv) {
    const long millions = argc > 1 ? atol(argv[1]) : 100;
    const int pause = argc > 2 ? atoi(argv[2]) : 75;
    const char *store = argc > 3 ? argv[3] : "local";
    char with_share[300];
    if (argc > 4 || millions < 1 || pause < 1) {
        fputs("usage: tails [MILLIONS [SECONDS [STORE]]]\n", stderr);
        return 2;
    }
    snprintf(with_share, sizeof with_share, "%s%cshare=1", store, strchr(store, '?') ? '&' : '?');
    if (!make_directory())
        return 1;
    in_seconds = open_pid("tails-s", &seconds, store);
    in_millis = open_pid("tails-ms", &millis, store);
    shared = open_pid("tails-share", &seconds, with_share);
    sfid *lanes = open_pid("tails-lane", &seconds, store);
    if (sfid_lane_open(&lane, lanes) < 0)
        return 1;
    const bool by_counter = time_by_counter();
    const double begin_ns = now_ns();
    const uint64_t begin = cheapest_clock(by_counter);
    const long part = millions * 1000000 / PARTS;
    for (int i = 0; i < PARTS; i++) {
        if (i == PARTS / 2) {
            sleep((unsigned)pause);
            for (unsigned k = 0; k < WAYS; k++)
                ways[k].paused = time_one(&ways[k], by_counter);
        }
        for (unsigned k = 0; k < WAYS; k++)
            time_many(&ways[k], part, by_counter);
        usleep(PAUSE_US);
    }
    const double ns = (now_ns() - begin_ns) / (double)(cheapest_clock(by_counter) - begin);
    print_all((uint64_t)part * PARTS, ns);
    sfid_lane_close(lane);
    sfid_close(lanes);
    sfid_close(shared);
    sfid_close(in_millis);
    sfid_close(in_seconds);
    return 0;
}
