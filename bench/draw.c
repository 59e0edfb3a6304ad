/* SPDX-License-Identifier: MIT */
/* draw.c - single IDs and batches, in one thread. */
#include "counter.h"
#include "floor.h"
#include "rows.h"
#include "subjects.h"

#include <sfid/inline.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const sfid_layout seconds = SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS),
                         millis = SFID_LAYOUT(41, 2, 20, 1, SFID_EPOCH_MS);
SFID_DEFINE(inlined, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))

/* Alone in its cache line. */
static _Alignas(64) _Atomic uint64_t word;

enum { DRAWS = 10000000, BATCH = 4096, BATCHES = 20000, SOME = 256, FEW = 16 };

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

static double floor_clock(void *none, uint64_t n) {
    uint64_t sum = 0;
    (void)none;
    const bool by_counter = time_by_counter();
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++)
        sum +=
            cheapest_clock(by_counter) + atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    KEEP(sum);
    return (now_ns() - begin) / (double)n;
}

static int64_t batch[BATCH];

/* n integers, a multiple of 16, as fast as this processor writes them. */
#if defined(__x86_64__)
static __attribute__((target("avx2"))) void store_by_avx2(int64_t first, size_t n) {
    const __m256i four = _mm256_set1_epi64x(4), next = _mm256_set1_epi64x(16);
    __m256i a = _mm256_set_epi64x(first + 3, first + 2, first + 1, first),
            b = _mm256_add_epi64(a, four), c = _mm256_add_epi64(b, four),
            d = _mm256_add_epi64(c, four);
    for (size_t k = 0; k < n; k += 16) {
        _mm256_storeu_si256((__m256i *)(void *)(batch + k), a);
        _mm256_storeu_si256((__m256i *)(void *)(batch + k + 4), b);
        _mm256_storeu_si256((__m256i *)(void *)(batch + k + 8), c);
        _mm256_storeu_si256((__m256i *)(void *)(batch + k + 12), d);
        a = _mm256_add_epi64(a, next);
        b = _mm256_add_epi64(b, next);
        c = _mm256_add_epi64(c, next);
        d = _mm256_add_epi64(d, next);
    }
}
static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#else
static void store_by_avx2(int64_t first, size_t n) { (void)first, (void)n; }
static bool has_avx2(void) { return false; }
#endif

/* Two at a time: the least vectors of x86-64 and arm64. */
static void store_by_pairs(int64_t first, size_t n) {
    typedef int64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
    pair a = {first, first + 1}, b = a + 2, c = a + 4, d = a + 6;
    for (size_t k = 0; k < n; k += 8, a += 8, b += 8, c += 8, d += 8) {
        *(pair *)(void *)(batch + k) = a;
        *(pair *)(void *)(batch + k + 2) = b;
        *(pair *)(void *)(batch + k + 4) = c;
        *(pair *)(void *)(batch + k + 6) = d;
    }
}

static double floor_store(void *none, uint64_t n) {
    int64_t id = (int64_t)atomic_load(&word);
    (void)none;
    const bool wide = has_avx2();
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++, id += BATCH) {
        if (wide)
            store_by_avx2(id, BATCH);
        else
            store_by_pairs(id, BATCH);
        KEEP(&batch[0]);
    }
    return (now_ns() - begin) / (double)(n * BATCH);
}

static double floor_batches(uint64_t n, size_t size) {
    const bool wide = size >= 64 && has_avx2(); /* fewer are stored sooner by pairs */
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        const int64_t id = (int64_t)(atomic_fetch_add_explicit(&word, size, memory_order_relaxed) +
                                     (uint64_t)time(NULL));
        if (wide)
            store_by_avx2(id, size);
        else
            store_by_pairs(id, size);
        KEEP(&batch[0]);
    }
    return (now_ns() - begin) / (double)(n * size);
}

static double floor_few(void *none, uint64_t n) {
    (void)none;
    return floor_batches(n, FEW);
}

static double floor_some(void *none, uint64_t n) {
    (void)none;
    return floor_batches(n, SOME);
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

static double draw_batches(sfid *g, uint64_t n, size_t size) {
    int64_t got = 0;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        got += sfid_next_n(g, batch, size);
        KEEP(&batch[0]);
    }
    if (got != (int64_t)(n * size))
        abort();
    return (now_ns() - begin) / (double)(n * size);
}

static double draw_many(void *g, uint64_t n) { return draw_batches(g, n, BATCH); }
static double draw_some(void *g, uint64_t n) { return draw_batches(g, n, SOME); }
static double draw_few(void *g, uint64_t n) { return draw_batches(g, n, FEW); }

/* ---- rows ------------------------------------------------------------------ */

static void with_store(void) {
    sfid *fixed = open_pid("bench-fixed-s", &seconds, NULL),
         *leased = open_pid("bench-leased-s", &seconds, settings.store);
    run_row(&(struct row){"sfid_next, 1 s, leased", "the same, fixed pid", draw_next, draw_next,
                          fixed, leased, DRAWS, 1.03, "ID"});
    run_row(&(struct row){"inline, 1 s, leased", "the same, fixed pid", draw_inline, draw_inline,
                          fixed, leased, DRAWS, 1.03, "ID"});
    sfid_close(fixed);
    sfid_close(leased);
    fixed = open_pid("bench-fixed-ms", &millis, NULL);
    leased = open_pid("bench-leased-ms", &millis, settings.store);
    run_row(&(struct row){"sfid_next, 1 ms, leased", "the same, fixed pid", draw_next, draw_next,
                          fixed, leased, DRAWS, 1.03, "ID"});
    sfid_close(fixed);
    sfid_close(leased);
    fixed = open_pid("bench-fixed-n", &seconds, NULL);
    leased = open_pid("bench-leased-n", &seconds, settings.store);
    run_row(&(struct row){"sfid_next_n of 4096, leased", "the same, fixed pid", draw_many,
                          draw_many, fixed, leased, BATCHES, 1.03, "ID"});
    sfid_close(fixed);
    sfid_close(leased);
}

void bench_draw(void) {
    sfid *s = open_pid("bench-s", &seconds, NULL), *ms = open_pid("bench-ms", &millis, NULL);
    run_row(&(struct row){"inline form, 1 s", "time() + fetch_add, inline", floor_inline,
                          draw_inline, NULL, s, DRAWS, 1.3, "ID"});
    run_row(&(struct row){"sfid_next, 1 s", "time() + fetch_add, exported", floor_exported,
                          draw_next, NULL, s, DRAWS, 1.3, "ID"});
    run_row(
        &(struct row){"sfid_next, 1 ms",
                      time_by_counter() ? COUNTER " + fetch_add" : "clock_gettime() + fetch_add",
                      floor_clock, draw_next, NULL, ms, DRAWS, 1.3, "ID"});
    run_row(&(struct row){"sfid_next_n of 4096, 1 s", "storing, widest vectors", floor_store,
                          draw_many, NULL, s, BATCHES, 1.3, "ID"});
    run_row(&(struct row){"sfid_next_n of 256, 1 s", "time() + fetch_add + storing", floor_some,
                          draw_some, NULL, s, DRAWS / 32,
                          /* all rounds of all batches are less than the 2^31 IDs of a second */
                          1.5, "ID"});
    run_row(&(struct row){"sfid_next_n of 16, 1 s", "time() + fetch_add + storing", floor_few,
                          draw_few, NULL, s, DRAWS / 4, 1.7, "ID"});
    sfid *shared_s = open_pid("bench-shared-s", &seconds, "local?share=1"),
         *shared_ms = open_pid("bench-shared-ms", &millis, "local?share=1");
    run_row(&(struct row){"sfid_next, 1 s, share", "the same, without share", draw_next, draw_next,
                          s, shared_s, DRAWS, 1.5, "ID"});
    run_row(&(struct row){"sfid_next, 1 ms, share", "the same, without share", draw_next, draw_next,
                          ms, shared_ms, DRAWS, 1.1, "ID"});
    sfid_close(shared_s);
    sfid_close(shared_ms);
    sfid_close(s);
    sfid_close(ms);
    if (settings.store)
        with_store();
}
