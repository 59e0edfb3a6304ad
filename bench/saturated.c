/* SPDX-License-Identifier: MIT */
/*
 * saturated.c - threads that want more IDs than a layout has: how much of its full rate they reach,
 * and what that costs.
 *
 * The floor does what such threads cannot leave out: one add on a word that they share, whose count
 * says in which millisecond an ID is due; one look at the clock; and sleeping until then.
 */
#include "counter.h"
#include "rows.h"
#include "subjects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 8, ROUND_MS = 500, OF_A_MS = 4096 };

static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);

static sfid *g;
static atomic_int stop;
static _Alignas(64) _Atomic uint64_t word;
static _Alignas(64) uint64_t begin_count; /* of cheapest_clock() */
static double counts_of_a_ms;
static bool by_counter;

static void sleep_ns(double ns) { nanosleep(&(struct timespec){0, (long)ns}, NULL); }

static void *draw(void *count) {
    uint64_t n = 0;
    while (atomic_load_explicit(&stop, memory_order_relaxed) == 0)
        n += sfid_next(g) >= 0;
    *(uint64_t *)count = n;
    return NULL;
}

static void *add(void *count) {
    const uint64_t begin = begin_count, of_a_ms = (uint64_t)counts_of_a_ms;
    uint64_t n = 0;
    for (; atomic_load_explicit(&stop, memory_order_relaxed) == 0; n++) {
        const uint64_t due =
            begin + atomic_fetch_add_explicit(&word, 1, memory_order_relaxed) / OF_A_MS * of_a_ms;
        for (uint64_t now; (now = cheapest_clock(by_counter)) < due;)
            sleep_ns((double)(due - now) / counts_of_a_ms * 1e6);
    }
    *(uint64_t *)count = n;
    return NULL;
}

struct subject {
    void *(*body)(void *);
    int threads;
    double shares[ROUNDS_MAX + 1]; /* of the full rate, in per cent; the first warms up */
    int rounds;
};

/* Returns the processor time of an ID. n: the IDs of as long as it lasts. */
static double run(void *arg, uint64_t n) {
    struct subject *s = arg;
    pthread_t thread[THREADS];
    uint64_t counts[THREADS] = {0}, sum = 0;
    atomic_store(&stop, 0);
    atomic_store(&word, 0);
    begin_count = cheapest_clock(by_counter);
    const double begin = now_ns(), cpu_begin = cpu_ns();
    for (int i = 0; i < s->threads; i++)
        if (pthread_create(&thread[i], NULL, s->body, &counts[i]) != 0)
            abort();
    while (now_ns() - begin < (double)n / OF_A_MS * 1e6)
        sleep_ns(1e7);
    atomic_store(&stop, 1);
    for (int i = 0; i < s->threads; i++) {
        pthread_join(thread[i], NULL);
        sum += counts[i];
    }
    s->shares[s->rounds++] = 100 * (double)sum / (OF_A_MS * (now_ns() - begin) / 1e6);
    return (cpu_ns() - cpu_begin) / (double)sum;
}

static double counts_of_a_millisecond(void) {
    const uint64_t count = cheapest_clock(by_counter);
    const double begin = now_ns();
    sleep_ns(2e8);
    return (double)(cheapest_clock(by_counter) - count) / (now_ns() - begin) * 1e6;
}

void bench_saturated(void) {
    static const struct {
        int threads;
        double share;
    } targets[] = {{1, 99}, {2, 99.5}, {8, 99.5}};
    char name[80], cpu_name[80];
    if (!wanted("saturated"))
        return;
    g = open_pid("bench-full", &layout, NULL);
    by_counter = time_by_counter();
    counts_of_a_ms = counts_of_a_millisecond();
    for (size_t k = 0; k < sizeof targets / sizeof targets[0]; k++) {
        const int threads = targets[k].threads;
        struct subject floor = {.body = add, .threads = threads},
                       subject = {.body = draw, .threads = threads};
        snprintf(name, sizeof name, "saturated 41:10:12/1ms, %d thread%s", threads,
                 threads > 1 ? "s" : "");
        snprintf(cpu_name, sizeof cpu_name, "saturated, %d thread%s, processor time", threads,
                 threads > 1 ? "s" : "");
        run_row(&(struct row){
            cpu_name,
            by_counter ? COUNTER " + fetch_add + sleep" : "clock_gettime() + fetch_add + sleep",
            run, run, &floor, &subject, (uint64_t)ROUND_MS * OF_A_MS, 1.2, "ID of processor time"});
        tell_figure(name, "% of 4096 a millisecond", subject.shares + 1, settings.rounds,
                    targets[k].share, true);
    }
    sfid_close(g);
}
