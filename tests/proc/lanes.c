/* SPDX-License-Identifier: MIT */
/*
 * Lanes: threads that each draw from a run of their own, beside others that share the word, and
 * over a fork in the middle of a run. No duplicate, each lane's IDs increase, and none lies ahead
 * of the clock by more than one was allowed to draw.
 *
 * Sizes: 4 lanes and 2 threads without one, a million IDs each where the sequence has room (long: 8
 * million; sanitizer: 50,000), and 1 s of a full sequence (long: 5 s) waiting, borrowing and
 * failing; 100 forks in the middle of runs (sanitizer: 20).
 */
#include "support/proc.h"

#include <sfid/inline.h>

enum { LANES = 4, THREADS = 6 };

struct worker {
    sfid *g;
    bool has_lane;
    uint64_t most;
    /* draws until then, or till it has drawn so many; how far ahead of the clock an ID may be */
    int64_t end_ns, limit_ns;
    pthread_t thread;
    struct idlog log;
    uint64_t disorders, too_far, refused;
    int64_t first_error;
};

static void judge_one(struct worker *w, int64_t id, int64_t *last, const sfid_layout *l) {
    if (id == SFID_EAGAIN) {
        w->refused++;
        return;
    }
    if (id < 0) {
        w->first_error = w->first_error ? w->first_error : id;
        return;
    }
    w->disorders += id <= *last;
    w->too_far += id_ns(l, id) - wall_ns() > w->limit_ns;
    *last = id;
    idlog_put(&w->log, id);
}

static sfid_layout layout;

static void *work(void *arg) {
    struct worker *w = arg;
    sfid_lane *lane = NULL;
    int64_t last = -1;
    must(!w->has_lane || sfid_lane_open(&lane, w->g) == 0, "no lane");
    while (w->log.count < w->most && mono_ns() < w->end_ns && w->first_error == 0)
        judge_one(w, lane ? sfid_lane_next(lane) : sfid_next(w->g), &last, &layout);
    sfid_lane_close(lane);
    return NULL;
}

/* Draws from one generator by threads with lanes and without, and judges all of it. Returns how
 * many IDs. */
static uint64_t run(const sfid_options *opt, uint64_t most, int64_t ms, int64_t limit_ms,
                    const char *text, const char *what) {
    struct worker workers[THREADS] = {0};
    uint64_t ids = 0, disorders = 0, too_far = 0, refused = 0;
    int64_t first_error = 0;
    sfid *g = open_or_die(opt);
    const int64_t offset = clock_offset();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.g = g,
                                     .has_lane = i < LANES,
                                     .most = most,
                                     .end_ns = mono_ns() + ms * NS_PER_MS,
                                     .limit_ns = limit_ms * NS_PER_MS};
        log_start(&workers[i].log, most, 1, IDLOG_ANY_PID, "%s-%d", opt->app, i);
        start_thread(&workers[i].thread, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ids += workers[i].log.count;
        disorders += workers[i].disorders;
        too_far += workers[i].too_far;
        refused += workers[i].refused;
        first_error = first_error ? first_error : workers[i].first_error;
        idlog_close(&workers[i].log);
    }
    sfid_status_info st;
    sfid_status(g, &st);
    is_i64(first_error, 0, "%s: no call fails", what);
    is_u64(disorders, 0, "%s: each thread's IDs increase", what);
    if (!clock_stepped(offset))
        is_u64(too_far, 0, "%s: none is further ahead of the clock than allowed", what);
    is_u64(st.issued, ids, "%s: what is left of runs is not counted as issued", what);
    diag("figure: %s: %" PRIu64 " IDs, %" PRIu64 " calls refused", what, ids, refused);
    sfid_close(g);
    judge(text, "per-file", ids, what);
    return ids;
}

static void full_sequences(void) {
    static const struct {
        const char *app, *what;
        sfid_exhaustion how;
        uint32_t ahead_ms;
    } ways[] = {{"full-wait", "full, waiting", SFID_WAIT, 0},
                {"full-borrow", "full, borrowing", SFID_BORROW, 500},
                {"full-fail", "full, failing", SFID_FAIL, 0}};
    const int64_t ms = (int64_t)sized(1000, 5000, 500);
    layout = layout_of("41:10:8/1ms");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        sfid_options opt = options_of(ways[i].app, 1, &layout);
        opt.exhaustion = ways[i].how;
        opt.max_ahead_ms = ways[i].ahead_ms;
        opt.max_wait_ms = TAP_WAIT_MS;
        run(&opt, 4000000, ms, (int64_t)ways[i].ahead_ms + 2, "41:10:8/1ms", ways[i].what);
    }
}

/* ---- fork ------------------------------------------------------------------ */

SFID_DEFINE(timed, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))

/* By the inline form and by the library in turn. */
static int64_t next_of(sfid_lane *lane, int k) {
    return k % 2 == 0 ? timed_lane_next(lane) : sfid_lane_next(lane);
}

struct family {
    sfid *g;
    sfid_lane *lane;
    struct idlog log;
};

static int child_life(void *arg) {
    struct family *f = arg;
    static _Atomic int number;
    struct idlog log;
    log_start(&log, 300, 1, IDLOG_ANY_PID, "fork-child-%d-%d", (int)getpid(),
              atomic_fetch_add(&number, 1));
    for (int i = 0; i < 300; i++)
        idlog_put(&log, next_of(f->lane, i));
    idlog_close(&log);
    sfid_lane_close(f->lane);
    sfid_close(f->g);
    return sfid_next(f->g) == SFID_ECLOSED ? 0 : 1;
}

/* A run is for one process: a child that went on with its parent's would repeat all that is left of
 * it. */
static void forks(void) {
    const int count = (int)sized(100, 100, 20);
    /* a tick is long: the run that was begun is still good in the child */
    const sfid_layout l = layout_of("30:2:31/1s");
    sfid_options opt = options_of("lane-forks", 1, &l);
    struct family f = {.g = open_or_die(&opt)};
    int failed = 0;
    must(sfid_lane_open(&f.lane, f.g) == 0, "no lane");
    log_start(&f.log, (uint64_t)count * 20, 1, IDLOG_ANY_PID, "fork-parent");
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 10; k++)
            idlog_put(&f.log, next_of(f.lane, k));
        const pid_t child = child_start(child_life, &f);
        for (int k = 0; k < 10; k++)
            idlog_put(&f.log, next_of(f.lane, k));
        failed += child_wait(child, TAP_WAIT_MS) != 0;
    }
    idlog_close(&f.log);
    is_i64(failed, 0, "%d children draw from the lane that they were forked with, and close it",
           count);
    sfid_lane_close(f.lane);
    sfid_close(f.g);
    judge("30:2:31/1s", "per-file", (uint64_t)count * 320, "forks in the middle of runs");
}

/* ---- ends ------------------------------------------------------------------ */

static void ends(void) {
    const sfid_layout l = layout_of("30:2:31/1s");
    sfid_options opt = options_of("lane-ends", 1, &l);
    sfid_lane *lane = NULL;
    sfid *g = open_or_die(&opt);
    is_i64(sfid_lane_open(NULL, g), SFID_EINVAL, "no place for the lane");
    is_i64(sfid_lane_open(&lane, NULL), SFID_EINVAL, "no generator");
    ok(lane == NULL, "and no lane");
    sfid_lane_close(NULL);
    must(sfid_lane_open(&lane, g) == 0, "no lane");
    int64_t first, shared, second;
    do { /* within one tick: the run is left when the next one begins */
        first = sfid_lane_next(lane);
        shared = sfid_next(g);
        second = sfid_lane_next(lane);
    } while (first >= 0 && first >> l.time_shift != second >> l.time_shift);
    ok(first >= 0 && second > first && shared > second,
       "a run is drawn at once: what others draw lies behind it");
    sfid_close(g);
    is_i64(sfid_lane_next(lane), SFID_ECLOSED,
           "closed in the middle of a run: nothing more comes of it");
    sfid_lane_close(lane);
    g = open_or_die(&opt);
    const int64_t later = sfid_next(g);
    ok(later > shared, "and the next holder begins behind");
    sfid_close(g);
}

/* A run that lies ahead of the clock: each of its IDs waits in hand. */
static void ends_ahead(void) {
    const sfid_layout l = layout_of("30:2:8/1s");
    sfid_options opt = options_of("lane-ends-ahead", 1, &l);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 600000;
    sfid_lane *lane = NULL;
    sfid *g = open_or_die(&opt);
    must(sfid_lane_open(&lane, g) == 0, "no lane");
    /* a minute of sequences: no late thread brings the clock there */
    for (uint32_t i = 0; i < 60 * (l.max_seq + 1); i++)
        must(sfid_next(g) >= 0, "not borrowed");
    const int64_t first = sfid_lane_next(lane), second = sfid_lane_next(lane);
    must(first >= 0 && second >= 0, "no run");
    is_i64(second - first, INT64_C(1) << l.seq_shift, "a run that lies ahead of the clock");
    sfid_close(g);
    is_i64(sfid_lane_next(lane), SFID_ECLOSED, "closed: nothing more comes of it, either");
    sfid_lane_close(lane);
}

int main(void) {
    dirs_make();
    layout = layout_of("41:2:20/1ms");
    const sfid_options opt = options_of("lanes", 1, &layout);
    run(&opt, sized(1000000, 8000000, 50000), 60000, 2, "41:2:20/1ms", "room for all");
    full_sequences();
    forks();
    ends();
    ends_ahead();
    return done_testing();
}
