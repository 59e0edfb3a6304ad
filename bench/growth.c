/* SPDX-License-Identifier: MIT */
/*
 * growth - what an ID costs beside other calls, and how that changes with threads, processes,
 * generators and IDs.
 *
 *     growth [--rounds N] [--json]
 *
 * Medians of N rounds (5). Threads and processes share the processors, so their figure is the time
 * that passed for each ID of all of them together, in 300 ms in which all draw: long enough to be
 * spread over the processors.
 */
#include "rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uuid.h>

enum { ROUND_MS = 300, BATCH = 256, MOST = 64, GENERATORS = 10000 };

static const sfid_layout seconds = SFID_LAYOUT(30, 5, 28, 1000, SFID_EPOCH_MS);

static void tell(const char *series, double x, const char *name, const char *unit, double *values) {
    char label[80];
    if (settings.json) {
        printf("{\"series\":\"%s\",\"x\":%.0f,\"name\":\"%s\",\"unit\":\"%s\",\"median\":%.3f}\n",
               series, x, name, unit, median_of(values, settings.rounds));
        fflush(stdout);
        return;
    }
    if (x > 0)
        snprintf(label, sizeof label, "%.0f %s: %s", x, series, name);
    else
        snprintf(label, sizeof label, "%s", name);
    tell_figure(label, unit, values, settings.rounds, 0, false);
}

__attribute__((noreturn)) static void fail(const char *what) {
    fprintf(stderr, "growth: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- beside other calls ------------------------------------------------------ */

static sfid *g;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void by_next(void) { KEEP(sfid_next(g)); }

static void by_batch(void) {
    int64_t ids[BATCH];
    KEEP(sfid_next_n(g, ids, BATCH));
    KEEP(ids);
}

static void by_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    KEEP(now.tv_nsec);
}

static void by_malloc(void) {
    void *p = malloc(64);
    KEEP(p);
    free(p);
}

static void by_mutex(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void by_call_of_kernel(void) { KEEP(getppid()); }

static void by_random(void) {
    unsigned char bits[16];
    KEEP(getrandom(bits, sizeof bits, 0));
}

static void by_libuuid(void) {
    uuid_t id;
    uuid_generate_random(id);
    KEEP(id);
}

static const struct call {
    const char *name;
    void (*make)(void);
    int parts, n;
} calls[] = {
    {"an ID of sfid_next_n(256)", by_batch, BATCH, 100000},
    {"sfid_next()", by_next, 1, 5000000},
    {"malloc(64) and free()", by_malloc, 1, 5000000},
    {"a mutex locked and unlocked", by_mutex, 1, 5000000},
    {"clock_gettime()", by_clock, 1, 2000000},
    {"the cheapest system call", by_call_of_kernel, 1, 500000},
    {"getrandom() of 16 bytes", by_random, 1, 200000},
    {"libuuid's uuid_generate_random()", by_libuuid, 1, 200000},
};

static void beside(void) {
    double costs[sizeof calls / sizeof calls[0]][ROUNDS_MAX];
    g = open_pid("beside", &seconds, NULL);
    for (int round = 0; round < settings.rounds; round++)
        for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
            const double begin = now_ns();
            for (int i = 0; i < calls[k].n; i++)
                calls[k].make();
            costs[k][round] = (now_ns() - begin) / ((double)calls[k].n * calls[k].parts);
        }
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
        tell("calls", 0, calls[k].name, "ns", costs[k]);
    sfid_close(g);
}

/* ---- threads and processes ----------------------------------------------------- */

/* Shared by the processes. */
static struct crowd {
    atomic_int ready, go, stop;
    _Atomic uint64_t drawn;
} * crowd;

static void nap_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

static void draw_with_others(int64_t (*draw)(void *), void *subject) {
    uint64_t n = 0;
    if (draw(subject) < 0)
        fail("an ID");
    atomic_fetch_add(&crowd->ready, 1);
    while (atomic_load(&crowd->go) == 0)
        nap_ms(1);
    while (atomic_load_explicit(&crowd->stop, memory_order_relaxed) == 0)
        for (int i = 0; i < 1000; i++, n++)
            if (draw(subject) < 0)
                fail("an ID");
    atomic_fetch_add(&crowd->drawn, n);
}

/* Lets n threads or processes draw, which have been started. */
static double start_and_stop(int n) {
    while (atomic_load(&crowd->ready) < n)
        nap_ms(1);
    const double begin = now_ns();
    atomic_store(&crowd->go, 1);
    nap_ms(ROUND_MS);
    atomic_store(&crowd->stop, 1);
    return now_ns() - begin;
}

static int64_t next_of(void *handle) { return sfid_next(handle); }
static int64_t next_of_lane(void *lane) { return sfid_lane_next(lane); }

static void *work(void *with_lane) {
    sfid_lane *lane = NULL;
    if (with_lane && sfid_lane_open(&lane, g) < 0)
        fail("a lane");
    draw_with_others(lane ? next_of_lane : next_of, lane ? (void *)lane : (void *)g);
    sfid_lane_close(lane);
    return NULL;
}

static double threads_cost(bool lane, int n) {
    pthread_t threads[MOST];
    memset(crowd, 0, sizeof *crowd);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, lane ? crowd : NULL) != 0)
            fail("a thread");
    const double ns = start_and_stop(n);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return ns / (double)atomic_load(&crowd->drawn);
}

static void threads(void) {
    double costs[2][ROUNDS_MAX];
    g = open_pid("threads", &seconds, NULL);
    for (int n = 1; n <= 64; n *= 2) {
        for (int round = 0; round < settings.rounds; round++)
            for (int lane = 0; lane < 2; lane++)
                costs[lane][round] = threads_cost(lane, n);
        tell("threads", n, "sfid_next()", "ns", costs[0]);
        tell("threads", n, "a lane each", "ns", costs[1]);
    }
    sfid_close(g);
}

/* store: each opens a generator of its own; NULL: all use the one that they inherit. */
static double processes_cost(const char *store, int n) {
    char app[16];
    int status;
    memset(crowd, 0, sizeof *crowd);
    for (int i = 0; i < n; i++) {
        const pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0) {
            snprintf(app, sizeof app, "own%d", i);
            if (store)
                g = open_pid(app, &seconds, store);
            draw_with_others(next_of, g);
            sfid_close(g);
            _exit(0);
        }
    }
    const double ns = start_and_stop(n);
    for (int i = 0; i < n; i++)
        if (wait(&status) < 0 || status != 0)
            fail("a process");
    return ns / (double)atomic_load(&crowd->drawn);
}

static void processes(void) {
    static const struct {
        const char *name, *inherited, *own;
    } kinds[] = {{"a generator each", NULL, "local"},
                 {"forked with one", "local", NULL},
                 {"one shared page", "local?share=1", NULL}};
    double costs[ROUNDS_MAX];
    for (int k = 0; k < 3; k++)
        for (int n = 1; n <= 16; n *= 2) {
            g = kinds[k].inherited
                    ? open_pid(k == 1 ? "forked" : "shared", &seconds, kinds[k].inherited)
                    : NULL;
            for (int round = 0; round < settings.rounds; round++)
                costs[round] = processes_cost(kinds[k].own, n);
            sfid_close(g);
            tell("processes", n, kinds[k].name, "ns", costs);
        }
}

/* ---- generators and IDs ------------------------------------------------------------ */

static double memory_bytes(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1)
        fail("/proc/self/statm");
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void generators_cost(int n, double *open_us, double *next_ns, double *bytes) {
    static sfid *all[GENERATORS];
    char app[16];
    const double memory = memory_bytes();
    double begin = now_ns();
    for (int i = 0; i < n; i++) {
        snprintf(app, sizeof app, "g%d", i);
        all[i] = open_pid(app, &seconds, "local");
    }
    *open_us = (now_ns() - begin) / 1e3 / n;
    *bytes = (memory_bytes() - memory) / 1024 / n;
    const int turns = 1000000 / n;
    for (int i = 0; i < n; i++)
        KEEP(sfid_next(all[i]));
    begin = now_ns();
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < n; i++)
            KEEP(sfid_next(all[i]));
    *next_ns = (now_ns() - begin) / ((double)turns * n);
    for (int i = 0; i < n; i++)
        sfid_close(all[i]);
}

static void generators(void) {
    double open_us[ROUNDS_MAX], next_ns[ROUNDS_MAX], bytes[ROUNDS_MAX];
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        fail("the limit of descriptors");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        fail("the limit of descriptors");
    for (int n = 1; n <= GENERATORS; n *= 10) {
        for (int round = 0; round < settings.rounds; round++)
            generators_cost(n, &open_us[round], &next_ns[round], &bytes[round]);
        tell("generators", n, "sfid_next() of each in turn", "ns", next_ns);
        tell("generators", n, "an open", "us", open_us);
        tell("generators", n, "memory of each", "KiB", bytes);
    }
}

static void ids(void) {
    double costs[4][ROUNDS_MAX];
    for (int round = 0; round < settings.rounds; round++) {
        g = open_pid("ids", &seconds, NULL);
        const double begin = now_ns();
        uint64_t n = 0, until = 1000000;
        for (int k = 0; k < 4; k++, until *= 10) {
            for (; n < until; n++)
                KEEP(sfid_next(g));
            costs[k][round] = (now_ns() - begin) / (double)n;
        }
        sfid_close(g);
    }
    double n = 1e6;
    for (int k = 0; k < 4; k++, n *= 10)
        tell("IDs", n, "sfid_next()", "ns", costs[k]);
}

int main(int argc, char **argv) {
    settings.rounds = 5;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            settings.json = true;
        else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0)
            settings.rounds = atoi(argv[++i]);
        else
            settings.rounds = 0;
    if (settings.rounds < 1 || settings.rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: growth [--rounds N (1 to %d)] [--json]\n", ROUNDS_MAX);
        return 2;
    }
    crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crowd == MAP_FAILED || !make_directory())
        fail("shared memory");
    beside();
    threads();
    processes();
    generators();
    ids();
    return 0;
}
