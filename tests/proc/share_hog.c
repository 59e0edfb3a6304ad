/* SPDX-License-Identifier: MIT */
/*
 * Processes that use up the ticks of a page that others share. A polite one, which wants an ID each
 * 2 ms, finds no tick used up once it has moved on to the next page, and its IDs go on increasing.
 * Four hogs use more pages than one where pids allow it, and have one page's rate where there is
 * only one. Threads and lanes of a process that moves on while they generate: each ID is above all
 * that the process had before it was asked for. A child forked before goes on, and moves on by
 * itself. Hogs that borrow have IDs all the time: the next page has those of the ticks that they
 * have reached.
 *
 * Prints the table: rates and p99 with 1, 2 and 4 pages.
 *
 * Sizes: 3 s a row at least, 30 processes with threads that move on (long: 20 s, 300; sanitizer: 2
 * s, 5).
 */
#include "support/local.h"

#include <sfid/lane.h>

/* 164 numbers a millisecond: few enough for a hog in a slow process */
#define LAYOUT "34:12:14/100ms"
#define STORE "local?share=1"

enum { HOGS = 4, LOG_ROOM = 1 << 23, MOST_WAITS = 1 << 16, TICK_MS = 100, PAUSE_US = 2000 };

static sfid_layout layout;
static uint32_t borrowed_ms; /* 0: nobody borrows */

static struct scene {
    char app[32];
    int64_t pid_max;
    _Atomic int ready, go, end;
    _Atomic int64_t drawn[HOGS], errors, an_error, disorder;
    /* of a hog without an ID, without what its machine stood still */
    _Atomic int64_t longest_gap_ms;
    _Atomic int64_t hog_pid; /* of the last ID of any hog */
    _Atomic uint32_t pages;  /* bit p: a hog has had an ID with pid p */
    /* apart_at: the polite one's count when its pid was no hog's */
    _Atomic int64_t polite_ids, apart_at;
    /* its calls that slept, and those of them up to apart_at */
    _Atomic uint64_t slept, slept_before;
    int64_t waits[MOST_WAITS];
} * scene;

static sfid_options options(void) {
    sfid_options opt = local_options(scene->app, STORE, &layout);
    opt.pid_min = 1;
    opt.pid_max = scene->pid_max;
    /* after a fifth of it a page that is being begun counts as stuck: there may be no other */
    opt.open_timeout_ms = TAP_WAIT_MS;
    if (borrowed_ms) {
        opt.exhaustion = SFID_BORROW;
        opt.max_ahead_ms = borrowed_ms;
    }
    return opt;
}

static void note_error(int64_t code) {
    atomic_fetch_add(&scene->errors, 1);
    atomic_store(&scene->an_error, code);
}

static bool wait_for_start(void) {
    atomic_fetch_add(&scene->ready, 1);
    return flag_wait(&scene->go, 1, TAP_WAIT_MS);
}

/* ---- one that takes all that it can get ------------------------------------ */

static void note_page(int64_t pid) {
    atomic_store(&scene->hog_pid, pid);
    atomic_fetch_or(&scene->pages, UINT32_C(1) << pid);
}

static int hog(void *arg) {
    const int number = *(int *)arg;
    struct idlog log;
    int64_t ids[512], last = 0;
    const sfid_options opt = options();
    sfid *g = open_or_die(&opt);
    log_start(&log, LOG_ROOM, 1, IDLOG_ANY_PID, "%s-hog-%d", scene->app, number);
    witness_begin();
    wait_for_start();
    int64_t since = mono_ns();
    while (!atomic_load(&scene->end)) {
        const int64_t n = sfid_next_n(g, ids, COUNT_OF(ids)), now = mono_ns();
        if ((now - since) / NS_PER_MS > atomic_load(&scene->longest_gap_ms)) {
            const struct took gap = took_between(since / NS_PER_MS, now / NS_PER_MS);
            raise_to(&scene->longest_gap_ms, gap.ms - gap.stood_ms);
        }
        if (n < 0)
            note_error(n);
        else
            since = now;
        for (int64_t i = 0; i < n; i++) {
            atomic_fetch_add(&scene->disorder, ids[i] <= last);
            last = ids[i];
            if (!idlog_full(&log))
                idlog_put(&log, last);
        }
        atomic_fetch_add(&scene->drawn[number], n > 0 ? n : 0);
        if (n > 0)
            note_page(id_pid(&layout, last));
    }
    sfid_close(g);
    return 0;
}

/* The same, but it cannot move on: no call of its may sleep. */
static int squatter(void *arg) {
    (void)arg;
    const sfid_options opt = options();
    sfid *g = open_or_die(&opt);
    while (!atomic_load(&scene->end)) {
        const int64_t id = sfid_try_next(g);
        if (id < 0 && id != SFID_EAGAIN)
            note_error(id);
    }
    sfid_close(g);
    return 0;
}

/* ---- one that wants few ----------------------------------------------------- */

static bool is_apart(int64_t pid) {
    const int64_t of_hog = atomic_load(&scene->hog_pid);
    return of_hog > 0 && of_hog != pid;
}

static uint64_t calls_that_slept(sfid *g) {
    sfid_status_info st;
    sfid_status(g, &st);
    return st.waits;
}

static int polite(void *arg) {
    (void)arg;
    struct idlog log;
    int64_t last = 0;
    const sfid_options opt = options();
    sfid *g = open_or_die(&opt);
    log_start(&log, LOG_ROOM, 1, IDLOG_ANY_PID, "%s-polite", scene->app);
    wait_for_start();
    while (!atomic_load(&scene->end) && atomic_load(&scene->polite_ids) < MOST_WAITS) {
        const int64_t begin = mono_ns(), id = sfid_next(g), n = atomic_load(&scene->polite_ids);
        scene->waits[n] = mono_ns() - begin;
        if (id < 0)
            note_error(id);
        atomic_fetch_add(&scene->disorder, id <= last);
        idlog_put(&log, last = id);
        atomic_store(&scene->slept, calls_that_slept(g));
        if (atomic_load(&scene->apart_at) == 0 && is_apart(id_pid(&layout, id))) {
            atomic_store(&scene->slept_before, scene->slept);
            atomic_store(&scene->apart_at, n + 1);
        }
        atomic_store(&scene->polite_ids, n + 1);
        nap_us(PAUSE_US);
    }
    sfid_close(g);
    return 0;
}

/* ---- rows of the table ------------------------------------------------------- */

enum { SETTLED_IDS = 200 };

struct row {
    int64_t hogs_rate, p50, p99; /* IDs a second; ns, since the polite one has had no hog's pid */
    int64_t ids, slept;          /* of the polite one, since then; with one page: of all */
};

/* Has all happened that this row shows? A busy machine takes longer. */
static bool is_settled(int hogs, bool with_polite, int pages) {
    const int used = __builtin_popcount(atomic_load(&scene->pages)),
              wanted = hogs < pages ? hogs : pages;
    if (with_polite && pages == 1)
        return atomic_load(&scene->slept) > 0;
    if (with_polite)
        return atomic_load(&scene->apart_at) != 0 &&
               atomic_load(&scene->polite_ids) >= atomic_load(&scene->apart_at) + SETTLED_IDS;
    return used >= (wanted > 3 ? 3 : wanted);
}

static struct row play(const char *app, int hogs, bool with_polite, int pages) {
    static int numbers[HOGS] = {0, 1, 2, 3};
    pid_t children[HOGS], guest = 0;
    struct row row = {0};
    int bad = 0;
    memset((void *)scene, 0, sizeof *scene);
    snprintf(scene->app, sizeof scene->app, "%s-%d", app, pages);
    scene->pid_max = pages;
    for (int i = 0; i < hogs; i++)
        children[i] = child_start(hog, &numbers[i]);
    if (with_polite)
        guest = child_start(polite, NULL);
    must(flag_wait(&scene->ready, hogs + with_polite, 2 * TAP_WAIT_MS), "somebody does not open");
    const int64_t begin = mono_ns();
    atomic_store(&scene->go, 1);
    const int64_t least = begin + (int64_t)sized(3, 20, 2) * 1000 * NS_PER_MS;
    for (struct patience p = {0};
         mono_ns() < least || (!is_settled(hogs, with_polite, pages) && patient(&p, TAP_WAIT_MS));)
        nap_us(1000);
    for (int i = 0; i < hogs; i++)
        row.hogs_rate += atomic_load(&scene->drawn[i]);
    /* the time is read last: they go on drawing */
    row.hogs_rate = row.hogs_rate * 1000 / ((mono_ns() - begin) / NS_PER_MS);
    atomic_store(&scene->end, 1);
    for (int i = 0; i < hogs; i++)
        bad += child_wait(children[i], TAP_WAIT_MS) != 0;
    if (with_polite)
        bad += child_wait(guest, TAP_WAIT_MS) != 0;
    const size_t n = (size_t)scene->polite_ids, from = (size_t)scene->apart_at, settled = n - from;
    if (with_polite && settled > 0) {
        qsort(scene->waits + from, settled, sizeof scene->waits[0], by_i64);
        row.p50 = scene->waits[from + settled / 2];
        row.p99 = scene->waits[from + settled * 99 / 100];
    }
    row.ids = (int64_t)settled;
    row.slept = (int64_t)(scene->slept - scene->slept_before);
    diag("figure: %d hog%s%s, %d page%s: %.2f million IDs/s (one page: %.2f), %d pages used", hogs,
         hogs == 1 ? "" : "s", with_polite ? " and a polite one" : "", pages, pages == 1 ? "" : "s",
         (double)row.hogs_rate / 1e6, (double)(layout.max_seq + 1) * (1000.0 / TICK_MS) / 1e6,
         __builtin_popcount(scene->pages));
    if (with_polite)
        diag(
            "figure: polite: %zu IDs, the first %zu with the hog's pid; then p50 %.3f ms, p99 %.3f ms, %" PRIi64
            " calls slept",
            n, from, (double)row.p50 / 1e6, (double)row.p99 / 1e6, row.slept);
    is_i64(bad, 0, "%s: all end well", scene->app);
    if (!is_i64(scene->errors, 0, "%s: no call fails", scene->app))
        diag("one got %" PRIi64, scene->an_error);
    is_i64(scene->disorder, 0, "%s: each process's IDs increase", scene->app);
    judge(LAYOUT, "per-file", UINT64_MAX, scene->app);
    return row;
}

static void beside_a_hog(void) {
    ok(play("beside", 1, true, 1).slept > 0, "with one page, a hog makes the polite one wait");
    for (int pages = 2; pages <= 4; pages *= 2) {
        const struct row row = play("beside", 1, true, pages);
        ok(row.ids >= SETTLED_IDS, "with %d they have a page each, soon", pages);
        ok(row.slept <= row.ids / 100, "then the polite one finds no tick used up");
    }
}

static void four_hogs(void) {
    const struct row one = play("hogs", HOGS, false, 1);
    const int64_t page = (int64_t)(layout.max_seq + 1) * 1000 / TICK_MS;
    ok(one.hogs_rate < page * 115 / 100, "one page has one pid's rate");
    play("hogs", HOGS, false, 2);
    is_u64((unsigned)__builtin_popcount(scene->pages), 2, "four use two pages");
    play("hogs", HOGS, false, 4);
    ok(__builtin_popcount(scene->pages) >= 3, "and three of four at least");
}

/* One that moves on has issued IDs five seconds ahead of the clock. */
static void borrowing(void) {
    borrowed_ms = 5000;
    play("borrow", 3, false, 4);
    borrowed_ms = 0;
    in_time((struct took){scene->longest_gap_ms, 0}, 4000,
            "none of them waits until its clock is where another page was");
}

/* ---- threads on the way ------------------------------------------------------ */

#define QUICK "44:9:10/1ms"

enum { THREADS = 5 };

struct mover {
    sfid *g;
    int64_t pid; /* at the beginning */
    unsigned number;
    _Atomic int64_t *highest, *wrong;
    _Atomic int *moved;
    pthread_t thread;
    struct idlog log;
};

/* One of the threads has a lane, whose IDs increase among themselves. */
static void *move_along(void *arg) {
    struct mover *m = arg;
    sfid_lane *lane = NULL;
    int64_t last = 0;
    must(m->number != 0 || sfid_lane_open(&lane, m->g) >= 0, "no lane");
    struct patience p = {0};
    for (unsigned left = 2000; left > 0 && !idlog_full(&m->log) && patient(&p, TAP_WAIT_MS);
         left -= atomic_load(m->moved) != 0) {
        const int64_t before = lane ? last : atomic_load(m->highest),
                      id = lane ? sfid_lane_next(lane) : sfid_next(m->g);
        last = id;
        if (id <= before)
            atomic_fetch_add(m->wrong, 1);
        if (lane == NULL)
            raise_to(m->highest, id);
        if (id_pid(&layout, id) != m->pid)
            atomic_store(m->moved, 1);
        idlog_put(&m->log, id);
    }
    sfid_lane_close(lane);
    return NULL;
}

static int move_with_threads(void *arg) {
    static struct mover movers[THREADS];
    static _Atomic int64_t highest, wrong;
    static _Atomic int moved;
    const int64_t life = *(int64_t *)arg;
    const sfid_options opt = options();
    sfid *g = open_or_die(&opt);
    const int64_t pid = sfid_pid(g);
    let_threads_start();
    const pid_t child = life % 4 == 0 ? fork() : 1; /* goes on with its parent's handle */
    for (unsigned i = 0; i < THREADS; i++) {
        movers[i] = (struct mover){
            .g = g, .pid = pid, .number = i, .highest = &highest, .wrong = &wrong, .moved = &moved};
        log_start(&movers[i].log, 1 << 20, 1, IDLOG_ANY_PID, "move-%" PRIi64 "-%d-%u", life,
                  child == 0, i);
        start_thread(&movers[i].thread, move_along, &movers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(movers[i].thread, NULL);
    int bad = child > 1 && child_wait(child, TAP_WAIT_MS) != 0;
    bad += sfid_pid(g) == pid && atomic_load(&moved);
    sfid_close(g);
    return wrong ? 2 : bad ? 3 : !moved ? 4 : 0;
}

static void on_the_way(void) {
    unsigned disorder = 0, stayed = 0, bad = 0;
    const int64_t lives = (int64_t)sized(30, 300, 5);
    memset((void *)scene, 0, sizeof *scene);
    snprintf(scene->app, sizeof scene->app, "way");
    scene->pid_max = 8;
    layout = layout_of(QUICK);
    const pid_t taker = child_start(squatter, NULL);
    for (int64_t life = 1; life <= lives && stayed < 3; life++) {
        const int status = child_run(move_with_threads, &life, TAP_WAIT_MS);
        disorder += status == 2;
        stayed += status == 4;
        if (status != 0 && status != 2 && status != 4) {
            diag("life %" PRIi64 ": status %d", life, status);
            bad++;
        }
    }
    atomic_store(&scene->end, 1);
    is_i64(child_wait(taker, TAP_WAIT_MS) + scene->errors, 0,
           "one that cannot move on uses all that it gets");
    is_u64(bad, 0, "%" PRIi64 " processes with threads beside a hog end well", lives);
    is_u64(disorder, 0,
           "each of their IDs is above all that the process had before it was asked for");
    ok(stayed < 3, "they move on while their threads generate (%u did not)", stayed);
    judge(QUICK, "per-file", UINT64_MAX, "on the way");
}

int main(void) {
    dirs_make();
    layout = layout_of(LAYOUT);
    scene = shared_memory(sizeof *scene);
    beside_a_hog();
    four_hogs();
    borrowing();
    on_the_way();
    return done_testing();
}
