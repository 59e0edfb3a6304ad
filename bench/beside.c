/* SPDX-License-Identifier: MIT */
/*
 * beside - two builds of the library in one run: what a change gains or costs, beside floors.
 *
 *     beside OLD.so NEW.so [ROUNDS [TEXT]]
 *
 * Each of ROUNDS (61) measures the floor, the old build and the new one of each row in turn, in
 * processor time of this thread, which stays on one processor: so what disturbs one disturbs all.
 * Only rows whose name contains TEXT. The machine's other work shows in the highest figures, and
 * hardly in the least.
 */
#include "counter.h"
#include "floor.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUILDS = 2, BURST = 2048, MOST = 999, DRAWS = 300000, BURSTS = 10 };

static const sfid_layout seconds = SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS),
                         millis = SFID_LAYOUT(41, 2, 20, 1, SFID_EPOCH_MS);

struct build {
    __typeof__(sfid_open) *open;
    __typeof__(sfid_next) *next;
    __typeof__(sfid_next_n) *next_n;
    __typeof__(sfid_lane_open) *lane_open;
    __typeof__(sfid_lane_next) *lane_next;
    __typeof__(sfid_next_wide) *next_wide;
    __typeof__(sfid_next_n_wide) *next_n_wide;
    __typeof__(sfid_wide_layout_parse) *wide_parse;
    sfid *s, *ms, *shared_s, *shared_ms, *flake;
    sfid_lane *lane;
};

static _Alignas(64) _Atomic uint64_t word;
static _Alignas(64) uint64_t own;
static bool by_counter;
static _Alignas(64) int64_t ids[64];
static _Alignas(64) sfid_wide wide[256];

static double thread_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void await_millisecond(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_REALTIME, &begin);
    do
        clock_gettime(CLOCK_REALTIME, &now);
    while (now.tv_nsec / 1000000 == begin.tv_nsec / 1000000);
}

/* for cheapest_clock(), where the kernel does not keep time by the counter */
double now_ns(void) { return thread_ns(); }

/* ---- the directory ------------------------------------------------------------------------ */

static char directory[64] = "/dev/shm/sfid-beside-XXXXXX";

static void remove_directory(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    if (system(command) != 0)
        fprintf(stderr, "beside: %s is left\n", directory);
}

static void make_directory_or_die(void) {
    if (mkdtemp(directory) == NULL || atexit(remove_directory) != 0) {
        fputs("beside: no directory on /dev/shm\n", stderr);
        exit(1);
    }
}

/* ---- what is measured: NULL is the floor ---------------------------------------------- */

#define LOOP(name, floor, subject) \
    static double name(const struct build *b) { \
        uint64_t sum = 0; \
        const double begin = thread_ns(); \
        if (b == NULL) \
            for (long i = 0; i < DRAWS; i++) \
                sum += (uint64_t)(floor); \
        else \
            for (long i = 0; i < DRAWS; i++) \
                sum += (uint64_t)(subject); \
        KEEP(sum); \
        return (thread_ns() - begin) / DRAWS; \
    }

static __attribute__((noinline)) int64_t counter_next(_Atomic uint64_t *w) {
    return (int64_t)(cheapest_clock(by_counter) +
                     atomic_fetch_add_explicit(w, 1, memory_order_relaxed));
}

LOOP(next_s, floor_next(&word), b->next(b->s))
LOOP(next_ms, counter_next(&word), b->next(b->ms))
LOOP(share_s, floor_next(&word), b->next(b->shared_s))
LOOP(share_ms, counter_next(&word), b->next(b->shared_ms))
LOOP(lane_s, floor_own(&own), b->lane_next(b->lane))

static void store_16(int64_t first) {
    for (int64_t i = 0; i < 16; i++)
        ids[i] = first + i;
    KEEP(&ids[0]);
}

static double next_16(const struct build *b) {
    const double begin = thread_ns();
    for (long i = 0; i < DRAWS; i++)
        if (b == NULL)
            store_16((int64_t)atomic_fetch_add_explicit(&word, 16, memory_order_relaxed) +
                     time(NULL));
        else if (b->next_n(b->s, ids, 16) != 16)
            abort();
    return (thread_ns() - begin) / DRAWS / 16;
}

/* A call, in milliseconds that have just begun: a plain loop would use them up. one: by the call
 * for a single ID. */
static double wide_calls(const struct build *b, size_t size, bool one) {
    double took = 0;
    long calls = 0;
    for (int k = 0; k < BURSTS; k++) {
        await_millisecond();
        if (b && b->next_wide(b->flake, wide) < 0)
            abort();
        const double begin = thread_ns();
        for (size_t i = 0; i < BURST; i += size, calls++) {
            if (b == NULL) {
                const uint64_t high = cheapest_clock(by_counter),
                               low = atomic_fetch_add_explicit(&word, size, memory_order_relaxed);
                for (size_t n = 0; n < size; n++)
                    wide[n] = (sfid_wide){high, low + n};
            } else if (one ? b->next_wide(b->flake, wide) < 0
                           : b->next_n_wide(b->flake, wide, size) != (int64_t)size) {
                abort();
            }
            KEEP(&wide[0]);
        }
        took += thread_ns() - begin;
    }
    return took / (double)calls;
}

static double wide_one(const struct build *b) { return wide_calls(b, 1, true); }
static double wide_1(const struct build *b) { return wide_calls(b, 1, false); }
static double wide_2(const struct build *b) { return wide_calls(b, 2, false); }
static double wide_16(const struct build *b) { return wide_calls(b, 16, false); }
static double wide_256(const struct build *b) { return wide_calls(b, 256, false) / 256; }

static const struct line {
    const char *name, *floor;
    double (*measure)(const struct build *b);
} lines[] = {{"sfid_next, 1 s", "time() + fetch_add", next_s},
             {"sfid_next, 1 ms", COUNTER " + fetch_add", next_ms},
             {"share, 1 s", "time() + fetch_add", share_s},
             {"share, 1 ms", COUNTER " + fetch_add", share_ms},
             {"a lane, 1 s", "time() + private add", lane_s},
             {"sfid_next_n of 16, an ID", "time() + fetch_add + storing", next_16},
             {"sfid_next_wide", COUNTER " + fetch_add + storing", wide_one},
             {"sfid_next_n_wide of 1, a call", COUNTER " + fetch_add + storing", wide_1},
             {"sfid_next_n_wide of 2, a call", COUNTER " + fetch_add + storing", wide_2},
             {"sfid_next_n_wide of 16, a call", COUNTER " + fetch_add + storing", wide_16},
             {"sfid_next_n_wide of 256, an ID", COUNTER " + fetch_add + storing", wide_256}};

enum { LINES = sizeof lines / sizeof lines[0] };

/* ---- builds ------------------------------------------------------------------------------- */

/* to: a pointer to a function. */
static void find(void *lib, const char *name, void *to) {
    void *at = dlsym(lib, name);
    if (at == NULL) {
        fprintf(stderr, "beside: %s\n", dlerror());
        exit(1);
    }
    memcpy(to, &at, sizeof at);
}

static sfid *open_one(const struct build *b, sfid_options opt, const char *app, const char *store) {
    sfid *g = NULL;
    opt.app = app;
    opt.store = store;
    opt.pid = store ? -1 : opt.wide ? 0x525400 : 1;
    opt.run_dir = opt.state_dir = directory;
    if (b->open(&g, &opt) < 0) {
        fprintf(stderr, "beside: a generator of %s cannot be opened\n", app ? app : "wide IDs");
        exit(1);
    }
    return g;
}

/* Each build has apps of its own. */
static void load(struct build *b, const char *path, const char *which) {
    char app[4][40];
    sfid_wide_layout l;
    sfid_options in_s = SFID_OPTIONS_INIT, in_ms = SFID_OPTIONS_INIT, of_flakes = SFID_OPTIONS_INIT;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        fprintf(stderr, "beside: %s\n", dlerror());
        exit(1);
    }
    find(lib, "sfid_open", &b->open);
    find(lib, "sfid_next", &b->next);
    find(lib, "sfid_next_n", &b->next_n);
    find(lib, "sfid_lane_open", &b->lane_open);
    find(lib, "sfid_lane_next", &b->lane_next);
    find(lib, "sfid_next_wide", &b->next_wide);
    find(lib, "sfid_next_n_wide", &b->next_n_wide);
    find(lib, "sfid_wide_layout_parse", &b->wide_parse);
    for (int i = 0; i < 4; i++)
        snprintf(app[i], sizeof app[i], "beside-%s-%d", which, i);
    in_s.layout = &seconds;
    in_ms.layout = &millis;
    of_flakes.wide = &l;
    b->s = open_one(b, in_s, app[0], "local");
    b->ms = open_one(b, in_ms, app[1], "local");
    b->shared_s = open_one(b, in_s, app[2], "local?share=1");
    b->shared_ms = open_one(b, in_ms, app[3], "local?share=1");
    if (b->wide_parse("flake", &l) < 0 || b->lane_open(&b->lane, b->s) < 0)
        exit(1);
    b->flake = open_one(b, of_flakes, NULL, NULL);
}

static void stay_on_one_processor(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* ---- figures -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_three(double *ns, int n) {
    qsort(ns, (size_t)n, sizeof *ns, by_size);
    printf("   %8.3f %8.3f %8.3f", ns[0], ns[n / 2], ns[n - 1]);
}

int main(int argc, char **argv) {
    static struct build builds[BUILDS];
    static double took[LINES][1 + BUILDS][MOST];
    const int rounds = argc > 3 ? atoi(argv[3]) : 61;
    const char *only = argc > 4 ? argv[4] : "";
    if (argc < 3 || argc > 5 || rounds < 1 || rounds > MOST) {
        fprintf(stderr, "usage: beside OLD.so NEW.so [ROUNDS (1 to %d) [TEXT]]\n", MOST);
        return 2;
    }
    by_counter = time_by_counter();
    make_directory_or_die();
    load(&builds[0], argv[1], "old");
    load(&builds[1], argv[2], "new");
    stay_on_one_processor();
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < LINES; i++)
            for (int b = 0; b <= BUILDS && strstr(lines[i].name, only); b++)
                took[i][b][k] = lines[i].measure(b == 0 ? NULL : &builds[b - 1]);
    printf("nanoseconds of %d rounds: least, median, most\n%-30s   %-26s   %-26s   %-26s   floor\n",
           rounds, "", "floor", "old", "new");
    for (int i = 0; i < LINES; i++) {
        if (strstr(lines[i].name, only) == NULL)
            continue;
        printf("%-30s", lines[i].name);
        for (int b = 0; b <= BUILDS; b++)
            print_three(took[i][b], rounds);
        printf("   %s\n", lines[i].floor);
    }
    return 0; /* no build is closed: the directory goes with the process */
}
