/* SPDX-License-Identifier: MIT */
/*
 * count.c - calls each way to generate IDs N times; bench/instructions counts the instructions of that.
 *
 *     count N
 */
#include "floor.h"

#include <sfid/inline.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Ticks by time(), and ticks by the processor's counter: of less than a second, since longer ones do not use it. Of a short
 * sequence each call looks at the word (SFID__LOOK_BITS).
 */
SFID_DEFINE(inlined, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))
static const sfid_layout counted = SFID_LAYOUT(31, 2, 30, 999, SFID_EPOCH_MS);
static const sfid_layout shorter = SFID_LAYOUT(30, 2, 15, 1000, SFID_EPOCH_MS);

static sfid *seconds, *counter, *brief, *uuid7, *flake;
static sfid_lane *lane, *counter_lane;
static int64_t batch[4096];
static sfid_wide wide[64];
static _Atomic uint64_t word;

static int64_t by_floor(void) { return floor_next(&word); }
static int64_t by_inline(void) { return inlined_next((inlined *)(void *)seconds); }
static int64_t by_next(void) { return sfid_next(seconds); }
static int64_t by_next_short(void) { return sfid_next(brief); }
static int64_t by_try(void) { return sfid_try_next(seconds); }
static int64_t by_lane(void) { return sfid_lane_next(lane); }
static int64_t by_next_counter(void) { return sfid_next(counter); }
static int64_t by_lane_inline(void) { return inlined_lane_next(lane); }
static int64_t by_lane_counter(void) { return sfid_lane_next(counter_lane); }
static int64_t by_16(void) { return sfid_next_n(seconds, batch, 16); }
static int64_t by_64(void) { return sfid_next_n(seconds, batch, 64); }
static int64_t by_4096(void) { return sfid_next_n(seconds, batch, 4096); }
static int64_t by_uuid7(void) { return sfid_next_wide(uuid7, wide); }
static int64_t by_uuid7_64(void) { return sfid_next_n_wide(uuid7, wide, 64); }
static int64_t by_flake(void) { return sfid_next_wide(flake, wide); }

static const struct way {
    const char *name;
    int64_t (*draw)(void);
} ways[] = {{"floor", by_floor},
            {"inline", by_inline},
            {"next", by_next},
            {"next/short", by_next_short},
            {"try_next", by_try},
            {"lane_next", by_lane},
            {"inline/lane_next", by_lane_inline},
            {"next/counter", by_next_counter},
            {"lane_next/counter", by_lane_counter},
            {"next_n/16", by_16},
            {"next_n/64", by_64},
            {"next_n/4096", by_4096},
            {"next_wide/uuid7", by_uuid7},
            {"next_wide/flake", by_flake},
            {"next_n_wide/64", by_uuid7_64}};

/* Callgrind counts what happens in here, and writes the count each time this returns. */
static __attribute__((noinline)) int64_t measured(const struct way *way, long n) {
    int64_t sum = 0;
    for (; n > 0; n--)
        sum |= way->draw();
    return sum;
}

static sfid *open_one(const sfid_layout *layout, const char *name) {
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid_wide_layout parsed;
    opt.pid = 1; /* no app: counts nothing but generating */
    opt.layout = layout;
    opt.wide = name ? &parsed : NULL;
    opt.exhaustion = SFID_FAIL; /* never sleeps, however long a tick is */
    if ((name && sfid_wide_layout_parse(name, &parsed) < 0) || sfid_open(&g, &opt) < 0)
        exit(1);
    return g;
}

/* Until the counter's rate is known, each call reads the clock. */
static int64_t settle(void) {
    int64_t sum = 0;
    for (const time_t end = time(NULL) + 2; time(NULL) < end;)
        sum |= by_next_counter() | by_uuid7() | by_flake();
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: count N\n", stderr);
        return 2;
    }
    seconds = open_one(&inlined_layout, NULL);
    counter = open_one(&counted, NULL);
    brief = open_one(&shorter, NULL);
    uuid7 = open_one(NULL, "uuid7");
    flake = open_one(NULL, "flake");
    if (sfid_lane_open(&lane, seconds) < 0 || sfid_lane_open(&counter_lane, counter) < 0)
        return 1;
    int64_t sum = settle() | measured(&ways[0], 0); /* the first file has what was counted before */
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        sum |= measured(&ways[i], atol(argv[1]));
        puts(ways[i].name);
    }
    sfid_lane_close(lane);
    sfid_lane_close(counter_lane);
    sfid_close(seconds);
    sfid_close(counter);
    sfid_close(brief);
    sfid_close(uuid7);
    sfid_close(flake);
    return sum < 0;
}
