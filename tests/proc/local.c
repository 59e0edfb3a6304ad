/* SPDX-License-Identifier: MIT */
/*
 * The "local" store: whoever opens gets the lowest pid that nobody on this host holds. Processes,
 * handles and threads get different ones; a pid comes back when its holder closes, ends or is
 * killed, and its IDs go on above. A range is kept to; who finds it taken is told by whom. Fixed
 * pids beside leased ones: proc/busy.
 *
 * One size, but for as many processes as pids that start together: 60 times (long: 1000; sanitizer:
 * 10).
 */
#include "support/local.h"

#define LAYOUT "41:4:12/1ms"

enum { ALL = 16, PROCESSES = 8, THREADS = 8, TIMES = 100, STARTERS = 8, TRIES = 5 };
enum {
    LOOK_MS = 256 /* a process that opens has locks for a moment: others look again for so long */,
    TAKEN_MS = 2000
};

static sfid_layout layout;

/* ---- one pid each ------------------------------------------------------- */

static void replace(struct holder **h, unsigned i, const sfid_options *opt, bool killing) {
    const int64_t last = h[i]->last, status = holder_end(h[i], killing);
    is_i64(status, 0, "the holder of pid %u %s", i, killing ? "is killed" : "ends");
    const int64_t highest = killing ? last : h[i]->last;
    munmap(h[i], sizeof *h[i]);
    h[i] = holder_start(opt, false);
    is_i64(h[i]->pid, (int64_t)i, "the next process gets the lowest pid that is free: %u", i);
    ok(h[i]->first > highest, "pid %u: its IDs go on above", i);
}

static void test_processes(void) {
    const sfid_options opt = local_options("each", "local", &layout);
    struct holder *h[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        h[i] = holder_start(&opt, i % 2 == 0);
        is_i64(h[i]->pid, (int64_t)i, "process %u gets pid %u", i, i);
        ok(id_pid(&layout, h[i]->first) == (int64_t)i, "and its IDs carry it");
    }
    replace(h, 3, &opt, true);
    replace(h, 4, &opt, false);
    replace(h, 5, &opt, false);
    is_i64(holder_end(h[6], true), 0, "two processes are killed");
    is_i64(holder_end(h[2], true), 0, "and then");
    is_i64(pid_of_open(&opt), 2, "the lower pid is taken first");
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (i != 2 && i != 6)
            holder_end(h[i], false);
        munmap(h[i], sizeof *h[i]);
    }
    is_i64(count_locked(dirs.shm, ""), 0, "no lock is left");
}

/* ---- a range, all of it taken ------------------------------------------- */

static bool names_number(const char *text, int n) {
    const size_t len = strlen(text);
    char number[20];
    snprintf(number, sizeof number, "%d", n);
    for (const char *at = text; (at = strstr(at, number)) != NULL; at++) {
        const char after = at + strlen(number) < text + len ? at[strlen(number)] : '\0';
        if ((at == text || at[-1] < '0' || at[-1] > '9') && (after < '0' || after > '9'))
            return true;
    }
    return false;
}

static void test_range(void) {
    sfid_options opt = local_options("range", "local", &layout);
    struct holder *h[3];
    sfid *g = NULL;
    opt.pid_min = 11;
    opt.pid_max = 13;
    opt.open_timeout_ms = TAP_WAIT_MS; /* a look that is late names nobody */
    for (int i = 0; i < 3; i++) {
        h[i] = holder_start(&opt, true);
        is_i64(h[i]->pid, 11 + i, "a range is filled from its lowest pid");
    }
    const int64_t begin = tap_now_ms();
    is_i64(sfid_open(&g, &opt), SFID_ENOPID, "all of it is taken: SFID_ENOPID");
    in_time(took_since(begin), TAKEN_MS, "it is told long before open_timeout_ms is over");
    const char *text = sfid_last_error(g);
    ok(names_number(text, 3) && strstr(text, "range"),
       "the text tells how many pids of what app: %s", text);
    for (int i = 0; i < 3; i++)
        ok(names_number(sfid_last_error(g), h[i]->child), "it names process %d of 3 that hold them",
           i + 1);
    sfid_close(g);
    opt.pid_min = 12;
    is_i64(pid_of_open(&opt), SFID_ENOPID, "a part of it is taken, too");
    opt.pid_min = 11;
    opt.pid_max = 14;
    is_i64(pid_of_open(&opt), 14, "one more pid: that is given");
    holder_end(h[1], false);
    is_i64(pid_of_open(&opt), 12, "one that was given back is given again");
    opt.pid_min = opt.pid_max = 9;
    is_i64(pid_of_open(&opt), 9, "a range of one pid");
    for (int i = 0; i < 3; i++) {
        if (i != 1)
            holder_end(h[i], false);
        munmap(h[i], sizeof *h[i]);
    }
}

/* One process holds each pid of the layout. */
static void test_all(void) {
    const sfid_options opt = local_options("all", "local", &layout);
    sfid *g[ALL], *more = NULL;
    char once[40];
    uint64_t seen = 0;
    for (int i = 0; i < ALL; i++) {
        g[i] = open_or_die(&opt);
        seen |= UINT64_C(1) << sfid_pid(g[i]);
    }
    is_u64(seen, (UINT64_C(1) << ALL) - 1,
           "handles of one process get all pids of the layout, one each");
    is_i64(sfid_open(&more, &opt), SFID_ENOPID, "one more: SFID_ENOPID");
    ok(names_number(sfid_last_error(more), ALL), "it tells how many there are: %s",
       sfid_last_error(more));
    snprintf(once, sizeof once, " (%d); ", (int)getpid());
    ok(strstr(sfid_last_error(more), once), "and names this process, once");
    sfid_close(more);
    sfid_close(g[11]);
    is_i64(pid_of_open(&opt), 11, "one is closed: it is given again");
    for (int i = 0; i < ALL; i++)
        if (i != 11)
            sfid_close(g[i]);
}

/* ---- in one process ----------------------------------------------------- */

static void test_two_handles(void) {
    const sfid_options opt = local_options("handles", "local", &layout);
    struct idlog log[2];
    sfid *g[2] = {open_or_die(&opt), open_or_die(&opt)};
    is_i64(sfid_pid(g[0]), 0, "the first handle has pid 0");
    is_i64(sfid_pid(g[1]), 1, "the second handle of the same process has pid 1");
    for (unsigned k = 0; k < 2; k++)
        log_start(&log[k], 20000, 1, k, "handle-%u", k);
    for (int i = 0; i < 10000; i++)
        for (int k = 0; k < 2; k++)
            idlog_put(&log[k], sfid_next(g[k]));
    sfid_close(g[0]);
    for (int i = 0; i < 10000; i++)
        idlog_put(&log[1], sfid_next(g[1]));
    is_i64(sfid_next(g[0]), SFID_ECLOSED, "the one that is closed stays closed");
    sfid_close(g[1]);
    judge(LAYOUT, "pid", 30000, "two handles");
}

struct opener {
    const sfid_options *opt;
    pthread_barrier_t *all;
    sfid *g;
    pthread_t thread;
};

static void *open_in_thread(void *arg) {
    struct opener *o = arg;
    pthread_barrier_wait(o->all);
    o->g = open_or_die(o->opt);
    return NULL;
}

static void test_threads(void) {
    const sfid_options opt = local_options("threads", "local", &layout);
    struct opener all[THREADS];
    pthread_barrier_t barrier;
    uint64_t seen = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        all[i] = (struct opener){.opt = &opt, .all = &barrier};
        start_thread(&all[i].thread, open_in_thread, &all[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i].thread, NULL);
        seen |= UINT64_C(1) << sfid_pid(all[i].g);
    }
    for (int i = 0; i < THREADS; i++)
        sfid_close(all[i].g);
    ok(__builtin_popcountll(seen) == THREADS, "%d threads that open at once get as many pids",
       THREADS);
    pthread_barrier_destroy(&barrier);
}

/* ---- given back --------------------------------------------------------- */

static void test_given_back(void) {
    sfid_options opt = local_options("back", "local", &layout);
    int64_t last = 0;
    unsigned wrong = 0, gaps = 0;
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 20000;
    sfid *g = open_or_die(&opt);
    sfid_status_info st;
    do { /* well ahead of the clock: what comes next is told by the position alone */
        int64_t some[4096];
        const int64_t n = sfid_next_n(g, some, COUNT_OF(some));
        last = n > 0 ? some[n - 1] : 0;
    } while (last > 0 && sfid_status(g, &st) == 0 && st.ahead_ms < 8000);
    ok(last > 0, "IDs are drawn 8 s ahead of the clock");
    sfid_close(g);
    for (int i = 0; i < TIMES; i++) {
        g = open_or_die(&opt);
        const int64_t id = sfid_try_next(g);
        wrong += sfid_pid(g) != 0 || id <= last;
        gaps += id != last + 1 && id_tick(&layout, id) == id_tick(&layout, last);
        last = id;
        sfid_close(g);
    }
    is_u64(wrong, 0, "closed and opened %d times: the same pid at once, IDs increase", TIMES);
    is_u64(gaps, 0, "the position is exact: no number is left out");
    struct holder *h = holder_start(&opt, true);
    ok(h->pid == 0 && id_pid(&layout, h->first) == 0 && h->first > last,
       "the next process has the same pid and goes on above");
    holder_end(h, false);
    g = open_or_die(&opt);
    ok(sfid_pid(g) == 0 && sfid_try_next(g) > h->last, "and the one after it");
    sfid_close(g);
    munmap(h, sizeof *h);
}

/* Returns when pid 0's mark has passed: its holder was killed, and its page is lost. */
static uint64_t lose_page_of_0(const sfid_options *opt, int64_t *last) {
    char run[200];
    struct holder *h = holder_start(opt, false);
    must(h->pid == 0, "pid 0 is not to be had");
    *last = h->last;
    holder_end(h, true);
    munmap(h, sizeof *h);
    snprintf(run, sizeof run, "%s/passed", dirs.run);
    remove_tree(run);
    return mark_tick("passed", 0, &layout);
}

/* The mark of a pid lies ahead, and its page is lost: others go by, and it comes back when the mark
 * has passed. */
static void test_passed_over(void) {
    sfid_options opt = local_options("passed", "local?lead_ms=3000", &layout);
    struct holder *h = NULL;
    uint64_t until = 0;
    int64_t last = 0;
    bool early = false;
    opt.max_ahead_ms = 0;
    /* again if the mark passed before the next one had an ID */
    for (int i = 0; i < TRIES && !early; i++) {
        if (h)
            holder_end(h, false);
        tick_passes(&layout, until, TAP_WAIT_MS);
        until = lose_page_of_0(&opt, &last);
        h = holder_start(&opt, true);
        early = tick_now(&layout) < until;
    }
    ok(early && h->first > 0,
       "a process is killed, its page lost, its mark lies ahead: the next has an ID before that");
    is_i64(h->pid, 1, "it passes pid 0 over");
    ok(tick_passes(&layout, until, TAP_WAIT_MS), "the clock reaches the mark");
    struct holder *next = holder_start(&opt, true);
    is_i64(next->pid, 0, "pid 0 is given again when its mark has passed");
    ok(next->first > last, "its IDs go on above");
    holder_end(h, false);
    holder_end(next, false);
    munmap(h, sizeof *h);
    munmap(next, sizeof *next);
}

static int open_and_die(void *arg) {
    const sfid_options *opt = arg;
    (void)!open_or_die(opt);
    return 0;
}

/* Draws a second ahead, up to the middle of a tick. Returns the last ID, or -1. */
static int64_t draw_ahead(sfid_options opt) {
    int64_t ids[1000], last = 0; /* so many at once that the clock is outrun */
    opt.max_ahead_ms = 1500;
    sfid *g = open_or_die(&opt);
    while (last >= 0 && (id_tick(&layout, last) < tick_now(&layout) + 1000 ||
                         ((uint64_t)last & layout.max_seq) < 2000))
        last = sfid_next_n(g, ids, COUNT_OF(ids)) == COUNT_OF(ids) ? ids[COUNT_OF(ids) - 1] : -1;
    sfid_close(g);
    return last;
}

/* A process whose window would end before the position it found, and that dies with its page, takes
 * nothing of that back. */
static void test_never_back(void) {
    sfid_options opt = local_options("never-back", "local?lead_ms=100", &layout);
    char run[200];
    int64_t last = 0, id = 0;
    bool early = false;
    opt.exhaustion = SFID_BORROW;
    opt.pid_min = opt.pid_max = 1;
    opt.max_ahead_ms = 0;
    snprintf(run, sizeof run, "%s/never-back", dirs.run);
    /* again if the clock was there first */
    for (int i = 0; i < TRIES && !early && id >= last && last >= 0; i++) {
        last = draw_ahead(opt);
        is_i64(child_run(open_and_die, &opt, TAP_WAIT_MS), 0,
               "the next one has a window that ends before that, and dies at once");
        remove_tree(run);
        sfid *g = open_or_die(&opt);
        early = tick_now(&layout) < id_tick(&layout, last);
        id = next_within(g, TAP_WAIT_MS);
        sfid_close(g);
    }
    ok(last > 0 && early, "a process draws a second ahead, up to the middle of a tick");
    ok(id > last, "its page is lost, too: the third goes on above the first");
    diag("the first ended at tick %" PRIu64 " with %" PRIu64 ", the third begins at tick %" PRIu64
         " with %" PRIu64,
         id_tick(&layout, last), (uint64_t)last & layout.max_seq, id_tick(&layout, id),
         (uint64_t)id & layout.max_seq);
}

/* ---- as many processes as pids ------------------------------------------ */

struct start {
    atomic_int ready, go, opened, may_die;
    _Atomic int64_t refused, other;
};

static int open_at_once(void *arg) {
    struct start *s = arg;
    sfid_options opt = local_options("start", "local?lead_ms=1000", &layout);
    sfid *g = NULL;
    opt.pid_min = 1;
    opt.pid_max = STARTERS;
    opt.open_timeout_ms = TAP_WAIT_MS;
    atomic_fetch_add(&s->ready, 1);
    while (!atomic_load(&s->go))
        ;
    const int rc = sfid_open(&g, &opt);
    if (rc != 0)
        atomic_fetch_add(rc == SFID_ENOPID ? &s->refused : &s->other, 1);
    atomic_fetch_add(&s->opened, 1);
    return flag_wait(&s->may_die, 1, TAP_WAIT_MS) ? 0 : DIED;
}

/* They start together, die and lose their pages, again and again: the others never hold more than
 * all pids but one. */
static void test_starts(void) {
    char run[200];
    int bad = 0;
    int64_t refused = 0, excused = 0, other = 0;
    const uint64_t rounds = sized(60, 1000, 10);
    snprintf(run, sizeof run, "%s/start", dirs.run);
    for (uint64_t round = 0; round < rounds; round++) {
        struct start *s = shared_memory(sizeof *s);
        pid_t children[STARTERS];
        for (int i = 0; i < STARTERS; i++)
            children[i] = child_start(open_at_once, s);
        bad += !flag_wait(&s->ready, STARTERS, TAP_WAIT_MS);
        const int64_t begin = tap_now_ms();
        atomic_store(&s->go, 1);
        bad += !flag_wait(&s->opened, STARTERS, TAP_WAIT_MS);
        const bool stood = took_since(begin).stood_ms > LOOK_MS / 2;
        atomic_store(&s->may_die, 1);
        for (int i = 0; i < STARTERS; i++)
            bad += child_wait(children[i], TAP_WAIT_MS) != 0;
        *(stood ? &excused : &refused) += s->refused;
        other += s->other;
        munmap(s, sizeof *s);
        remove_tree(run);
    }
    is_i64(bad, 0, "as many processes as pids start together, %" PRIu64 " times: all end well",
           rounds);
    is_i64(refused, 0, "none is told that all pids are taken");
    if (excused)
        diag("not judged: %" PRIi64 " are told so while the machine stood still", excused);
    is_i64(other, 0, "nor anything else");
}

/* ---- forked children ---------------------------------------------------- */

struct child {
    sfid *g;
    atomic_int pid, may_end;
    bool good;
};

/* Has its parent's generator, and opens one of its own. */
static int forked(void *arg) {
    struct child *c = arg;
    const sfid_options opt = local_options("forked", "local", &layout);
    sfid *own = open_or_die(&opt);
    c->good =
        sfid_pid(c->g) == 0 && sfid_pid(own) == 1 && sfid_next(c->g) > 0 && sfid_next(own) > 0;
    sfid_close(own);
    atomic_store(&c->pid, 1);
    if (!flag_wait(&c->may_end, 1, TAP_WAIT_MS))
        return DIED;
    return sfid_next(c->g) > 0 ? 0 : 1;
}

static void test_forked(void) {
    const sfid_options opt = local_options("forked", "local", &layout);
    struct child *c = shared_memory(sizeof *c);
    c->g = open_or_die(&opt);
    let_threads_start();
    const pid_t child = child_start(forked, c);
    ok(flag_wait(&c->pid, 1, TAP_WAIT_MS) && c->good,
       "a forked child shares its parent's pid, and leases one of its own");
    sfid_close(c->g);
    is_i64(pid_of_open(&opt), 1, "closed in the parent, the pid is the child's still");
    atomic_store(&c->may_end, 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "the child draws on and ends");
    is_i64(pid_of_open(&opt), 0, "then the pid is free");
    munmap(c, sizeof *c);
}

static int open_by_name(void *arg) {
    (void)arg;
    sfid *g = NULL;
    setenv("SFID_RUN_DIR", dirs.run, 1);
    setenv("SFID_STATE_DIR", dirs.state, 1);
    must(sfid_open_app(&g, "by-name", "local") == 0, "%s", sfid_last_error(g));
    const int64_t id = sfid_next(g);
    const bool good = id > 0 && id_pid(&SFID_LAYOUT_DEFAULT, id) == 0 && sfid_pid(g) == 0;
    sfid_close(g);
    return good ? 0 : 1;
}

/* ---- a small stack ---------------------------------------------------------- */

static void *live_there(void *opt) {
    sfid *g = open_or_die(opt);
    const bool good = sfid_next(g) > 0;
    sfid_close(g);
    return good ? opt : NULL;
}

static int live_on_a_small_stack(void *opt) {
    pthread_attr_t attr;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, 32 * 1024) != 0 ||
        pthread_create(&thread, &attr, live_there, opt) != 0)
        return 2;
    pthread_join(thread, &result);
    return result == NULL;
}

static void test_small_stack(void) {
    sfid_options opt = local_options("small", "local", &layout);
    if (SANITIZED || sysconf(_SC_THREAD_STACK_MIN) > 32 * 1024)
        skip(1, "no stack of 32 KiB here");
    else
        is_i64(child_run(live_on_a_small_stack, &opt, TAP_WAIT_MS), 0,
               "a stack of 32 KiB is enough for a life");
}

int main(void) {
    dirs_make();
    witness_begin();
    layout = layout_of(LAYOUT);
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm); /* where locks are counted */
    const int fds = count_fds();
    int threads = count_threads();
    test_processes();
    test_range();
    test_all();
    test_two_handles();
    test_threads();
    test_given_back();
    test_passed_over();
    test_never_back();
    test_starts();
    test_forked();
    test_small_stack();
    is_i64(child_run(open_by_name, NULL, TAP_WAIT_MS), 0,
           "sfid_open_app leases with default options");
    is_i64(count_fds(), fds, "no descriptor is left");
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "no thread is left");
    is_i64(count_locked(dirs.shm, ""), 0, "no lock is left");
    return done_testing();
}
