/* SPDX-License-Identifier: MIT */
/* saturated.c - how much of a layout's full rate threads reach, and its cost, when they want more than that. */
#include "counter.h"
#include "rows.h"
#include "subjects.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);

enum { THREADS = 8, ROUND_MS = 1000, ROUNDS = 7 };

static sfid *g;
static atomic_int stop;

static void *draw(void *count) {
    uint64_t n = 0;
    while (atomic_load_explicit(&stop, memory_order_relaxed) == 0)
        n += sfid_next(g) >= 0;
    *(uint64_t *)count = n;
    return NULL;
}

static void run(int threads, double *share, double *cpu) {
    pthread_t thread[THREADS];
    uint64_t counts[THREADS] = {0}, sum = 0;
    atomic_store(&stop, 0);
    const double begin = now_ns(), cpu_begin = cpu_ns();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, draw, &counts[i]) != 0)
            abort();
    while (now_ns() - begin < ROUND_MS * 1e6)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        sum += counts[i];
    }
    const double ns = now_ns() - begin;
    *share = 100 * (double)sum / (4096 * ns / 1e6);
    *cpu = 100 * (cpu_ns() - cpu_begin) / ns;
}

/* Per cent of a processor that it takes to read the clock for each ID, where no counter says that the tick lasts. */
static double clock_share(void) {
    enum { READS = 1000000 };
    double sum = 0;
    const double begin = now_ns();
    for (int i = 0; i < READS; i++)
        sum += now_ns();
    KEEP(sum);
    return time_by_counter() ? 0 : 100 * 4096 * (now_ns() - begin) / READS / 1e6;
}

void bench_saturated(void) {
    static const struct {
        int threads;
        double share, cpu;
    } targets[] = {{1, 99, 10}, {2, 99.5, 25}, {8, 99.5, 25}};
    char name[80];
    if (!wanted("saturated"))
        return;
    g = open_pid("bench-full", &layout, NULL);
    const double clock = clock_share();
    for (size_t k = 0; k < sizeof targets / sizeof targets[0]; k++) {
        double shares[ROUNDS], cpus[ROUNDS];
        for (int i = 0; i < ROUNDS; i++)
            run(targets[k].threads, &shares[i], &cpus[i]);
        snprintf(name, sizeof name, "saturated 41:10:12/1ms, %d thread%s", targets[k].threads, targets[k].threads > 1 ? "s" : "");
        tell_figure(name, "% of 4096 a millisecond", shares, ROUNDS, targets[k].share, true);
        tell_figure("  its processor time", "% of one processor", cpus, ROUNDS, targets[k].cpu + clock, false);
    }
    sfid_close(g);
}
