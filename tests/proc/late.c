/* SPDX-License-Identifier: MIT */
/*
 * Threads, lanes and callbacks that come late: over more opens and closes of the app than a page
 * has records for, a call that was under way at the first close and a lane with numbers left both
 * find that handle closed. What closed handles leave behind is bounded. A close inside on_event
 * does nothing, also before sfid_open() has returned.
 *
 * Sizes: 5,600 opens, more than a page has room for (long: 20,600; sanitizer: 2,100); memory is
 * measured over all but the first 600, and over 20,000 of a fixed pid without an app (sanitizer:
 * nothing is measured).
 */
#include "support/proc.h"

#include <dlfcn.h>
#include <semaphore.h>

enum { SETTLED = 600, BARE_OPENS = 20000, FORKS = 50 };

#define BYTES_EACH 500     /* 20,000 opens and closes: 10 MB */
#define BYTES_ONCE 1500000 /* what an open reads of its page, given back to the heap */

/* ---- a thread that is preempted in the middle of a call ----------------------- */

static _Thread_local bool stalls;
static sem_t stalled, go_on;

/* The library's hint of the tick: it has the record already, and has not touched it. */
time_t time(time_t *t) {
    struct timespec ts;
    if (stalls) {
        stalls = false;
        sem_post(&stalled);
        while (sem_wait(&go_on) < 0)
            ;
    }
    clock_gettime(CLOCK_REALTIME_COARSE, &ts);
    if (t)
        *t = ts.tv_sec;
    return ts.tv_sec;
}

static void *draw_late(void *g) {
    static int64_t id;
    stalls = true;
    id = sfid_next(g);
    return &id;
}

static int count_maps(void) {
    FILE *f = fopen("/proc/self/maps", "re");
    int n = 0;
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

struct usage {
    long size, rss;
    int maps;
};

static struct usage usage(void) {
    return (struct usage){memory_kb("VmSize:") * 1024, memory_kb("VmRSS:") * 1024, count_maps()};
}

static void judge_usage(struct usage before, unsigned opens, const char *what) {
    const struct usage now = usage();
    const long most = BYTES_EACH * (long)opens + (opens < BARE_OPENS ? BYTES_ONCE : 0);
    if (SANITIZED) {
        skip(3, "a sanitizer needs memory of its own");
        return;
    }
    diag(
        "figure: %s: %u opens and closes: %+ld bytes of address space, %+ld of memory, %+d mappings",
        what, opens, now.size - before.size, now.rss - before.rss, now.maps - before.maps);
    ok(now.size - before.size < most, "%s: address space is bounded", what);
    ok(now.rss - before.rss < most, "%s: and memory", what);
    ok(now.maps - before.maps < 20, "%s: and mappings", what);
}

static void cycle(const sfid_options *opt, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        sfid *g = open_or_die(opt);
        must(sfid_next(g) >= 0, "no ID");
        sfid_close(g);
    }
}

static void test_late(void) {
    sfid_options opt = options_of("late", -1, NULL);
    pthread_t thread;
    sfid_lane *lane;
    void *id;
    opt.store = "local?mark=none";
    opt.pid_min = opt.pid_max = 3;
    sfid *g = open_or_die(&opt);
    ok(sfid_next(g) >= 0 && sfid_lane_open(&lane, g) == 0 && sfid_lane_next(lane) >= 0,
       "a generator, and a lane");
    start_thread(&thread, draw_late, g);
    while (sem_wait(&stalled) < 0)
        ;
    sfid_close(g);
    cycle(&opt, SETTLED);
    const struct usage before = usage();
    const unsigned opens = (unsigned)sized(5000, 20000, 1500);
    cycle(&opt, opens);
    judge_usage(before, opens, "an app");
    sfid *now = open_or_die(&opt);
    sem_post(&go_on);
    pthread_join(thread, &id);
    is_i64(*(int64_t *)id, SFID_ECLOSED,
           "a call that was under way at the first close finds that handle closed");
    is_i64(sfid_lane_next(lane), SFID_ECLOSED, "and so does the lane");
    sfid_lane_close(lane);
    sfid_status_info st;
    ok(sfid_next(now) >= 0 && sfid_status(now, &st) == 0 && st.issued == 1,
       "neither touches the generator that is open now");
    sfid_close(now);
}

static void test_bare(void) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.pid = 3;
    cycle(&opt, 10);
    const struct usage before = usage();
    cycle(&opt, BARE_OPENS);
    judge_usage(before, BARE_OPENS, "a fixed pid without an app");
}

/* Many at once, each closed: a page of each is left. */
static void test_many(void) {
    enum { MANY = 200 };
    const struct usage before = usage();
    char app[20];
    for (int i = 0; i < MANY; i++) {
        snprintf(app, sizeof app, "many-%d", i);
        sfid_options opt = options_of(app, -1, NULL);
        opt.store = "local?mark=none";
        cycle(&opt, 1);
    }
    if (SANITIZED)
        skip(1, "a sanitizer needs memory of its own");
    else
        ok(usage().size - before.size < MANY * 20000L,
           "of each of %d closed generators a page is left: %ld bytes", MANY,
           usage().size - before.size);
}

/* ---- forked children ---------------------------------------------------------- */

/* The parent closes first, the child is killed: its record is found open. */
static void test_killed_children(void) {
    sfid_options opt = options_of("killed", -1, NULL);
    pthread_t thread;
    void *id;
    unsigned wrong = 0;
    int64_t last = -1;
    opt.store = "local?mark=none";
    opt.pid_min = opt.pid_max = 3;
    const int maps = count_maps();
    for (int i = 0; i < FORKS; i++) {
        sfid *g = open_or_die(&opt);
        const int64_t first = sfid_next(g);
        wrong += first <= last;
        last = first;
        start_thread(&thread, draw_late, g);
        while (sem_wait(&stalled) < 0)
            ;
        const pid_t child = fork();
        if (child == 0)
            for (;;)
                pause();
        sfid_close(g);
        child_kill(child);
        sfid *now = open_or_die(&opt);
        sem_post(&go_on);
        pthread_join(thread, &id);
        wrong += *(int64_t *)id != SFID_ECLOSED;
        const int64_t next = sfid_next(now);
        wrong += next != last + 1 && (next <= last || (next & 0x1ffff) != 0);
        last = next;
        sfid_close(now);
    }
    is_u64(
        wrong, 0,
        "children killed after the parent closed: late calls find it closed, the next goes on at the very number");
    if (SANITIZED)
        skip(1, "a sanitizer needs memory of its own");
    else
        ok(count_maps() < maps + 20, "and mappings do not pile up");
}

/* ---- inside on_event ------------------------------------------------------------ */

static sfid *handle;
static _Atomic int events;
static _Atomic bool slow_start;

/* The C library's, which its caller comes back from late. */
#if !SANITIZED
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                   void *(*fn)(void *), void *restrict arg) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    const int rc = real(thread, attr, fn, arg);
    if (atomic_load(&slow_start))
        flag_wait(&events, 1, TAP_WAIT_MS);
    return rc;
}
#endif

static void close_inside(void *user, const sfid_event *event) {
    (void)user;
    (void)event;
    sfid_close(handle);
    atomic_store(&events, 1);
}

static void test_close_inside(const char *app, int64_t pid) {
    sfid_options opt = options_of(app, pid, NULL);
    opt.on_event = close_inside;
    atomic_store(&events, 0);
    atomic_store(&slow_start, true);
    const int rc = sfid_open(&handle, &opt);
    atomic_store(&slow_start, false);
    ok(rc == 0 && flag_wait(&events, 1, TAP_WAIT_MS), "%s: closed inside the first event",
       app ? app : "no app");
    ok(sfid_next(handle) >= 0, "which does nothing");
    sfid_close(handle);
    is_i64(sfid_next(handle), SFID_ECLOSED, "outside it closes");
}

int main(void) {
    dirs_make();
    sem_init(&stalled, 0, 0);
    sem_init(&go_on, 0, 0);
    test_close_inside("inside", 5);
    test_close_inside(NULL, 5);
    test_bare();
    test_many();
    test_killed_children();
    test_late();
    return done_testing();
}
