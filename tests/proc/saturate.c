/* SPDX-License-Identifier: MIT */
/*
 * More callers than numbers: 4096 IDs a millisecond, drawn by 1, 2 and 8 threads that wait, and by
 * 8 that are refused (SFID_FAIL) and spin. Printed: how much of the layout's capacity was
 * delivered, what it cost, how late sleepers woke. Checked: no duplicate, no ID above the clock,
 * and under SFID_FAIL a word at most one tick ahead; who waits had used up a tick, and sleeps once,
 * until the next one.
 *
 * Sizes: the median of 3 rounds of 0.6 s (long: 5 rounds of 3 s; sanitizer: 3 rounds of 0.2 s). The
 * program has a clock_nanosleep() of its own, which the library calls instead of the system's.
 */
#include "ahead.h"

#include <sys/resource.h>

#define LAYOUT "41:10:12/1ms"

enum { MOST_THREADS = 8, MOST_ROUNDS = 5, PER_TICK = 4096 };

struct worker {
    sfid *g;
    const sfid_layout *layout;
    const atomic_bool *stop;
    bool spins;
    struct idlog log;
    uint64_t calls, refused, early, sleeps, long_sleeps;
    int64_t first_error, overshoot_ns;
};

static _Thread_local struct worker *me;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                    struct timespec *left) {
    (void)clock, (void)flags; /* the library sleeps for a time, not until one */
    if (me)
        me->sleeps++;
    if (me && (wanted->tv_sec > 0 || wanted->tv_nsec > NS_PER_MS))
        me->long_sleeps++;
    return nanosleep(wanted, left) == 0 ? 0 : errno;
}

/* The clock is read only when the tick has changed, or the reading would be most of what is
 * measured. */
static void hold_against_clock(struct worker *w, int64_t id, int64_t last) {
    if (last >= 0 && id >> w->layout->time_shift == last >> w->layout->time_shift)
        return;
    const int64_t late = wall_ns() - id_ns(w->layout, id);
    w->early += late < 0;
    if (last >= 0 && late > w->overshoot_ns)
        w->overshoot_ns = late;
}

static void *draw_all(void *arg) {
    struct worker *w = me = arg;
    int64_t last = -1;
    while (!atomic_load_explicit(w->stop, memory_order_relaxed) && !idlog_full(&w->log)) {
        const int64_t id = sfid_next(w->g);
        w->calls++;
        if (id >= 0) {
            hold_against_clock(w, id, last);
            idlog_put(&w->log, id);
            last = id;
        } else if (w->spins && id == SFID_EAGAIN) {
            w->refused++;
        } else if (w->first_error == 0) {
            w->first_error = id;
        }
    }
    return NULL;
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct round {
    int64_t per_mille, cpu_per_mille, overshoot_us, ahead_ms, end_ahead_ms;
    uint64_t ids, early, refused, sleeps, long_sleeps, waits;
    int64_t first_error;
};

static void add_worker(struct round *r, const struct worker *w) {
    r->ids += w->log.count;
    r->early += w->early;
    r->refused += w->refused;
    r->sleeps += w->sleeps;
    r->long_sleeps += w->long_sleeps;
    r->first_error = r->first_error ? r->first_error : w->first_error;
    if (w->overshoot_ns / 1000 > r->overshoot_us)
        r->overshoot_us = w->overshoot_ns / 1000;
}

static struct round run_round(const sfid_options *opt, unsigned threads, uint64_t ms) {
    struct worker workers[MOST_THREADS] = {0};
    pthread_t ids[MOST_THREADS];
    struct round r = {.ahead_ms = -1};
    atomic_bool stop = false;
    sfid_status_info st = {0};
    sfid *g = open_or_die(opt);
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){
            .g = g, .layout = opt->layout, .stop = &stop, .spins = opt->exhaustion == SFID_FAIL};
        log_start(&workers[i].log, (ms + 500) * PER_TICK, 1, (uint64_t)opt->pid, "thread-%u", i);
    }
    const double cpu = cpu_seconds();
    const int64_t begin = tap_now_ms(), end = begin + (int64_t)ms;
    for (unsigned i = 0; i < threads; i++)
        start_thread(&ids[i], draw_all, &workers[i]);
    for (; tap_now_ms() < end; nap_us(5000)) {
        const int64_t seen = ahead_seen(g);
        r.ahead_ms = seen > r.ahead_ms ? seen : r.ahead_ms;
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        add_worker(&r, &workers[i]);
        idlog_close(&workers[i].log);
    }
    const int64_t took_ms = tap_now_ms() - begin;
    r.end_ahead_ms = sfid_status(g, &st) == 0 ? st.ahead_ms : -1;
    r.waits = st.waits;
    r.per_mille = (int64_t)((double)r.ids / ((double)took_ms * PER_TICK) * 1000 + 0.5);
    r.cpu_per_mille = (int64_t)((cpu_seconds() - cpu) / (double)took_ms * 1e6 + 0.5);
    sfid_close(g);
    return r;
}

static void report(const char *what, unsigned threads, const struct round *rounds, size_t n) {
    int64_t delivered[MOST_ROUNDS], cpu[MOST_ROUNDS], overshoot = 0, ahead = 0;
    uint64_t ids = 0, refused = 0, sleeps = 0, long_sleeps = 0, waits = 0;
    for (size_t i = 0; i < n; i++) {
        delivered[i] = rounds[i].per_mille;
        cpu[i] = rounds[i].cpu_per_mille;
        ids += rounds[i].ids;
        refused += rounds[i].refused;
        sleeps += rounds[i].sleeps;
        long_sleeps += rounds[i].long_sleeps;
        waits += rounds[i].waits;
        overshoot = rounds[i].overshoot_us > overshoot ? rounds[i].overshoot_us : overshoot;
        ahead = rounds[i].ahead_ms > ahead ? rounds[i].ahead_ms : ahead;
    }
    const int64_t middle = median(delivered, n), cpu_middle = median(cpu, n);
    diag(
        "figure: %s, %u threads: %.1f %% of capacity (median of %zu; worst %.1f), %.1f %% of a CPU; latest return %.3f ms into "
        "its tick; "
        "word at most %" PRIi64 " ms ahead, %" PRIu64 " calls refused, %" PRIu64
        " waited and slept %" PRIu64 " times",
        what, threads, (double)middle / 10, n, (double)delivered[0] / 10, (double)cpu_middle / 10,
        (double)overshoot / 1000, ahead, refused, waits, sleeps);
    ok(ids >= PER_TICK * (waits / threads),
       "%s, %u threads: a tick is used up before any of them waits (%" PRIu64 " IDs)", what,
       threads, ids);
    ok(sleeps <= 2 * waits, "%s, %u threads: a call that waits sleeps once", what, threads);
    /* The clock of one that is interrupted as it looks is old when it sleeps. */
    ok(2 * long_sleeps <= sleeps, "%s, %u threads: until the next tick (%" PRIu64 " times longer)",
       what, threads, long_sleeps);
}

static void saturate(sfid_exhaustion exhaustion, const char *what, unsigned threads) {
    const sfid_layout layout = layout_of(LAYOUT);
    const size_t n = (size_t)sized(3, MOST_ROUNDS, 3);
    struct round rounds[MOST_ROUNDS];
    uint64_t early = 0;
    int64_t error = 0, end_ahead = 0, ahead = -1;
    sfid_options opt = options_of("saturated", 1023, &layout);
    opt.exhaustion = exhaustion;
    const int64_t offset = clock_offset();
    for (size_t i = 0; i < n; i++) {
        rounds[i] = run_round(&opt, threads, sized(600, 3000, 200));
        early += rounds[i].early;
        error = error ? error : rounds[i].first_error;
        end_ahead = rounds[i].end_ahead_ms > end_ahead ? rounds[i].end_ahead_ms : end_ahead;
        ahead = rounds[i].ahead_ms > ahead ? rounds[i].ahead_ms : ahead;
        judge(LAYOUT, "per-file", rounds[i].ids, what);
    }
    report(what, threads, rounds, n);
    is_i64(error, 0, "%s, %u threads: no call fails otherwise", what, threads);
    if (clock_stepped(offset)) {
        diag("the clock was stepped: nothing is said about IDs and clock");
        return;
    }
    is_u64(early, 0, "%s, %u threads: no ID lies above a clock read after its call", what, threads);
    ok(end_ahead <= 1, "%s, %u threads: the word ends at most one tick ahead", what, threads);
    ok(ahead >= 0 && ahead <= 1, "%s, %u threads: the word is never more than one tick ahead", what,
       threads);
}

int main(void) {
    dirs_make();
    saturate(SFID_WAIT, "wait", 1);
    saturate(SFID_WAIT, "wait", 2);
    saturate(SFID_WAIT, "wait", 8);
    saturate(SFID_FAIL, "fail", 8);
    return done_testing();
}
