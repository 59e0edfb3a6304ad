/* SPDX-License-Identifier: MIT */
/*
 * wide.c - wide IDs, in one thread.
 *
 * These layouts have 4096 (flake, awsflake: of a process) or 16384 (uuid7) IDs
 * a millisecond. A plain loop uses them up, and then measures that. So floor and
 * subject come in bursts, each inside a millisecond that has just begun.
 */
#include "counter.h"
#include "rows.h"
#include "subjects.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BURST = 2048, BATCH = 256, BURSTS = 50, WORKER = 0x525400 };

static _Alignas(64) _Atomic uint64_t word;
static sfid_wide batch[BATCH];

static void await_millisecond(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_REALTIME, &begin);
    do
        clock_gettime(CLOCK_REALTIME, &now);
    while (now.tv_nsec / 1000000 == begin.tv_nsec / 1000000);
}

/* ---- floors ---------------------------------------------------------------- */

static double floor_one(void *none, uint64_t bursts) {
    sfid_wide id;
    double took = 0;
    (void)none;
    const bool by_counter = time_by_counter();
    for (uint64_t k = 0; k < bursts; k++) {
        await_millisecond();
        const double begin = now_ns();
        for (uint64_t i = 0; i < BURST; i++) {
            id.high = cheapest_clock(by_counter);
            id.low = atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
            KEEP(&id);
        }
        took += now_ns() - begin;
    }
    return took / (double)(bursts * BURST);
}

static double floor_store(void *none, uint64_t bursts) {
    double took = 0;
    (void)none;
    for (uint64_t k = 0; k < bursts; k++) {
        await_millisecond();
        const double begin = now_ns();
        for (uint64_t i = 0; i < BURST; i += BATCH) {
            const uint64_t low = atomic_fetch_add_explicit(&word, BATCH, memory_order_relaxed);
            for (uint64_t b = 0; b < BATCH; b++)
                batch[b] = (sfid_wide){k, low + b};
            KEEP(&batch[0]);
        }
        took += now_ns() - begin;
    }
    return took / (double)(bursts * BURST);
}

/* ---- subjects -------------------------------------------------------------- */

/* The first ID of a millisecond moves the word on: it is not part of the burst. */
static void first(sfid *g) {
    sfid_wide id;
    await_millisecond();
    if (sfid_next_wide(g, &id) < 0)
        abort();
}

static double draw_one(void *g, uint64_t bursts) {
    sfid_wide id;
    int worst = 0;
    double took = 0;
    for (uint64_t k = 0; k < bursts; k++) {
        first(g);
        const double begin = now_ns();
        for (uint64_t i = 0; i < BURST; i++) {
            worst |= sfid_next_wide(g, &id);
            KEEP(&id);
        }
        took += now_ns() - begin;
    }
    if (worst < 0)
        abort();
    return took / (double)(bursts * BURST);
}

/* Nanoseconds for an ID. */
static double draw_batches(sfid *g, uint64_t bursts, size_t size) {
    int64_t got = 0;
    double took = 0;
    for (uint64_t k = 0; k < bursts; k++) {
        first(g);
        const double begin = now_ns();
        for (uint64_t i = 0; i < BURST; i += size) {
            got += sfid_next_n_wide(g, batch, size);
            KEEP(&batch[0]);
        }
        took += now_ns() - begin;
    }
    if (got != (int64_t)bursts * BURST)
        abort();
    return took / (double)(bursts * BURST);
}

static double draw_many(void *g, uint64_t bursts) { return draw_batches(g, bursts, BATCH); }

/* Nanoseconds for a call. */
static double call_1(void *g, uint64_t bursts) { return draw_batches(g, bursts, 1); }
static double call_2(void *g, uint64_t bursts) { return 2 * draw_batches(g, bursts, 2); }
static double call_16(void *g, uint64_t bursts) { return 16 * draw_batches(g, bursts, 16); }

/* ---- rows ------------------------------------------------------------------ */

static void rows_of(const char *name, int64_t pid, const char *one, const char *many,
                    double target) {
    sfid_wide_layout l;
    sfid_options opt = SFID_OPTIONS_INIT;
    if (sfid_wide_layout_parse(name, &l) < 0)
        abort();
    opt.wide = &l;
    opt.pid = pid;
    sfid *g = open_options(&opt);
    const char *floor = time_by_counter() ? COUNTER " + fetch_add + storing"
                                          : "clock_gettime() + fetch_add + storing";
    run_row(&(struct row){one, floor, floor_one, draw_one, NULL, g, BURSTS, 1.7, "ID"});
    run_row(&(struct row){many, "storing as many", floor_store, draw_many, NULL, g, BURSTS, target,
                          "ID"});
    if (strcmp(name, "flake") == 0) {
        run_row(&(struct row){"sfid_next_n_wide of 1, flake", "sfid_next_wide", draw_one, call_1, g,
                              g, BURSTS, 1.4, "call"});
        run_row(&(struct row){"sfid_next_n_wide of 2, flake", "sfid_next_wide", draw_one, call_2, g,
                              g, BURSTS, 1.6, "call"});
        run_row(&(struct row){"sfid_next_n_wide of 16, flake", "sfid_next_wide", draw_one, call_16,
                              g, g, BURSTS, 3.5, "call"});
    }
    sfid_close(g);
}

void bench_wide(void) {
    rows_of("uuid7", 1, "sfid_next_wide, uuid7", "sfid_next_n_wide of 256, uuid7", 10);
    rows_of("flake", WORKER, "sfid_next_wide, flake", "sfid_next_n_wide of 256, flake", 5);
    rows_of("awsflake", WORKER & 0xffff, "sfid_next_wide, awsflake",
            "sfid_next_n_wide of 256, awsflake", 5);
}
