/* SPDX-License-Identifier: MIT */
/*
 * The ends of ranges: a layout's last ticks, and sequences of a few bits or none, drawn from by 8
 * threads at full speed. IDs stay positive and distinct; after the last one there is SFID_EOVERFLOW
 * for ever, before the epoch SFID_ECLOCK.
 *
 * Sizes: each sequence is drawn from for 0.6 s (long: 10 s).
 */
#include "ahead.h"

enum { THREADS = 8, AHEAD_MS = 50, TRIES = 5 };

struct drawer {
    sfid *g;
    const sfid_layout *layout;
    const atomic_bool *stop;
    struct idlog log;
    pthread_t thread;
    unsigned number;
    int64_t last_code, other_code, lead_ns; /* other_code: than that it is over, or none now */
    /* on the wall clock, when it was first told that; INT64_MAX: not yet */
    int64_t over_ns;
    unsigned after_the_end;
    bool to_the_end;
};

static void check_and_put(struct drawer *d, const int64_t *ids, int64_t n) {
    d->after_the_end += d->last_code == SFID_EOVERFLOW; /* an ID after the end was told */
    log_ids(&d->log, ids, n);
    const int64_t lead = id_ns(d->layout, ids[n - 1]) - wall_ns();
    if (lead > d->lead_ns)
        d->lead_ns = lead;
}

static void note_code(struct drawer *d, int64_t code) {
    if (code == SFID_EOVERFLOW && d->over_ns == INT64_MAX)
        d->over_ns = wall_ns();
    else if (code != 0 && code != SFID_EOVERFLOW && code != SFID_EAGAIN)
        d->other_code = code;
    d->last_code = code;
}

/* All three calls by turns; runs that cross the end of a tick among them. */
static void *draw_mixed(void *arg) {
    struct drawer *d = arg;
    int64_t ids[37];
    for (unsigned i = d->number; !atomic_load(d->stop) && !idlog_full(&d->log); i++) {
        int64_t n = 1;
        if (i % 3 == 0)
            n = sfid_next_n(d->g, ids, COUNT_OF(ids));
        else
            ids[0] = i % 3 == 1 ? sfid_next(d->g) : sfid_try_next(d->g);
        if (n > 0 && ids[0] >= 0) {
            check_and_put(d, ids, n);
        } else if (i % 3 == 2 && ids[0] == SFID_EAGAIN) {
            sched_yield(); /* sfid_try_next() has none now */
        } else {
            note_code(d, n > 0 ? ids[0] : n);
            nap_us(1000);
        }
    }
    if (d->to_the_end) { /* a thread that was not run since the end has not been told yet */
        ids[0] = sfid_next(d->g);
        if (ids[0] >= 0)
            check_and_put(d, ids, 1);
        note_code(d, ids[0] < 0 ? ids[0] : 0);
    }
    return NULL;
}

static bool all_over(void *arg) {
    const sfid *g = arg;
    return sfid_retry_ms(g) == SFID_EOVERFLOW;
}

/* Of 32-bit addresses there are only so many. */
static void close_logs(struct drawer *drawers) {
    for (unsigned i = 0; i < THREADS; i++)
        idlog_close(&drawers[i].log);
}

/* Draws until the layout is over, or for ms. */
static void draw_by_threads(sfid *g, const sfid_options *opt, struct drawer *drawers, unsigned ms,
                            bool to_the_end, const char *what) {
    atomic_bool stop = false;
    int64_t ahead = -1;
    for (unsigned i = 0; i < THREADS; i++) {
        drawers[i] = (struct drawer){
            .g = g, .layout = opt->layout, .stop = &stop, .number = i, .to_the_end = to_the_end};
        drawers[i].lead_ns = INT64_MIN;
        drawers[i].over_ns = INT64_MAX;
        log_start(&drawers[i].log, 10000000, 1, (uint64_t)opt->pid, "thread-%u", i);
        start_thread(&drawers[i].thread, draw_mixed, &drawers[i]);
    }
    if (to_the_end)
        ok(tap_wait_until(all_over, g, TAP_WAIT_MS), "%s: it ends", what);
    for (const int64_t end = mono_ns() + (int64_t)ms * NS_PER_MS; mono_ns() < end; nap_us(5000)) {
        const int64_t seen = ahead_seen(g);
        ahead = seen > ahead ? seen : ahead;
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(drawers[i].thread, NULL);
    diag("figure: %s: word at most %" PRIi64 " ms ahead", what, ahead);
    const int64_t cap =
        opt->exhaustion == SFID_BORROW
            ? opt->max_ahead_ms + 1
            : 1 + (THREADS + (int64_t)opt->layout->max_seq) / (int64_t)(opt->layout->max_seq + 1);
    ok(to_the_end || (ahead >= 0 && ahead <= cap),
       "%s: the word is at most %" PRIi64 " ticks ahead", what, cap);
    if (to_the_end)
        ok(sfid_next(g) == SFID_EOVERFLOW && sfid_try_next(g) == SFID_EOVERFLOW &&
               sfid_retry_ms(g) == SFID_EOVERFLOW,
           "%s: and stays over", what);
    sfid_close(g);
}

/* ---- short sequences ---------------------------------------------------- */

static void test_short(const char *text, sfid_exhaustion exhaustion, uint64_t random_start,
                       const char *what) {
    const sfid_layout layout = layout_of(text);
    struct drawer drawers[THREADS];
    sfid_options opt = options_of(what, 1000, &layout);
    int64_t code = 0, lead = INT64_MIN;
    opt.exhaustion = exhaustion;
    opt.random_start = random_start;
    opt.max_ahead_ms = AHEAD_MS;
    /* each number goes to the first that is there for it: a thread may wait for many ticks */
    opt.max_wait_ms = TAP_WAIT_MS;
    const int64_t offset = clock_offset();
    draw_by_threads(open_or_die(&opt), &opt, drawers, (unsigned)sized(600, 10000, 600), false,
                    what);
    for (unsigned i = 0; i < THREADS; i++) {
        code = code ? code : drawers[i].last_code;
        lead = drawers[i].lead_ns > lead ? drawers[i].lead_ns : lead;
    }
    is_i64(code, exhaustion == SFID_FAIL ? SFID_EAGAIN : 0, "%s: no error that is not due", what);
    if (!clock_stepped(offset))
        ok(lead <= (exhaustion == SFID_BORROW ? AHEAD_MS : 0) * (int64_t)NS_PER_MS,
           "%s: no ID lies further ahead of the clock than allowed", what);
    close_logs(drawers);
    judge(text, "per-file", UINT64_MAX, what);
}

/* ---- the end of a layout ------------------------------------------------ */

/* When tick n begins, on the wall clock. */
static int64_t begin_of(const sfid_layout *l, uint64_t n) {
    return (l->epoch_ms + (int64_t)(n * l->unit_ms)) * NS_PER_MS;
}

/* The last tick's numbers may be used up before it is over. */
static bool clock_past_end(void *arg) {
    const sfid_layout *l = arg;
    return wall_ns() >= begin_of(l, l->max_tick + 1);
}

/* The layout whose tick is `left` ticks before its last now. */
static sfid_layout ending(unsigned time_bits, unsigned pid_bits, unsigned seq_bits,
                          uint32_t unit_ms, uint64_t left) {
    char text[SFID_LAYOUT_STR_LEN];
    const uint64_t max_tick = time_bits + pid_bits + seq_bits == 64
                                  ? (UINT64_C(1) << (time_bits - 1)) - 1
                                  : (UINT64_C(1) << time_bits) - 1;
    const int64_t epoch = wall_ns() / NS_PER_MS - (int64_t)((max_tick - left) * unit_ms);
    snprintf(text, sizeof text, "%u:%u:%u/%ums@%" PRIi64, time_bits, pid_bits, seq_bits, unit_ms,
             epoch);
    return layout_of(text);
}

/* A generator of a layout that ends in about 3 s. One that was over before it was open is tried
 * again. */
static sfid *open_before_end(sfid_options *opt, sfid_layout *layout, unsigned seq_bits,
                             const char *what) {
    static char app[40];
    static unsigned number;
    for (int i = 0;; i++) {
        sfid *g = NULL;
        snprintf(app, sizeof app, "%s-%u", what, number++);
        *layout = seq_bits == 17 ? ending(36, 11, 17, 1000, 3) : ending(16, 2, seq_bits, 1, 3000);
        opt->app = app;
        const int rc = sfid_open(&g, opt);
        if (rc == 0)
            return g;
        must(rc == SFID_EOVERFLOW && clock_past_end(layout) && i < TRIES, "%s: open: %s", what,
             sfid_last_error(g));
        sfid_close(g);
    }
}

static int64_t last_of(const struct drawer *drawers) {
    int64_t last = -1;
    for (unsigned i = 0; i < THREADS; i++)
        if (drawers[i].log.count > 0 && drawers[i].log.ids[drawers[i].log.count - 1] > last)
            last = drawers[i].log.ids[drawers[i].log.count - 1];
    return last;
}

/* What all were told, and when the first was told that it is over. */
static int64_t judge_codes(const struct drawer *drawers, const char *what) {
    unsigned late = 0, no_code = 0;
    int64_t other = 0, over_ns = INT64_MAX;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct drawer *d = &drawers[i];
        late += d->after_the_end;
        no_code += d->last_code != SFID_EOVERFLOW;
        other = other ? other : d->other_code;
        over_ns = d->over_ns < over_ns ? d->over_ns : over_ns;
    }
    is_u64(late, 0, "%s: no ID after the end was told", what);
    is_u64(no_code, 0, "%s: all threads are told SFID_EOVERFLOW", what);
    is_i64(other, 0, "%s: nobody is told anything else", what);
    return over_ns;
}

static void test_end(unsigned seq_bits, sfid_exhaustion exhaustion, const char *what) {
    struct drawer drawers[THREADS];
    char text[SFID_LAYOUT_STR_LEN];
    sfid_layout layout = SFID_LAYOUT_DEFAULT;
    sfid_parts parts;
    sfid_options opt = options_of(what, 1, &layout);
    const int64_t offset = clock_offset();
    int64_t last = -1;
    opt.exhaustion = exhaustion;
    opt.max_ahead_ms = AHEAD_MS;
    opt.max_wait_ms = TAP_WAIT_MS;
    for (int i = 0; last < 0 && i < TRIES; i++) { /* again if no thread was run before the end */
        sfid *g = open_before_end(&opt, &layout, seq_bits, what);
        draw_by_threads(g, &opt, drawers, 50, true, what);
        last = last_of(drawers);
        close_logs(drawers);
    }
    const int64_t over_ns = judge_codes(drawers, what);
    ok(sfid_parse(&layout, last, &parts) == 0 && parts.tick <= layout.max_tick,
       "%s: the last ID has a tick of the layout", what);
    diag("figure: %s: last tick issued %" PRIu64 " of %" PRIu64, what, parts.tick, layout.max_tick);
    if (!clock_stepped(offset))
        ok(over_ns >= begin_of(&layout, layout.max_tick) -
                          (exhaustion == SFID_BORROW ? AHEAD_MS * (int64_t)NS_PER_MS : 0),
           "%s: nobody is told so before the last tick", what);
    need(sfid_layout_format(&layout, text, sizeof text) == 0, "%s: no layout", what);
    judge(text, "per-file", UINT64_MAX, what);
    ok(tap_wait_until(clock_past_end, &layout, TAP_WAIT_MS), "%s: the end is reached", what);
    is_i64(try_open(&opt), SFID_EOVERFLOW, "%s: opened when it is over", what);
}

/* ---- the epoch, events -------------------------------------------------- */

static void test_epoch(void) {
    sfid_layout later = layout_of("41:10:12/1ms");
    later.epoch_ms = wall_ns() / NS_PER_MS + 3600000;
    const sfid_options opt = options_of("later", 1, &later);
    sfid *g = NULL;
    is_i64(sfid_open(&g, &opt), SFID_ECLOCK, "an epoch in the future");
    ok(strlen(sfid_last_error(g)) > 10, "it says so");
    sfid_close(g);
}

static void note_event(void *user, const sfid_event *event) {
    atomic_int *seen = user;
    if (event->kind == SFID_EVENT_END_OF_LIFE && event->value > 0 && strlen(event->text) > 10)
        atomic_fetch_add(seen, 1);
}

static void test_warning(void) {
    atomic_int seen = 0;
    const sfid_layout soon = ending(32, 2, 12, 1000, 3600), late = layout_of("36:11:17/1s");
    sfid_options opt = options_of("soon", 1, &soon);
    opt.on_event = note_event;
    opt.user = &seen;
    sfid *g = open_or_die(&opt);
    ok(flag_wait(&seen, 1, TAP_WAIT_MS), "a layout that ends within an hour: an event says so");
    sfid_close(g);
    atomic_store(&seen, 0);
    opt.app = "late";
    opt.layout = &late;
    g = open_or_die(&opt);
    ok(sfid_next(g) >= 0, "one that lasts for centuries");
    sfid_close(g);
    is_i64(seen, 0, "no such event for it");
}

int main(void) {
    dirs_make();
    test_short("41:10:4/1ms", SFID_WAIT, 0, "16-a-tick-wait");
    test_short("41:10:4/1ms", SFID_WAIT, 8, "16-a-tick-random-start");
    test_short("41:10:4/1ms", SFID_BORROW, 0, "16-a-tick-borrow");
    test_short("41:10:4/1ms", SFID_FAIL, 0, "16-a-tick-fail");
    test_short("41:10:1/1ms", SFID_WAIT, 0, "2-a-tick-wait");
    test_short("41:10:0/1ms", SFID_WAIT, 0, "1-a-tick-wait");
    test_end(10, SFID_WAIT, "end-wait");
    test_end(10, SFID_BORROW, "end-borrow");
    test_end(11, SFID_FAIL, "end-fail");
    test_end(17, SFID_WAIT, "end-of-the-default");
    test_epoch();
    test_warning();
    return done_testing();
}
