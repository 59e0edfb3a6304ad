/* SPDX-License-Identifier: MIT */
/*
 * threads.c - several threads on one word, compared with threads that only add
 * to one word; and with a lane each, compared with threads that share nothing,
 * and so count without an atomic add.
 */
#include "floor.h"
#include "rows.h"
#include "subjects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

SFID_DEFINE(inlined, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))

enum { DRAWS = 5000000 };

enum { THREADS = 8 };
enum kind {
    FLOOR_OWN,
    FLOOR_OWN_EXPORTED,
    FLOOR_SHARED,
    FLOOR_EXPORTED,
    LANE,
    LANE_INLINE,
    SHARED,
    SHARED_INLINE
};

struct worker {
    enum kind kind;
    sfid *g;
    pthread_t thread;
};

static atomic_int go;
static _Alignas(64) _Atomic uint64_t shared_word;

static uint64_t add(_Atomic uint64_t *word) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)time(NULL) + atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
    return sum;
}

static uint64_t add_own(uint64_t *word) {
    volatile uint64_t *own = word;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint64_t n = *own;
        *own = n + 1;
        sum += n + (uint64_t)time(NULL);
    }
    return sum;
}

static uint64_t add_own_exported(uint64_t *word) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)floor_own(word);
    return sum;
}

static uint64_t add_exported(_Atomic uint64_t *word) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)floor_next(word);
    return sum;
}

static uint64_t draw(sfid *g) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)sfid_next(g);
    return sum;
}

static uint64_t draw_inline(inlined *g) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)inlined_next(g);
    return sum;
}

static uint64_t draw_lane(sfid_lane *lane) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)sfid_lane_next(lane);
    return sum;
}

static uint64_t draw_lane_inline(sfid_lane *lane) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        sum += (uint64_t)inlined_lane_next(lane);
    return sum;
}

static uint64_t draws(struct worker *w, sfid_lane *lane) {
    _Alignas(64) uint64_t own = 0;
    switch (w->kind) {
    case FLOOR_OWN:
        return add_own(&own);
    case FLOOR_OWN_EXPORTED:
        return add_own_exported(&own);
    case FLOOR_SHARED:
        return add(&shared_word);
    case FLOOR_EXPORTED:
        return add_exported(&shared_word);
    case LANE:
        return draw_lane(lane);
    case LANE_INLINE:
        return draw_lane_inline(lane);
    case SHARED_INLINE:
        return draw_inline((inlined *)(void *)w->g);
    case SHARED:
        break;
    }
    return draw(w->g);
}

static void *work(void *arg) {
    struct worker *w = arg;
    sfid_lane *lane = NULL;
    if ((w->kind == LANE || w->kind == LANE_INLINE) && sfid_lane_open(&lane, w->g) < 0)
        abort();
    while (atomic_load_explicit(&go, memory_order_acquire) == 0)
        ;
    const uint64_t sum = draws(w, lane);
    KEEP(sum);
    sfid_lane_close(lane);
    return NULL;
}

/* Returns IDs per nanosecond. */
static double rate(enum kind kind, sfid *g, int threads) {
    struct worker workers[THREADS];
    atomic_store(&go, 0);
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.kind = kind, .g = g};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    const double begin = now_ns();
    atomic_store_explicit(&go, 1, memory_order_release);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    return (double)threads * DRAWS / (now_ns() - begin);
}

static int threads_now;

static double shared_floor(void *none, uint64_t n) {
    (void)none, (void)n;
    return 1 / rate(FLOOR_SHARED, NULL, threads_now);
}

static double exported_floor(void *none, uint64_t n) {
    (void)none, (void)n;
    return 1 / rate(FLOOR_EXPORTED, NULL, threads_now);
}

static double shared_draw(void *g, uint64_t n) {
    (void)n;
    return 1 / rate(SHARED, g, threads_now);
}

static double shared_draw_inline(void *g, uint64_t n) {
    (void)n;
    return 1 / rate(SHARED_INLINE, g, threads_now);
}

/* Each form is compared with an add of the same form. The last row compares a call with an add
 * inside the loop. */
void bench_shared(void) {
    static const struct {
        int threads;
        const char *inlined, *called;
    } rows[] = {{2, "inline form, 1 s, 2 threads", "sfid_next, 1 s, 2 threads"},
                {4, "inline form, 1 s, 4 threads", "sfid_next, 1 s, 4 threads"},
                {8, "inline form, 1 s, 8 threads", "sfid_next, 1 s, 8 threads"}};
    static const char floor[] = "time() + fetch_add on one word",
                      exported[] = "the same in an exported function";
    sfid *g = open_pid("bench-shared", &inlined_layout, NULL);
    for (int i = 0; i < 3; i++) {
        threads_now = rows[i].threads;
        run_row(&(struct row){rows[i].inlined, floor, shared_floor, shared_draw_inline, NULL, g,
                              DRAWS, 1.5, "ID"});
        run_row(&(struct row){rows[i].called, exported, exported_floor, shared_draw, NULL, g, DRAWS,
                              1.5, "ID"});
    }
    threads_now = 2;
    run_row(&(struct row){"sfid_next, 1 s, 2 threads, beside inline", floor, shared_floor,
                          shared_draw, NULL, g, DRAWS, 1.5, "ID"});
    sfid_close(g);
}

static double own_floor(void *none, uint64_t n) {
    (void)none, (void)n;
    return threads_now / rate(FLOOR_OWN, NULL, threads_now);
}

static double own_exported_floor(void *none, uint64_t n) {
    (void)none, (void)n;
    return threads_now / rate(FLOOR_OWN_EXPORTED, NULL, threads_now);
}

static double lane_draw(void *g, uint64_t n) {
    (void)n;
    return threads_now / rate(LANE, g, threads_now);
}

static double lane_draw_inline(void *g, uint64_t n) {
    (void)n;
    return threads_now / rate(LANE_INLINE, g, threads_now);
}

/* Nanoseconds of each thread, not of all together. */
void bench_lanes(void) {
    static const char own[] = "time() + private add",
                      exported[] = "the same in an exported function";
    sfid *g = open_pid("bench-lanes", &inlined_layout, NULL);
    threads_now = 1;
    run_row(&(struct row){"lane, 1 s, one thread", exported, own_exported_floor, lane_draw, NULL, g,
                          DRAWS, 1.15, "ID"});
    run_row(&(struct row){"lane, inline, 1 s, one thread", own, own_floor, lane_draw_inline, NULL,
                          g, DRAWS, 1.2, "ID"});
    threads_now = 2;
    run_row(&(struct row){"lane, inline, 1 s, each of 2 threads", own, own_floor, lane_draw_inline,
                          NULL, g, DRAWS, 1.2, "ID"});
    run_row(&(struct row){"lane, 1 s, each of 2 threads", exported, own_exported_floor, lane_draw,
                          NULL, g, DRAWS, 1.2, "ID"});
    sfid_close(g);
}
