/* SPDX-License-Identifier: MIT */
/*
 * count.c - calls each way to generate IDs N times or less; bench/instructions counts the
 * instructions of that. Prints how often each was called, and the name; 0 and a name for what is
 * not to be counted.
 *
 *     count N DIRECTORY
 *
 * A call that meets a new tick takes other ways than the rest, and how many do is a matter of the
 * machine's load. So no tick passes here: see still.h.
 */
#include "floor.h"

#include "still.h"

#include <sfid/inline.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Ticks by time(), and ticks by the processor's counter: of less than a second, since longer ones
 * do not use it. Of a short sequence each call looks at the word (SFID__LOOK_BITS).
 */
SFID_DEFINE(inlined, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))
static const sfid_layout counted = SFID_LAYOUT(31, 2, 30, STILL_UNIT_MS, SFID_EPOCH_MS);
static const sfid_layout shorter = SFID_LAYOUT(30, 2, 15, 1000, SFID_EPOCH_MS);

static sfid *seconds, *counter, *brief, *shared, *shared_counter, *uuid7, *flake, *borrower;
static sfid_lane *lane, *counter_lane, *borrowing_lane;
static const char *dir;
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
static int64_t by_next_borrowing(void) { return sfid_next(borrower); }
static int64_t by_lane_borrowing(void) { return sfid_lane_next(borrowing_lane); }
static int64_t by_shared(void) { return sfid_next(shared); }
static int64_t by_shared_counter(void) { return sfid_next(shared_counter); }
static int64_t by_shared_16(void) { return sfid_next_n(shared, batch, 16); }
static int64_t by_16(void) { return sfid_next_n(seconds, batch, 16); }
static int64_t by_64(void) { return sfid_next_n(seconds, batch, 64); }
static int64_t by_4096(void) { return sfid_next_n(seconds, batch, 4096); }
static int64_t by_uuid7(void) { return sfid_next_wide(uuid7, wide); }
static int64_t by_uuid7_64(void) { return sfid_next_n_wide(uuid7, wide, 64); }
static int64_t by_flake(void) { return sfid_next_wide(flake, wide); }
static int64_t by_flake_1(void) { return sfid_next_n_wide(flake, wide, 1); }
static int64_t by_flake_2(void) { return sfid_next_n_wide(flake, wide, 2); }
static int64_t by_flake_16(void) { return sfid_next_n_wide(flake, wide, 16); }

static const struct way {
    const char *name;
    int64_t (*draw)(void);
    /* calls than N, by this factor, where a tick is of 1 ms: it has to have room for them by the
     * counter, and IDs */
    int fewer;
    int looks; /* at the clock, by each call */
} ways[] = {{"floor", by_floor, 1, 0},
            {"inline", by_inline, 1, 0},
            {"next", by_next, 1, 0},
            {"next/short", by_next_short, 1, 0},
            {"try_next", by_try, 1, 0},
            {"lane_next", by_lane, 1, 0},
            {"inline/lane_next", by_lane_inline, 1, 0},
            {"next/counter", by_next_counter, 1, 0},
            {"lane_next/counter", by_lane_counter, 1, 0},
            {"next/borrow", by_next_borrowing, 1, 3},
            {"lane_next/borrow", by_lane_borrowing, 1, 3},
            {"share", by_shared, 1, 0},
            {"share/counter", by_shared_counter, 1, 0},
            {"share/next_n/16", by_shared_16, 1, 0},
            {"next_n/16", by_16, 1, 0},
            {"next_n/64", by_64, 1, 0},
            {"next_n/4096", by_4096, 1, 0},
            {"next_wide/uuid7", by_uuid7, 2, 0},
            {"next_wide/flake", by_flake, 2, 0},
            {"next_n_wide/1", by_flake_1, 2, 0},
            {"next_n_wide/2", by_flake_2, 2, 0},
            {"next_n_wide/16", by_flake_16, 16, 0},
            {"next_n_wide/64", by_uuid7_64, 16, 0}};

/* Callgrind counts what happens in here, and writes the count each time this returns. */
static __attribute__((noinline)) int64_t measured(const struct way *way, long n) {
    int64_t sum = 0;
    for (; n > 0; n--)
        sum |= way->draw();
    return sum;
}

/* All IDs of the tick in which the time stands still: from then on calls borrow of the next one,
 * which has room for N. */
static bool use_up(sfid *g) {
    const int64_t n = sizeof batch / sizeof batch[0];
    for (uint64_t left = shorter.max_seq + 1; left > 0; left -= (uint64_t)n)
        if (sfid_next_n(g, batch, (size_t)n) != n)
            return false;
    return true;
}

/* Nobody sleeps, however long a tick is. name: of a wide layout; app: of a page that processes
 * share, or that borrows. */
static sfid *open_one(const sfid_layout *layout, const char *name, const char *app, bool borrows) {
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid_wide_layout parsed;
    opt.pid = 1; /* no app: counts nothing but generating */
    opt.app = app;
    opt.share = app != NULL && !borrows;
    opt.layout = layout;
    opt.wide = name ? &parsed : NULL;
    opt.exhaustion = borrows ? SFID_BORROW : SFID_FAIL;
    opt.run_dir = opt.state_dir = dir; /* of flakes: nobody else shall find this program's time */
    if ((name && sfid_wide_layout_parse(name, &parsed) < 0) || sfid_open(&g, &opt) < 0)
        exit(1);
    return g;
}

/* Until the counter's rate is known, each call reads the clock: for two measurements of 4 ms. */
static void settle(void) {
    int64_t sum;
    for (int quiet = 0; quiet < 10 && still_since_begin_ms() < 20000; quiet++) {
        const long before = still_looks;
        sum = by_next_counter() | by_shared_counter() | by_uuid7() | by_flake();
        if (still_looks != before || sum < 0) /* at first each waits for a tick of its own */
            quiet = -1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Where a tick of 1 ms ended, once more. */
static int64_t count(const struct way *way, long n) {
    int64_t sum = 0;
    for (int left = 50; left > 0; left--) {
        if (way->fewer > 1) {
            still_next_ms();
            sum |= way->draw();
        }
        const long before = still_looks;
        sum |= measured(way, n);
        if (still_looks - before == n * way->looks)
            left = 1;
        printf("%ld %s\n", left > 1 ? 0 : n, way->name);
    }
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: count N DIRECTORY\n", stderr);
        return 2;
    }
    dir = argv[2];
    still_begin();
    seconds = open_one(&inlined_layout, NULL, NULL, false);
    counter = open_one(&counted, NULL, NULL, false);
    brief = open_one(&shorter, NULL, NULL, false);
    shared = open_one(&inlined_layout, NULL, "seconds", false);
    shared_counter = open_one(&counted, NULL, "counter", false);
    uuid7 = open_one(NULL, "uuid7", NULL, false);
    flake = open_one(NULL, "flake", NULL, false);
    borrower = open_one(&shorter, NULL, "borrower", true);
    if (sfid_lane_open(&lane, seconds) < 0 || sfid_lane_open(&counter_lane, counter) < 0 ||
        sfid_lane_open(&borrowing_lane, borrower) < 0)
        return 1;
    settle();
    still_stop();
    if (!use_up(borrower))
        return 1;
    int64_t sum = measured(&ways[0], 0); /* the first file has what was counted before */
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        sum |= count(&ways[i], atol(argv[1]) / ways[i].fewer);
    sfid_lane_close(lane);
    sfid_lane_close(counter_lane);
    sfid_lane_close(borrowing_lane);
    sfid_close(seconds);
    sfid_close(counter);
    sfid_close(brief);
    sfid_close(shared);
    sfid_close(shared_counter);
    sfid_close(uuid7);
    sfid_close(flake);
    sfid_close(borrower);
    return sum < 0;
}
