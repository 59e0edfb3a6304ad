/* SPDX-License-Identifier: MIT */
/*
 * One pid, one holder: others get SFID_EBUSY, whoever they are; holders that follow one another go
 * on increasing, with the run directory lost in between too; another layout of the app is refused
 * and changes nothing. Fixed pids and those that the "local" store leases keep out of each other's
 * way.
 *
 * One size, but for the race: 2 s (long: 20 s). A process killed with its run directory lost is
 * waited for with default options, in the background: the durable mark lies up to 30 s and
 * max_ahead beyond what was issued. One that closed leaves nothing to wait for.
 */
#include "support/local.h"

#define LEASED "41:4:12/1ms"

enum { RACERS = 4, AT_ONCE_MS = 10000 /* the mark would be waited for three times as long */ };

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;

/* ---- two at once -------------------------------------------------------- */

static int holder(void *arg) {
    atomic_int *flags = arg; /* [0] it holds, [1] it may end */
    const sfid_options opt = options_of("two", 9, layout);
    sfid *g = open_or_die(&opt);
    const int64_t id = sfid_next(g);
    atomic_store(&flags[0], 1);
    const bool good = id >= 0 && flag_wait(&flags[1], 1, TAP_WAIT_MS);
    sfid_close(g);
    return good ? 0 : 1;
}

static int refused(void *arg) {
    sfid *g = NULL;
    const int fds = count_fds();
    const int rc = sfid_open(&g, arg);
    const bool told = strstr(sfid_last_error(g), "9") != NULL;
    const bool dead = sfid_next(g) == SFID_ECLOSED && sfid_try_next(g) == SFID_ECLOSED &&
                      sfid_pid(g) == SFID_ECLOSED;
    sfid_close(g);
    return rc == SFID_EBUSY && told && dead && count_fds() == fds ? 0 : 1;
}

static void test_two(void) {
    atomic_int *flags = shared_memory(2 * sizeof *flags);
    sfid_options opt = options_of("two", 9, layout);
    const pid_t child = child_start(holder, flags);
    ok(flag_wait(&flags[0], 1, TAP_WAIT_MS), "a process holds the pid");
    is_i64(child_run(refused, &opt, TAP_WAIT_MS), 0,
           "another is refused: SFID_EBUSY, told which pid, nothing left open");
    for (int i = 0; i < 100; i++)
        if (try_open(&opt) != SFID_EBUSY)
            ok(false, "refused again, attempt %d", i);
    opt.pid = 10;
    is_i64(try_open(&opt), 0, "another pid of the app is free");
    opt.pid = 9;
    opt.app = "two-too";
    is_i64(try_open(&opt), 0, "the pid of another app is free");
    atomic_store(&flags[1], 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "the holder closes");
    opt.app = "two";
    sfid *first = NULL, *second = NULL;
    is_i64(sfid_open(&first, &opt), 0, "the pid is free then");
    is_i64(sfid_open(&second, &opt), SFID_EBUSY, "a second handle in the same process is refused");
    ok(strlen(sfid_last_error(second)) > 10, "it says why");
    ok(sfid_next(first) >= 0, "the first is not disturbed");
    sfid_close(second);
    ok(sfid_next(first) >= 0, "nor when the second is closed");
    is_i64(child_run(refused, &opt, TAP_WAIT_MS), 0, "nor is it free for others then");
    sfid_close(first);
    is_i64(try_open(&opt), 0, "closed, it is free again");
}

/* ---- a race ------------------------------------------------------------- */

struct race {
    _Atomic int64_t highest;
    atomic_int held, both, wrong, opened, busy, errors;
    int number;
};

static int racer(void *arg) {
    struct race *r = arg;
    sfid_options opt = options_of("race", 2047, layout);
    struct idlog log;
    const int64_t end = mono_ns() + (int64_t)sized(2000, 20000, 2000) * NS_PER_MS;
    struct patience p = {0};
    opt.max_wait_ms = TAP_WAIT_MS; /* they may use up a tick */
    log_start(&log, 10000000, 1, 2047, "racer-%d", (int)getpid());
    while (mono_ns() < end || (atomic_load(&r->opened) <= RACERS && patient(&p, TAP_WAIT_MS))) {
        sfid *g = NULL;
        const int rc = sfid_open(&g, &opt);
        if (rc == 0) {
            atomic_fetch_add(&r->opened, 1);
            if (atomic_fetch_add(&r->held, 1) != 0)
                atomic_fetch_add(&r->both, 1);
            for (int i = 0; i < 20; i++) {
                const int64_t before = atomic_load(&r->highest), id = sfid_next(g);
                if (id <= before)
                    atomic_fetch_add(&r->wrong, 1);
                idlog_put(&log, id);
                raise_to(&r->highest, id);
            }
            atomic_fetch_sub(&r->held, 1);
        } else {
            atomic_fetch_add(rc == SFID_EBUSY ? &r->busy : &r->errors, 1);
        }
        sfid_close(g);
    }
    return 0;
}

static void test_race(void) {
    struct race *r = shared_memory(sizeof *r);
    pid_t children[RACERS];
    int bad = 0;
    for (int i = 0; i < RACERS; i++)
        children[i] = child_start(racer, r);
    for (int i = 0; i < RACERS; i++)
        bad += child_wait(children[i], TAP_WAIT_MS) != 0;
    diag("figure: race: %d opens, %d refused", r->opened, r->busy);
    is_i64(bad, 0, "race: all end well");
    ok(r->opened > RACERS, "race: the pid goes from hand to hand");
    is_i64(r->both, 0, "race: never two holders");
    is_i64(r->errors, 0, "race: no error but SFID_EBUSY");
    is_i64(r->wrong, 0, "race: each holder's IDs are above those of the one before, at once");
    judge("36:11:17/1s", "per-file", UINT64_MAX, "race");
}

/* ---- the run directory is lost ------------------------------------------ */

struct lost {
    const char *app;
    bool closing;
    int64_t highest;
};

static int draw_some(void *arg) {
    struct lost *l = arg;
    sfid_options opt = options_of(l->app, 5, layout);
    char run_dir[120];
    snprintf(run_dir, sizeof run_dir, "%s/run-of-%s", dirs.shm, l->app);
    opt.run_dir = run_dir;
    opt.max_wait_ms = 1000;
    sfid *g = open_or_die(&opt);
    for (int i = 0; i < 1000; i++) {
        const int64_t id = next_within(g, TAP_WAIT_MS);
        must(id > l->highest, "%s: got %" PRId64 ", issued before %" PRId64, l->app, id,
             l->highest);
        l->highest = id;
    }
    if (l->closing)
        sfid_close(g);
    return 0;
}

static void lose_run_dir(const struct lost *l) {
    char run_dir[120];
    snprintf(run_dir, sizeof run_dir, "%s/run-of-%s", dirs.shm, l->app);
    remove_tree(run_dir);
}

static struct lost *after_crash;
static int64_t after_crash_begin;

/* As after a reboot: nothing but the mark is left. */
static pid_t begin_lost_after_crash(void) {
    after_crash = shared_memory(sizeof *after_crash);
    after_crash->app = "crashed";
    is_i64(child_run(draw_some, after_crash, TAP_WAIT_MS), 0,
           "a process draws and ends without close");
    lose_run_dir(after_crash);
    after_crash_begin = mono_ns();
    return child_start(draw_some, after_crash);
}

static void end_lost_after_crash(pid_t child) {
    is_i64(child_wait(child, 2 * TAP_WAIT_MS), 0,
           "its run directory lost, the next one goes on above");
    diag("figure: crash and run directory lost: 1000 IDs within %.1f s",
         (double)(mono_ns() - after_crash_begin) / 1e9);
}

static void test_lost_after_close(void) {
    struct lost *l = shared_memory(sizeof *l);
    l->app = "closed";
    l->closing = true;
    for (int i = 0; i < 10; i++) {
        const int64_t begin = tap_now_ms();
        is_i64(child_run(draw_some, l, 2 * TAP_WAIT_MS), 0,
               "closed each time, with the run directory lost each time: above");
        in_time(took_since(begin), AT_ONCE_MS, "and at once");
        lose_run_dir(l);
    }
}

/* ---- another layout ----------------------------------------------------- */

static uint64_t sum; /* of all an app's files: names, sizes, contents */

static int add_to_sum(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    char buffer[8192];
    (void)walk;
    const int fd = kind == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 ? read(fd, buffer, sizeof buffer) : 0;
    for (const char *c = path; *c; c++)
        sum = (sum ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    for (ssize_t i = 0; i < n; i++)
        sum = (sum ^ (unsigned char)buffer[i]) * UINT64_C(0x100000001b3);
    sum = (sum ^ (uint64_t)st->st_size ^ st->st_ino) * UINT64_C(0x100000001b3);
    if (fd >= 0)
        close(fd);
    return 0;
}

static uint64_t sum_of_files(const char *app) {
    char path[4300];
    sum = UINT64_C(0xcbf29ce484222325);
    snprintf(path, sizeof path, "%s/%s", dirs.run, app);
    nftw(path, add_to_sum, 16, FTW_PHYS);
    snprintf(path, sizeof path, "%s/%s", dirs.state, app);
    nftw(path, add_to_sum, 16, FTW_PHYS);
    return sum;
}

static int draw_one(void *arg) {
    int64_t *highest = arg;
    const sfid_options opt = options_of("layouts", 5, layout);
    sfid *g = open_or_die(&opt);
    const int64_t id = next_within(g, TAP_WAIT_MS), before = *highest;
    *highest = id;
    sfid_close(g);
    return id > before ? 0 : 1;
}

static int other_layout(void *arg) {
    const sfid_layout other = layout_of(arg);
    const sfid_options opt = options_of("layouts", 5, &other);
    sfid *g = NULL;
    const int rc = sfid_open(&g, &opt);
    const bool told = strlen(sfid_last_error(g)) > 10;
    sfid_close(g);
    return rc == SFID_ELAYOUT && told ? 0 : 1;
}

static void test_layouts(void) {
    static const char *const others[] = {"36:10:18/1s", "36:11:17/2s", "36:11:17/1s@1766361600001",
                                         "41:10:12/1ms"};
    int64_t *highest = shared_memory(sizeof *highest);
    is_i64(child_run(draw_one, highest, TAP_WAIT_MS), 0, "an app has its layout");
    const uint64_t before = sum_of_files("layouts");
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        is_i64(child_run(other_layout, (void *)(uintptr_t)others[i], TAP_WAIT_MS), 0,
               "%s is refused: SFID_ELAYOUT, with a reason", others[i]);
        ok(sum_of_files("layouts") == before, "%s: nothing changed", others[i]);
    }
    is_i64(child_run(draw_one, highest, TAP_WAIT_MS), 0, "its own layout goes on above");
    const sfid_options opt = options_of("layouts", 5, layout);
    sfid *g = open_or_die(&opt);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const sfid_layout other = layout_of(others[i]);
        const sfid_options elsewhere = options_of("layouts", 6, &other);
        is_i64(try_open(&elsewhere), SFID_ELAYOUT,
               "%s: refused for another pid as well, while in use", others[i]);
        ok(sfid_next(g) > *highest, "%s: the holder is not disturbed", others[i]);
    }
    sfid_close(g);
}

/* ---- beside leased pids ------------------------------------------------- */

static void test_leased(void) {
    const sfid_layout own = layout_of(LEASED);
    const sfid_options leased = local_options("fixed", "local", &own);
    const sfid_options zero = options_of("fixed", 0, &own), one = options_of("fixed", 1, &own);
    struct holder *fixed = holder_start(&zero, true), *local = holder_start(&leased, true);
    is_i64(fixed->rc, 0, "pid 0 is fixed by one process");
    is_i64(local->pid, 1, "the store passes it over");
    is_i64(try_open(&one), SFID_EBUSY, "pid 1 is leased: as a fixed one it is SFID_EBUSY");
    holder_end(fixed, false);
    is_i64(pid_of_open(&leased), 0, "the fixed pid is given back: the store leases it");
    const sfid_options two = options_of("fixed", 2, &own);
    is_i64(try_open(&two), 0, "a pid that nobody leases can be fixed");
    holder_end(local, false);
    is_i64(try_open(&one), 0, "the leased pid is given back: it can be fixed");
    munmap(fixed, sizeof *fixed);
    munmap(local, sizeof *local);
}

static void test_leased_layouts(void) {
    const sfid_layout own = layout_of(LEASED);
    static const char *const others[] = {"41:5:12/1ms", "41:4:11/1ms", "41:4:12/2ms",
                                         "41:4:12/1ms@1766361600001"};
    const sfid_options opt = local_options("leased", "local", &own);
    struct holder *h = holder_start(&opt, true);
    char names[4300];
    snprintf(names, sizeof names, "%s/leased", dirs.state);
    const int files = count_entries(names), fds = count_fds();
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const sfid_layout other = layout_of(others[i]);
        const sfid_options wrong = local_options("leased", "local", &other);
        sfid *g = NULL;
        is_i64(sfid_open(&g, &wrong), SFID_ELAYOUT, "another layout of the app, %s: SFID_ELAYOUT",
               others[i]);
        ok(strstr(sfid_last_error(g), others[i]) || strstr(sfid_last_error(g), "layout"),
           "it is said: %s", sfid_last_error(g));
        sfid_close(g);
    }
    is_i64(count_entries(names), files, "nothing was written");
    is_i64(holder_end(h, false), 0, "the holder goes on undisturbed");
    ok(h->last > h->first, "its IDs increase");
    const sfid_layout other = layout_of(others[0]);
    const sfid_options wrong = local_options("leased", "local", &other);
    is_i64(try_open(&wrong), SFID_ELAYOUT, "nor when nobody holds a pid");
    is_i64(count_fds(), fds, "no descriptor is left");
    munmap(h, sizeof *h);
}

int main(void) {
    dirs_make();
    witness_begin();
    witness_system();
    const pid_t child = begin_lost_after_crash();
    test_two();
    test_race();
    test_lost_after_close();
    test_layouts();
    test_leased();
    test_leased_layouts();
    end_lost_after_crash(child);
    return done_testing();
}
