/* SPDX-License-Identifier: MIT */
/* draw.c - single IDs and batches, in one thread. */
#include "floor.h"
#include "rows.h"
#include "subjects.h"

#include <sfid/inline.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static const sfid_layout seconds = SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS), millis = SFID_LAYOUT(41, 2, 20, 1, SFID_EPOCH_MS);
SFID_DEFINE(inlined, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))

/* Alone in its cache line. */
static _Alignas(64) _Atomic uint64_t word;

enum { DRAWS = 10000000, BATCH = 4096, BATCHES = 4000 };

/* ---- floors ---------------------------------------------------------------- */

static double floor_inline(void *none, uint64_t n) {
    uint64_t sum = 0;
    (void)none;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++)
        sum += (uint64_t)time(NULL) + atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    KEEP(sum);
    return (now_ns() - begin) / (double)n;
}

static double floor_exported(void *none, uint64_t n) {
    uint64_t sum = 0;
    (void)none;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++)
        sum += (uint64_t)floor_next(&word);
    KEEP(sum);
    return (now_ns() - begin) / (double)n;
}

#if defined(__x86_64__)
#define COUNTER "rdtsc + fetch_add"
static inline uint64_t counter(void) { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
#define COUNTER "cntvct + fetch_add"
static inline uint64_t counter(void) {
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}
#else
#define COUNTER "clock_gettime + fetch_add"
static inline uint64_t counter(void) { return (uint64_t)now_ns(); }
#endif

static double floor_counter(void *none, uint64_t n) {
    uint64_t sum = 0;
    (void)none;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++)
        sum += counter() + atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    KEEP(sum);
    return (now_ns() - begin) / (double)n;
}

static int64_t batch[BATCH];

static double floor_store(void *none, uint64_t n) {
    uint64_t id = atomic_load(&word);
    (void)none;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < BATCH; k++)
            batch[k] = (int64_t)(id + k);
        id += BATCH;
        KEEP(&batch[0]);
    }
    return (now_ns() - begin) / (double)(n * BATCH);
}

/* ---- subjects -------------------------------------------------------------- */

static double draw_next(void *g, uint64_t n) {
    uint64_t sum = 0;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++)
        sum += (uint64_t)sfid_next(g);
    KEEP(sum);
    return (now_ns() - begin) / (double)n;
}

static double draw_inline(void *g, uint64_t n) {
    uint64_t sum = 0;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++)
        sum += (uint64_t)inlined_next(g);
    KEEP(sum);
    return (now_ns() - begin) / (double)n;
}

static double draw_many(void *g, uint64_t n) {
    int64_t got = 0;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        got += sfid_next_n(g, batch, BATCH);
        KEEP(&batch[0]);
    }
    if (got != (int64_t)n * BATCH)
        abort();
    return (now_ns() - begin) / (double)(n * BATCH);
}

/* ---- rows ------------------------------------------------------------------ */

static void with_store(void) {
    sfid *fixed = open_pid("bench-fixed-s", &seconds, NULL), *leased = open_pid("bench-leased-s", &seconds, settings.store);
    run_row(&(struct row){"sfid_next, 1 s, leased", "the same, fixed pid", draw_next, draw_next, fixed, leased, DRAWS, 1.03, "ID"});
    run_row(
        &(struct row){"inline, 1 s, leased", "the same, fixed pid", draw_inline, draw_inline, fixed, leased, DRAWS, 1.03, "ID"});
    sfid_close(fixed);
    sfid_close(leased);
    fixed = open_pid("bench-fixed-ms", &millis, NULL);
    leased = open_pid("bench-leased-ms", &millis, settings.store);
    run_row(
        &(struct row){"sfid_next, 1 ms, leased", "the same, fixed pid", draw_next, draw_next, fixed, leased, DRAWS, 1.03, "ID"});
    sfid_close(fixed);
    sfid_close(leased);
    fixed = open_pid("bench-fixed-n", &seconds, NULL);
    leased = open_pid("bench-leased-n", &seconds, settings.store);
    run_row(&(struct row){"sfid_next_n of 4096, leased", "the same, fixed pid", draw_many, draw_many, fixed, leased, BATCHES, 1.03,
                          "ID"});
    sfid_close(fixed);
    sfid_close(leased);
}

void bench_draw(void) {
    sfid *s = open_pid("bench-s", &seconds, NULL), *ms = open_pid("bench-ms", &millis, NULL);
    run_row(&(struct row){"inline form, 1 s", "time() + fetch_add, inline", floor_inline, draw_inline, NULL, s, DRAWS, 1.3, "ID"});
    run_row(&(struct row){"sfid_next, 1 s", "time() + fetch_add, exported", floor_exported, draw_next, NULL, s, DRAWS, 1.3, "ID"});
    run_row(&(struct row){"sfid_next, 1 ms", COUNTER, floor_counter, draw_next, NULL, ms, DRAWS, 1.3, "ID"});
    run_row(
        &(struct row){"sfid_next_n of 4096, 1 s", "storing as many numbers", floor_store, draw_many, NULL, s, BATCHES, 1.5, "ID"});
    sfid_close(s);
    sfid_close(ms);
    if (settings.store)
        with_store();
}
