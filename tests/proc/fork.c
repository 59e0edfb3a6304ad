/* SPDX-License-Identifier: MIT */
/*
 * Forked children draw from their parent's sequence: no duplicate, each process's IDs increase, and
 * a call that starts after another has returned gets a higher ID, whichever processes made them.
 * The family goes on when the parent is gone, keeps the pid, and the last one out gives it back.
 *
 * Sizes: a parent and 8 children, a million IDs each (also the short size; 20,000 with a
 * sanitizer), children go on for 3 s (long: 70 s, past the end of the window the parent left),
 * three times: the parent exits, closes and exits, is killed. 200 forks in a storm (sanitizer: 40);
 * 200 forks while threads open and close (sanitizer: 40, and these children open no generator of
 * their own: a sanitizer's allocator and thread list stay locked for ever in a child forked at the
 * wrong moment).
 */
#include "support/proc.h"

#include <link.h>
#include <sched.h>
#include <sys/syscall.h>

#define LAYOUT "41:2:20/1ms"

enum { CHILDREN = 8, BURST = 50, STORM_IDS = 500 };
enum { FIRST_MS = 5000 /* the rest of a mark would be waited for up to 30 s */ };
enum ending { PARENT_EXITS, PARENT_CLOSES, PARENT_KILLED };

static sfid_layout layout;

/* What a family shares beside the generator. */
struct family {
    _Atomic int64_t highest; /* of all IDs that calls have returned so far, in any process */
    _Atomic int64_t disorders, errors, first_error;
    atomic_int born;  /* children */
    atomic_int drawn; /* members that have their first share */
    atomic_int parent_gone, done;
    uint64_t each;
    int64_t after_ms;
    enum ending ending;
};

static void draw(struct family *f, sfid *g, struct idlog *log) {
    const int64_t before = atomic_load_explicit(&f->highest, memory_order_acquire);
    const int64_t id = sfid_next(g);
    if (id < 0) {
        int64_t none = 0;
        atomic_fetch_add(&f->errors, 1);
        atomic_compare_exchange_strong(&f->first_error, &none, id);
        return;
    }
    if (id <= before)
        atomic_fetch_add(&f->disorders, 1);
    idlog_put(log, id);
    raise_to(&f->highest, id);
}

/* ---- the parent goes first ---------------------------------------------- */

__attribute__((noreturn)) static void child_life(struct family *f, sfid *g, int number) {
    struct idlog log;
    log_start(&log, f->each + (uint64_t)f->after_ms * BURST, 1, 2, "child-%d", number);
    for (uint64_t i = 0; i < f->each; i++)
        draw(f, g, &log);
    atomic_fetch_add(&f->drawn, 1);
    must(flag_wait(&f->parent_gone, 1, TAP_WAIT_MS), "the parent stays");
    for (const int64_t end = mono_ns() + f->after_ms * NS_PER_MS;
         mono_ns() < end || !atomic_load(&f->done); nap_us(2000))
        for (int i = 0; i < BURST && !idlog_full(&log); i++)
            draw(f, g, &log);
    sfid_close(g);
    const int64_t late = sfid_next(g);
    _exit(late == SFID_ECLOSED ? 0 : 1);
}

static int parent_life(void *arg) {
    struct family *f = arg;
    const sfid_options opt = options_of("family", 2, &layout);
    struct idlog log;
    sfid *g = open_or_die(&opt);
    log_start(&log, f->each, 1, 2, "parent");
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t child = fork();
        must(child >= 0, "fork: %s", strerror(errno));
        if (child == 0)
            child_life(f, g, i);
        atomic_fetch_add(&f->born, 1);
    }
    for (uint64_t i = 0; i < f->each; i++)
        draw(f, g, &log);
    if (f->ending == PARENT_CLOSES)
        sfid_close(g);
    atomic_fetch_add(&f->drawn, 1);
    while (f->ending == PARENT_KILLED)
        pause();
    return 0;
}

/* Reaps the orphans, which are the test's own by now. Returns how many did not end well. */
static int reap(int n, int64_t after_ms) {
    int bad = 0;
    for (struct patience p = {0}; n > 0;) {
        int status = 0;
        const pid_t child = waitpid(-1, &status, WNOHANG);
        if (child > 0) {
            bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
            n--;
        } else if (child < 0 || !patient(&p, TAP_WAIT_MS + after_ms)) {
            return bad + n;
        } else {
            nap_us(2000);
        }
    }
    return bad;
}

/* After the family's last close the pid is free at once, and its IDs go on. */
static void open_next(const char *what) {
    const sfid_options opt = options_of("family", 2, &layout);
    struct idlog log;
    sfid *g = NULL;
    log_start(&log, 1000, 2, 2, "next-life");
    is_i64(sfid_open(&g, &opt), 0, "%s: after the last close the pid is free at once", what);
    const int64_t begin = tap_now_ms();
    idlog_put(&log, next_within(g, TAP_WAIT_MS));
    in_time(took_since(begin), FIRST_MS, "%s: the next holder has its first ID at once", what);
    while (!idlog_full(&log))
        idlog_put(&log, sfid_next(g));
    sfid_close(g);
}

static void test_family(enum ending ending, const char *what) {
    const sfid_options opt = options_of("family", 2, &layout);
    struct family *f = shared_memory(sizeof *f);
    f->each = sized(1000000, 1000000, 20000);
    f->after_ms = (int64_t)sized(3000, 70000, 3000);
    f->ending = ending;
    const int64_t begin = mono_ns();
    const pid_t parent = child_start(parent_life, f);
    if (ending == PARENT_KILLED) {
        flag_wait(&f->born, CHILDREN, TAP_WAIT_MS);
        flag_wait(&f->drawn, 1, TAP_WAIT_MS);
        child_kill(parent);
    } else {
        is_i64(child_wait(parent, TAP_WAIT_MS), 0, "%s: the parent ends well", what);
    }
    is_i64(try_open(&opt), SFID_EBUSY, "%s: the pid is still the family's", what);
    atomic_store(&f->parent_gone, 1);
    ok(flag_wait(&f->drawn, ending == PARENT_KILLED ? CHILDREN : CHILDREN + 1, TAP_WAIT_MS),
       "%s: all draw their share", what);
    is_i64(try_open(&opt), SFID_EBUSY, "%s: the children keep the pid without their parent", what);
    atomic_store(&f->done, 1);
    is_i64(reap(CHILDREN, f->after_ms), 0, "%s: all children end well, closed last", what);
    diag("figure: %s: %.2f s in all", what, (double)(mono_ns() - begin) / 1e9);
    is_i64(f->first_error, 0, "%s: no call fails", what);
    is_i64(f->disorders, 0, "%s: a call that starts after another has returned gets a higher ID",
           what);
    open_next(what);
    judge(LAYOUT, "pid", UINT64_MAX, what);
    munmap(f, sizeof *f);
}

/* ---- children that no handler hears of ---------------------------------- */

static pid_t raw_clone(void) {
    return (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0);
}

static void test_raw(pid_t (*make)(void), const char *what) {
    struct family *f = shared_memory(sizeof *f);
    struct idlog ours, theirs;
    const sfid_options opt = options_of("raw", 1, &layout);
    const uint64_t each = sized(200000, 1000000, 10000);
    sfid *g = open_or_die(&opt);
    log_start(&ours, each, 1, 1, "parent");
    log_start(&theirs, each, 1, 1, "child");
    const pid_t child = make();
    struct idlog *log = child == 0 ? &theirs : &ours;
    for (uint64_t i = 0; child >= 0 && i < each; i++)
        draw(f, g, log);
    if (child == 0)
        syscall(SYS_exit_group, 0);
    ok(child > 0 && child_wait(child, TAP_WAIT_MS) == 0, "%s: parent and child draw", what);
    sfid_close(g);
    is_i64(f->first_error, 0, "%s: no call fails", what);
    is_i64(f->disorders, 0, "%s: a call that starts after another has returned gets a higher ID",
           what);
    judge(LAYOUT, "per-file", 2 * each, what);
    munmap(f, sizeof *f);
}

/* ---- storms ------------------------------------------------------------- */

struct storm {
    struct family *f;
    sfid *g;
    struct idlog log;
    int number;
    unsigned opened, busy, other;
};

static void *draw_until_done(void *arg) {
    struct storm *s = arg;
    while (!atomic_load(&s->f->done) && !idlog_full(&s->log)) {
        draw(s->f, s->g, &s->log);
        if (s->log.count % 100 == 0)
            nap_us(1000);
    }
    return NULL;
}

static int storm_child(void *arg) {
    struct storm *s = arg;
    struct idlog log;
    log_start(&log, STORM_IDS, 1, 3, "storm-%d", s->number);
    for (int i = 0; i < STORM_IDS; i++)
        draw(s->f, s->g, &log);
    /* A sanitizer's allocator may be locked since the fork, by a thread that is not here: free()
     * would wait for it. */
    if (SANITIZED && s->number % 4 != 1)
        _exit(0);
    switch (s->number % 4) {
    case 0:
        sfid_close(s->g);
        break;
    case 1:
        raise(SIGKILL);
        break;
    case 2:
        exit(0); /* runs the handlers of the library, if it has any */
    }
    return 0;
}

static void test_storm(void) {
    struct family *f = shared_memory(sizeof *f);
    const sfid_options opt = options_of("storm", 3, &layout);
    struct storm threads[2] = {{.f = f}, {.f = f}}, child = {.f = f};
    pthread_t ids[2];
    const int forks = (int)sized(200, 1000, 40);
    int bad = 0;
    child.g = open_or_die(&opt);
    for (int i = 0; i < 2; i++) {
        threads[i].g = child.g;
        log_start(&threads[i].log, 10000000, 1, 3, "thread-%d", i);
        start_thread(&ids[i], draw_until_done, &threads[i]);
    }
    for (int i = 0; i < forks; i += 4) {
        pid_t pids[4];
        for (int k = 0; k < 4; k++) {
            child.number = i + k;
            pids[k] = child_start(storm_child, &child);
        }
        for (int k = 0; k < 4; k++)
            bad += child_wait(pids[k], TAP_WAIT_MS) != ((i + k) % 4 == 1 ? KILLED + SIGKILL : 0);
    }
    atomic_store(&f->done, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    is_i64(bad, 0, "storm: each child ends as it should");
    ok(sfid_next(child.g) >= 0, "storm: the parent goes on when children have closed");
    sfid_close(child.g);
    is_i64(try_open(&opt), 0, "storm: with all children gone, close gives the pid back");
    is_i64(f->first_error, 0, "storm: no call fails");
    is_i64(f->disorders, 0,
           "storm: a call that starts after another has returned gets a higher ID");
    judge(LAYOUT, "per-file", UINT64_MAX, "storm");
    munmap(f, sizeof *f);
}

/* Opens, draws and closes. A child forked meanwhile may still hold the pid: that is SFID_EBUSY, and
 * no other error is. */
static void *open_and_close(void *arg) {
    struct storm *s = arg;
    const sfid_options opt = options_of("doors", s->number % 4, &layout);
    while (!atomic_load(&s->f->done)) {
        sfid *g = NULL;
        const int rc = sfid_open(&g, &opt);
        s->opened += rc == 0;
        s->busy += rc == SFID_EBUSY;
        s->other += (rc != 0 && rc != SFID_EBUSY) || (rc == 0 && sfid_try_next(g) == SFID_ECLOSED);
        sfid_close(g);
    }
    return NULL;
}

static int door_child(void *arg) {
    struct storm *s = arg;
    const sfid_options opt = options_of("door-child", s->number % 4, &layout);
    struct idlog log;
    log_start(&log, 100, 1, 3, "door-%d", s->number);
    for (int i = 0; i < 100; i++)
        draw(s->f, s->g, &log);
    if (SANITIZED)
        return 0;
    sfid *own = NULL;
    const int rc = sfid_open(&own, &opt);
    const int64_t id = rc == 0 ? next_within(own, TAP_WAIT_MS) : 0;
    sfid_close(own);
    return rc == 0 && id > 0 ? 0 : 1;
}

static void test_doors(void) {
    struct family *f = shared_memory(sizeof *f);
    const sfid_options opt = options_of("house", 3, &layout);
    struct storm threads[3] = {{.f = f, .number = 0}, {.f = f, .number = 1}, {.f = f, .number = 2}},
                 child = {.f = f};
    pthread_t ids[3];
    const int forks = (int)sized(200, 1000, 40);
    int bad = 0, hung = 0;
    child.g = open_or_die(&opt);
    for (int i = 0; i < 3; i++)
        start_thread(&ids[i], open_and_close, &threads[i]);
    for (child.number = 0; child.number < forks && !hung; child.number++) {
        const int status = child_run(door_child, &child, TAP_WAIT_MS);
        hung += status == TIMED_OUT;
        bad += status != 0;
    }
    atomic_store(&f->done, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(ids[i], NULL);
        diag(
            "figure: doors: a thread opened and closed %u times, found the pid with a child %u times",
            threads[i].opened, threads[i].busy);
        ok(threads[i].opened > 0 && threads[i].other == 0,
           "doors: open and close meet no error but SFID_EBUSY");
    }
    sfid_close(child.g);
    is_i64(hung, 0, "doors: no child hangs that was forked while threads open and close");
    is_i64(bad, 0, "doors: each child draws from its parent's generator and from one of its own");
    judge(LAYOUT, "per-file", UINT64_MAX, "doors");
    munmap(f, sizeof *f);
}

/* With the lock of the dynamic loader, which no child gets back: the C library does not make it
 * anew, as it does malloc()'s. */
static int fork_inside(struct dl_phdr_info *module, size_t size, void *arg) {
    (void)module, (void)size;
    is_i64(child_run(door_child, arg, TAP_WAIT_MS), 0,
           "loader: a child draws from its parent's generator and from one of its own");
    return 1;
}

/* As a fork amid another thread's exception or dlopen(), or amid the start of one of the library's
 * threads. */
static void test_loader(void) {
    const sfid_options opt = options_of("house", 3, &layout);
    struct storm child = {.g = open_or_die(&opt), .f = shared_memory(sizeof *child.f)};
    if (SANITIZED)
        skip(1, "a sanitizer's allocator does not survive a fork amid threads");
    else
        dl_iterate_phdr(fork_inside, &child);
    sfid_close(child.g);
    munmap(child.f, sizeof *child.f);
}

int main(void) {
    dirs_make();
    witness_begin();
    layout = layout_of(LAYOUT);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int fds = count_fds();
    int threads = count_threads();
    test_family(PARENT_EXITS, "parent exits");
    test_family(PARENT_CLOSES, "parent closes");
    test_family(PARENT_KILLED, "parent killed");
    test_raw(raw_clone, "raw clone");
    test_raw(_Fork, "_Fork");
    test_storm();
    test_doors();
    test_loader();
    is_i64(count_fds(), fds, "no descriptor is left");
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "no thread is left");
    return done_testing();
}
