/* SPDX-License-Identifier: MIT */
/*
 * Closing while threads draw: the pid goes to the next process at once, which goes on above all
 * that the threads got; late calls return SFID_ECLOSED. Ending while threads draw, with and without
 * a close: no crash. Opening and closing a thousand times leaves no descriptor, no thread and no
 * memory to speak of. The shared library loaded and unloaded 100 times.
 *
 * Sizes: three times 60 holders in turn (long: 1000; sanitizer: 20), 20 ends (long: 200; sanitizer:
 * 8), 1000 opens (sanitizer: 100).
 */
#include "support/proc.h"

#include <dlfcn.h>

#define LAYOUT "41:10:12/1ms"
#define TEN_MS_TICKS "39:10:14/10ms"
/* where a thread that is late by a moment still hits the current tick */
#define LONG_TICKS "30:2:31/1s"

enum { RIVALS = 3, THREADS = 16, LOG_ROOM = 100000, LATE_CALLS = 100 };
enum { CLOSE_MS = 3000, RACE_MS = 5 * TAP_WAIT_MS /* for all holders, one after the other */ };

static sfid_layout layout;

/* ---- closed in the middle ----------------------------------------------- */

struct race {
    const char *app;
    sfid_layout layout;
    int64_t pid;
    _Atomic uint64_t life;
    _Atomic int64_t highest; /* ID that any thread has noted */
    /* IDs not above what was noted before their call, or before their holder opened */
    _Atomic int64_t behind;
    _Atomic int64_t wrong, wrong_code, late_starts, latest_start;
    uint64_t lives;
    struct took longest_close[RIVALS]; /* of each process */
};

static unsigned number; /* of this process */

struct drawer {
    struct race *race;
    sfid *g;
    struct idlog log;
    pthread_t thread;
    unsigned number;
};

/* Some threads note each ID. Those that share a pid live at once, so only this, and no number of a
 * life, says what came before. */
static int64_t next_noted(struct drawer *d) {
    if (d->number % 8 != 2)
        return sfid_next(d->g);
    const int64_t before = atomic_load(&d->race->highest), id = sfid_next(d->g);
    atomic_fetch_add(&d->race->behind, id >= 0 && id <= before);
    raise_to(&d->race->highest, id);
    return id;
}

/* Draws until the close, then tries on: a closed handle stays closed, in every call. */
static void *draw_until_closed(void *arg) {
    struct drawer *d = arg;
    int64_t ids[64], n = 0;
    while (n >= 0 && !idlog_full(&d->log)) {
        if (d->number % 4 == 0) {
            n = sfid_next_n(d->g, ids, idlog_room(&d->log, COUNT_OF(ids)));
            for (int64_t i = 0; i < n; i++)
                idlog_put(&d->log, ids[i]);
        } else if ((n = d->number % 4 == 1 ? sfid_try_next(d->g) : next_noted(d)) >= 0) {
            idlog_put(&d->log, n);
        } else if (n == SFID_EAGAIN && d->number % 4 == 1) {
            n = 0;
            sched_yield();
        }
    }
    while (n >= 0 && sfid_pid(d->g) >= 0)
        nap_us(500); /* its log is full */
    if (n < 0 && n != SFID_ECLOSED) {
        atomic_fetch_add(&d->race->wrong, 1);
        atomic_store(&d->race->wrong_code, n);
    }
    for (int i = 0; i < LATE_CALLS; i++)
        if (sfid_next(d->g) != SFID_ECLOSED || sfid_try_next(d->g) != SFID_ECLOSED ||
            sfid_next_n(d->g, ids, 3) != SFID_ECLOSED || sfid_pid(d->g) != SFID_ECLOSED ||
            sfid_retry_ms(d->g) != SFID_ECLOSED)
            atomic_fetch_add(&d->race->wrong, 1);
    return NULL;
}

/* A holder starts in the current tick, or in the next where its predecessor has used that up. */
static void look_at_start(struct race *race, const sfid *g) {
    sfid_status_info status;
    must(sfid_status(g, &status) >= 0 && status.open, "status of a handle just opened");
    raise_to(&race->latest_start, status.ahead_ms);
    atomic_fetch_add(&race->late_starts, status.ahead_ms > race->layout.unit_ms);
}

/* floor: noted before the holder opened. */
static void note_ends(struct race *race, const struct idlog *log, int64_t floor) {
    if (log->count == 0)
        return;
    atomic_fetch_add(&race->behind, log->ids[0] <= floor);
    raise_to(&race->highest, log->ids[log->count - 1]);
}

static void hold_once(struct race *race, sfid *g, int64_t floor, uint64_t *rng) {
    struct drawer drawers[THREADS];
    const uint64_t life = atomic_fetch_add(&race->life, 1) + 1;
    look_at_start(race, g);
    for (unsigned i = 0; i < THREADS; i++) {
        drawers[i] = (struct drawer){.race = race, .g = g, .number = i};
        log_start(&drawers[i].log, LOG_ROOM, life, (uint64_t)race->pid, "life-%" PRIu64 "-%u", life,
                  i);
        start_thread(&drawers[i].thread, draw_until_closed, &drawers[i]);
    }
    nap_us((long)(draw_random(rng) % (race->layout.unit_ms > 1 ? 1500 : 6000)));
    const int64_t begin = tap_now_ms();
    sfid_close(g);
    race->longest_close[number] = took_longer(race->longest_close[number], took_since(begin));
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(drawers[i].thread, NULL);
        note_ends(race, &drawers[i].log, floor);
        idlog_close(&drawers[i].log);
    }
}

static int rival(void *arg) {
    struct race *race = arg;
    sfid_options opt = options_of(race->app, race->pid, &race->layout);
    uint64_t rng = (uint64_t)getpid();
    /* a thread that is late for the next tick waits for the one after */
    opt.max_wait_ms = TAP_WAIT_MS;
    witness_begin();
    while (atomic_load(&race->life) < race->lives) {
        sfid *g = NULL;
        const int64_t floor = atomic_load(&race->highest);
        const int rc = sfid_open(&g, &opt);
        if (rc == 0) {
            hold_once(race, g, floor, &rng);
            continue;
        }
        sfid_close(g);
        must(rc == SFID_EBUSY, "open: %s", sfid_strerror(rc));
        sched_yield();
    }
    return 0;
}

static void test_race(const char *app, const char *layout_text, int64_t pid) {
    struct race *race = shared_memory(sizeof *race);
    pid_t children[RIVALS];
    int bad = 0;
    race->app = app;
    race->layout = layout_of(layout_text);
    race->pid = pid;
    race->lives = sized(60, 1000, 20);
    const int64_t begin = mono_ns();
    struct took longest = {0, 0};
    for (number = 0; number < RIVALS; number++)
        children[number] = child_start(rival, race);
    for (int i = 0; i < RIVALS; i++) {
        bad += child_wait(children[i], RACE_MS) != 0;
        longest = took_longer(longest, race->longest_close[i]);
    }
    diag("figure: %s: %" PRIu64 " holders in %.1f s, longest close %" PRId64 " ms", app, race->life,
         (double)(mono_ns() - begin) / 1e9, longest.ms);
    is_i64(bad, 0, "%s: closed while 16 threads draw, again and again: all processes end well",
           app);
    is_i64(race->late_starts, 0,
           "%s: each holder starts in the current tick or the next (%" PRIi64 " ms ahead at most)",
           app, race->latest_start);
    if (!is_i64(race->wrong, 0, "%s: threads get IDs until the close, and SFID_ECLOSED ever after",
                app))
        diag("one got %" PRIi64, race->wrong_code);
    in_time(longest, CLOSE_MS, "%s: close returns within a few seconds", app);
    is_i64(race->behind, 0, "%s: each ID is above those noted before it was asked for", app);
    judge(layout_text, "pid", UINT64_MAX, app);
    munmap(race, sizeof *race);
}

/* ---- the end of a process ----------------------------------------------- */

__attribute__((noreturn)) static void *draw_until_end(void *arg) {
    struct drawer *d = arg;
    while (!idlog_full(&d->log)) {
        const int64_t id = sfid_next(d->g);
        if (id < 0)
            break;
        idlog_put(&d->log, id);
    }
    for (;;)
        (void)!sfid_next(d->g);
}

static int end_in_the_middle(void *arg) {
    const uint64_t life = *(uint64_t *)arg;
    static struct drawer drawers[THREADS]; /* threads outlive this function */
    const sfid_options opt = options_of("end", 78, &layout);
    uint64_t rng = life;
    sfid *g = open_or_die(&opt);
    for (unsigned i = 0; i < THREADS; i++) {
        drawers[i] = (struct drawer){.g = g, .number = i};
        log_start(&drawers[i].log, LOG_ROOM, life, 78, "end-%" PRIu64 "-%u", life, i);
        start_thread(&drawers[i].thread, draw_until_end, &drawers[i]);
    }
    nap_us((long)(draw_random(&rng) % 5000));
    if (life % 2)
        sfid_close(g);
    exit(0); /* as main() returning does, with all threads running */
}

static void test_end(void) {
    int bad = 0;
    const uint64_t ends = sized(20, 200, 8);
    for (uint64_t life = 1; life <= ends; life++) {
        const int status = child_run(end_in_the_middle, &life, TAP_WAIT_MS);
        if (status != 0)
            diag("life %" PRIu64 ": status %d", life, status);
        bad += status != 0;
    }
    is_i64(bad, 0, "a process ends while 16 threads draw: no crash, no hang");
    judge(LAYOUT, "pid", UINT64_MAX, "ended while 16 threads draw");
}

/* ---- a thousand times --------------------------------------------------- */

static void open_and_close(uint64_t times) {
    sfid_options opt = options_of("often", 79, &layout);
    opt.open_timeout_ms = TAP_WAIT_MS; /* a disk may be slow */
    int64_t last = 0;
    unsigned wrong = 0;
    for (uint64_t i = 0; i < times; i++) {
        sfid *g = open_or_die(&opt);
        const int64_t id = sfid_next(g);
        wrong += id <= last;
        last = id;
        sfid_close(g);
        wrong += sfid_next(g) != SFID_ECLOSED;
    }
    is_u64(wrong, 0, "opened, drawn from and closed, %" PRIu64 " times: increasing", times);
}

static void test_often(void) {
    open_and_close(20);
    const int fds = count_fds();
    int threads = count_threads();
    const long size = memory_kb("VmSize:"), resident = memory_kb("VmRSS:");
    open_and_close(sized(1000, 1000, 100));
    is_i64(count_fds(), fds, "no descriptor is left");
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "no thread is left");
    diag("figure: memory grew by %ld kB, resident by %ld kB", memory_kb("VmSize:") - size,
         memory_kb("VmRSS:") - resident);
    if (SANITIZED) {
        skip(2, "a sanitizer needs memory of its own");
        return;
    }
    ok(memory_kb("VmSize:") - size < 100000, "memory: less than 100 kB for each time");
    ok(memory_kb("VmRSS:") - resident < 4000, "resident memory: less than 4 kB for each time");
}

/* ---- loaded and unloaded ------------------------------------------------ */

struct library {
    void *handle;
    int (*open)(sfid **, const sfid_options *);
    int64_t (*next)(sfid *);
    void (*close)(sfid *);
};

/* What dlsym() returns is a function in truth: POSIX says so, ISO C does not. */
static void find(void *handle, const char *name, void *function) {
    void *at = dlsym(handle, name);
    must(at, "%s: %s", name, dlerror());
    memcpy(function, &at, sizeof at);
}

static bool load(struct library *lib) {
    const char *path = getenv("SFID_LIB");
    lib->handle = dlopen(path ? path : "./.libs/libsfid.so", RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle)
        return false;
    find(lib->handle, "sfid_open", &lib->open);
    find(lib->handle, "sfid_next", &lib->next);
    find(lib->handle, "sfid_close", &lib->close);
    return true;
}

static void *next_in_thread(void *arg) {
    const struct library *lib = ((void **)arg)[0];
    sfid *g = ((void **)arg)[1];
    for (int i = 0; i < 10000; i++)
        if (lib->next(g) < 0)
            return arg;
    return NULL;
}

static int load_and_unload(void *arg) {
    (void)arg;
    const sfid_options opt = options_of("plugin", 80, &layout);
    struct library lib;
    int64_t last = 0;
    for (int i = 0; i < 100; i++) {
        sfid *g = NULL;
        if (!load(&lib) || lib.open(&g, &opt) != 0)
            return 1;
        const int64_t id = lib.next(g);
        if (id <= last)
            return 2;
        last = id;
        lib.close(g);
        if (dlclose(lib.handle) != 0)
            return 3;
    }
    /* Unloaded under a thread that draws and the library's own: both go on. */
    sfid *g = NULL;
    pthread_t thread;
    void *failed = NULL;
    if (!load(&lib) || lib.open(&g, &opt) != 0)
        return 4;
    void *both[] = {&lib, g};
    start_thread(&thread, next_in_thread, both);
    dlclose(lib.handle);
    pthread_join(thread, &failed);
    if (failed || lib.next(g) <= last)
        return 5;
    lib.close(g);
    return 0;
}

static void test_library(void) {
    struct library lib;
    if (!load(&lib)) {
        diag("%s", dlerror());
        skip(1, "no shared library is built");
        return;
    }
    dlclose(lib.handle);
    is_i64(child_run(load_and_unload, NULL, TAP_WAIT_MS), 0,
           "loaded, used and unloaded 100 times, then unloaded under threads");
}

int main(void) {
    dirs_make();
    witness_begin();
    witness_system();
    layout = layout_of(LAYOUT);
    test_race("saturated", LAYOUT, 77);
    test_race("ten-ms-ticks", TEN_MS_TICKS, 76);
    test_race("long-ticks", LONG_TICKS, 1);
    test_end();
    test_often();
    test_library();
    return done_testing();
}
