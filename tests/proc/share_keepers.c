/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a shared page is killed, or stopped, again and again. The other processes generate
 * without one error, and the next one keeps. A stopped keeper that goes on harms nobody, wherever
 * it was stopped: at each system call of a renewal it is held for three windows, while another
 * keeps. With all four seats taken by stopped keepers IDs end with the window; when one of them
 * goes on, so do IDs. Processes whose calls may not sleep get IDs or SFID_EAGAIN, idle or not, and
 * after a kill.
 *
 * Sizes: 6 kills, 6 stops in turn (long: 100 each), every 7th stop at system calls around a renewal
 * (long: each; sanitizer: every 11th). The window is 0.4 s.
 */
#include "draw/generator.h"
#include "support/local.h"
#include "worst.h"

#include <sys/ptrace.h>

#define LAYOUT "41:10:12/1ms"
#define APP "kept"

#define STORE "local?lead_ms=400&share=1"

enum { LEAD_MS = 400, WORKERS = 7, LOG_ROOM = 1 << 17, SEATS = 4, MOST_STOPS = 40 };

/*
 * NEXT_MS: a keeper that is dead or stopped has a successor within less. A call that may not sleep
 * gives it up after twice that time, and then says SFID_ELEASE. AT_ONCE_MS: a keeper that rests
 * renews when it is asked, and not after a second.
 */
enum { NEXT_MS = 1000, AT_ONCE_MS = 500 };

static sfid_layout layout;

static struct worker {
    _Atomic int keeps; /* as sfid_status() tells */
    _Atomic int64_t drawn, errors, an_error, pid;
    _Atomic int may_fail, may_end;
} * workers;

static pid_t process_of[WORKERS];
static _Atomic int64_t *highest;
/* time without an ID, of any worker that wants one and may not fail */
static struct worst *longest;
static int64_t errors_before; /* of workers that were killed */

/* ---- a worker ------------------------------------------------------------- */

static int work(void *arg) {
    struct worker *w = arg;
    struct idlog log;
    sfid_status_info st;
    sfid_options opt = local_options(APP, STORE, &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = TAP_WAIT_MS;
    witness_begin();
    sfid *g = open_or_die(&opt);
    log_start(&log, LOG_ROOM, 1, IDLOG_ANY_PID, "%d", (int)getpid());
    atomic_store(&w->pid, sfid_pid(g));
    while (!atomic_load(&w->may_end)) {
        const int64_t before = atomic_load(highest), called_ms = tap_now_ms();
        const int64_t id = sfid_next(g);
        if (!atomic_load(&w->may_fail))
            worst_since(longest, called_ms);
        if (id > 0) {
            idlog_put(&log, id);
            atomic_fetch_add(&w->drawn, 1);
            raise_to(highest, id);
        }
        if (id < 0 && !atomic_load(&w->may_fail)) {
            atomic_fetch_add(&w->errors, 1);
            atomic_store(&w->an_error, id);
        }
        if (id > 0 && id <= before)
            atomic_fetch_add(&w->errors, 1);
        if (sfid_status(g, &st) == 0)
            atomic_store(&w->keeps, st.keeper_here);
        nap_us(2000);
    }
    sfid_close(g);
    return 0;
}

static void start(int i) {
    /* killed, it is started again */
    errors_before += process_of[i] > 0 ? atomic_load(&workers[i].errors) : 0;
    memset((void *)&workers[i], 0, sizeof workers[i]);
    workers[i].pid = -1;
    process_of[i] = child_start(work, &workers[i]);
}

static bool has_drawn(void *arg) { return atomic_load(&((struct worker *)arg)->drawn) > 0; }

static void start_all(int n) {
    for (int i = 0; i < n; i++) {
        start(i);
        must(tap_wait_until(has_drawn, &workers[i], TAP_WAIT_MS),
             "a worker does not draw: %" PRIi64, workers[i].an_error);
    }
}

static void end_all(void) {
    for (int i = 0; i < WORKERS; i++) {
        atomic_store(&workers[i].may_end, 1);
        if (process_of[i] > 0) {
            kill(process_of[i], SIGCONT);
            is_i64(child_wait(process_of[i], TAP_WAIT_MS), 0, "a worker ends");
        }
        process_of[i] = 0;
    }
}

static int64_t errors(void) {
    int64_t n = errors_before;
    for (int i = 0; i < WORKERS; i++) {
        n += atomic_load(&workers[i].errors);
        if (atomic_load(&workers[i].errors))
            diag("worker %d: %" PRIi64 ", its pid %" PRIi64, i, atomic_load(&workers[i].an_error),
                 atomic_load(&workers[i].pid));
    }
    return n;
}

/* ---- keepers -------------------------------------------------------------- */

struct search {
    bool skip[WORKERS]; /* the stopped ones */
    int found;
};

static bool somebody_keeps(void *arg) {
    struct search *s = arg;
    for (s->found = WORKERS - 1; s->found >= 0; s->found--)
        if (!s->skip[s->found] && process_of[s->found] > 0 &&
            atomic_load(&workers[s->found].keeps) == 1)
            return true;
    return false;
}

static int keeper_beside(struct search *s) {
    return tap_wait_until(somebody_keeps, s, TAP_WAIT_MS) ? s->found : -1;
}

static void nobody_waited(const char *what) {
    in_time(worst_of(longest), NEXT_MS, "%s: and none waits for long", what);
    *longest = (struct worst){0};
}

static void killed(void) {
    unsigned missing = 0;
    start_all(3);
    for (uint64_t i = 0; i < sized(6, 100, 5); i++) {
        struct search any = {.found = 0};
        const int k = keeper_beside(&any);
        missing += k < 0;
        if (k < 0)
            break;
        nap_us((long)(i * 7919 % 300) * 1000);
        child_kill(process_of[k]);
        start(k);
    }
    nap_us(1000L * LEAD_MS);
    is_u64(missing, 0, "killed: there is a next keeper each time");
    is_i64(errors(), 0, "killed: no call of another process fails");
    nobody_waited("killed");
    end_all();
}

static void stopped(void) {
    unsigned missing = 0;
    start_all(4);
    for (uint64_t i = 0; i < sized(6, 100, 5) && missing == 0; i++) {
        struct search others = {.found = 0};
        const int k = keeper_beside(&others);
        missing += k < 0;
        if (k < 0)
            break;
        kill(process_of[k], SIGSTOP);
        others.skip[k] = true;
        missing += keeper_beside(&others) < 0;
        nap_us(1000L * LEAD_MS);
        kill(process_of[k], SIGCONT);
        nap_us(50000);
    }
    is_u64(missing, 0, "stopped: another keeps each time");
    is_i64(errors(), 0,
           "stopped: no call of another process fails, and none of its own when it goes on");
    nobody_waited("stopped");
    end_all();
}

/* An ID that the window with this limit did not allow. */
static bool goes_on(void *limit) {
    return id_tick(&layout, atomic_load(highest)) >= *(uint64_t *)limit;
}

/* A look at the page from this process, which never keeps it. */
static uint64_t limit_seen(const sfid *g, bool *over) {
    sfid_status_info st;
    must(sfid_status(g, &st) == 0, "no status");
    *over = st.window_ms == 0;
    return st.limit_tick;
}

/* Whether somebody extends the window, although it should have ended. *limit: where it ends now. */
static bool is_extended(const sfid *g, uint64_t *limit) {
    bool over;
    nap_us(3000L * LEAD_MS);
    const uint64_t before = limit_seen(g, &over);
    nap_us(1000L * LEAD_MS);
    *limit = limit_seen(g, &over);
    return !over || *limit != before;
}

static void stop_keeper(struct search *awake, int k) {
    kill(process_of[k], SIGSTOP);
    awake->skip[k] = true;
}

static void seats(void) {
    struct search awake = {.found = 0};
    sfid_options joining = local_options(APP, STORE, &layout);
    uint64_t limit = 0;
    int last = -1;
    bool over = false;
    joining.share = 2;
    start_all(WORKERS);
    sfid *g = open_or_die(&joining);
    for (int i = 0; i < SEATS; i++) {
        const int k = keeper_beside(&awake);
        if (!ok(k >= 0, "seat %d: somebody keeps", i))
            break;
        for (int w = 0; i == SEATS - 1 && w < WORKERS; w++)
            atomic_store(&workers[w].may_fail, 1);
        stop_keeper(&awake, last = k);
    }
    /* Who says that it keeps may have lost its seat a moment ago. Then somebody else keeps, and is
     * stopped too. */
    for (int n = SEATS; n < WORKERS && is_extended(g, &limit); n++) {
        const int k = n < WORKERS - 1 ? keeper_beside(&awake) : -1;
        if (k < 0)
            break;
        stop_keeper(&awake, last = k);
    }
    is_u64(limit_seen(g, &over), limit,
           "with every seat's keeper stopped, nobody extends the window");
    ok(over && !goes_on(&limit), "and IDs end with it");
    sfid_close(g);
    kill(process_of[last], SIGCONT);
    ok(tap_wait_until(goes_on, &limit, TAP_WAIT_MS), "one of them goes on, and so do IDs");
    is_i64(errors(), 0, "no other call failed");
    nobody_waited("before that");
    end_all();
}

static void hear_nothing(void *user, const sfid_event *e) { (void)user, (void)e; }

/* ---- calls that may not sleep ------------------------------------------------ */

/* Two processes that call sfid_try_next() alone. One of them keeps, and is killed. */
static int try_alone(void *arg) {
    struct worker *w = arg;
    sfid_status_info st;
    sfid_options opt = local_options("tried", STORE, &layout);
    opt.max_ahead_ms = 0;
    witness_begin();
    sfid *g = open_or_die(&opt);
    int64_t since_ms = tap_now_ms();
    for (int64_t last = 0; !atomic_load(&w->may_end); nap_us(500)) {
        const int ready = sfid_ready(g);
        const int64_t id = sfid_try_next(g);
        const bool refused = !ready || (id < 0 && id != SFID_EAGAIN),
                   given_up = tap_now_ms() - since_ms > NEXT_MS;
        if ((refused && !given_up) || (id > 0 && id <= last)) {
            atomic_fetch_add(&w->errors, 1);
            atomic_store(&w->an_error, id);
        }
        if (id > last) {
            atomic_fetch_add(&w->drawn, 1);
            worst_since(longest, since_ms);
            since_ms = tap_now_ms();
            last = id;
        }
        if (sfid_status(g, &st) == 0)
            atomic_store(&w->keeps, st.keeper_here);
    }
    sfid_close(g);
    return 0;
}

struct drawing_on {
    struct worker *w;
    int64_t until;
};

static bool has_drawn_on(void *arg) {
    const struct drawing_on *d = arg;
    return atomic_load(&d->w->drawn) >= d->until;
}

static void tried(void) {
    for (int i = 0; i < 2; i++) {
        memset((void *)&workers[i], 0, sizeof workers[i]);
        process_of[i] = child_start(try_alone, &workers[i]);
    }
    nap_us(3000L * LEAD_MS);
    struct search any = {.found = 0};
    const int k = keeper_beside(&any);
    ok(k >= 0, "calls that may not sleep: one of the processes keeps");
    if (k >= 0)
        child_kill(process_of[k]);
    process_of[k >= 0 ? k : 0] = 0;
    nap_us(1000L * LEAD_MS);
    struct drawing_on other = {&workers[k == 0], atomic_load(&workers[k == 0].drawn) + LEAD_MS / 4};
    ok(tap_wait_until(has_drawn_on, &other, TAP_WAIT_MS),
       "when it is killed the other one goes on");
    is_i64(errors(), 0, "no call fails but with SFID_EAGAIN, and sfid_ready() says so");
    nobody_waited("calls that may not sleep");
    end_all();
}

static bool is_ready(void *g) { return sfid_ready(g) == 1; }

/* Nobody wants an ID until the window is over; then somebody does. */
static void after_idling(bool with_events) {
    sfid_options opt = local_options("idle", "local?lead_ms=3200&share=1", &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = 0;
    opt.exhaustion = SFID_FAIL;
    if (with_events)
        opt.on_event = hear_nothing;
    sfid *g = open_or_die(&opt);
    int64_t id = sfid_next(g), failed = 0;
    nap_us(3700000);
    /* The keeper may be about to rest. */
    ok(tap_wait_until(is_ready, g, TAP_WAIT_MS), "idle past the window%s: ready all the same",
       with_events ? ", with events" : "");
    const int64_t begin_ms = tap_now_ms();
    struct patience p = {0};
    while ((id = sfid_next(g)) < 0 && patient(&p, TAP_WAIT_MS))
        failed += id != SFID_EAGAIN && tap_now_ms() - begin_ms < NEXT_MS;
    const struct took took = took_since(begin_ms);
    is_i64(failed, 0, "no call fails but with SFID_EAGAIN");
    ok(id > 0, "there is an ID");
    in_time(took, AT_ONCE_MS, "and the window is renewed at once (%" PRIi64 " ms)", took.ms);
    sfid_close(g);
}

/* A second failure comes after the first one has been told to all. */
static bool has_failed(void *g) {
    sfid_status_info st;
    return sfid_try_next(g) == SFID_ELEASE && sfid_status(g, &st) == 0 && st.renew_failures > 1;
}

/* A keeper that fails is none to wait for. */
static void without_directories(void) {
    char app[4400];
    sfid_options opt = local_options("lost", STORE, &layout);
    opt.max_ahead_ms = 0;
    sfid *g = open_or_die(&opt);
    snprintf(app, sizeof app, "%s/lost", dirs.run);
    remove_tree(app);
    snprintf(app, sizeof app, "%s/lost", dirs.state);
    remove_tree(app);
    ok(tap_wait_until(has_failed, g, TAP_WAIT_MS), "the directories are gone: renewals fail");
    int64_t wrong = 0;
    for (int i = 0; i < 500; i++, nap_us(1000))
        wrong += sfid_try_next(g) != SFID_ELEASE || sfid_ready(g) != 0;
    is_i64(
        wrong, 0,
        "the directories are gone: SFID_ELEASE once the window is over, and sfid_ready() says 0");
    sfid_close(g);
}

/* ---- late writes ------------------------------------------------------------ */

/* It has its name a moment after it says that it keeps. */
static bool has_keeper(void *process) {
    return thread_named(*(pid_t *)process, "sfid-keeper", NULL) != 0;
}

/* Holds the keeper's thread at its n-th stop, for three windows. False if nobody else keeps
 * meanwhile. */
static bool held_at(unsigned n) {
    struct search any = {.found = 0}, others = {.skip = {true}};
    int count = 0;
    start_all(1);
    must(keeper_beside(&any) == 0, "nobody keeps");
    must(tap_wait_until(has_keeper, &process_of[0], TAP_WAIT_MS), "there is no keeper's thread");
    const pid_t thread = thread_named(process_of[0], "sfid-keeper", &count);
    for (int i = 1; i < 3; i++)
        start(i);
    trace_hold(thread, n);
    const bool kept = keeper_beside(&others) > 0;
    nap_us(3000L * LEAD_MS);
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    nap_us(50000);
    return kept;
}

/* What the mark says has to cover all IDs, whatever the late keeper has written. */
static void lose_the_page(void) {
    char run[200];
    for (int i = 0; i < WORKERS; i++)
        if (process_of[i] > 0)
            child_kill(process_of[i]);
    memset(process_of, 0, sizeof process_of);
    snprintf(run, sizeof run, "%s/" APP, dirs.run);
    remove_tree(run);
}

static bool goes_on_above(void) {
    sfid_options opt = local_options(APP, STORE, &layout);
    opt.max_ahead_ms = 0;
    opt.pid_min = opt.pid_max = 0;
    sfid *g = open_or_die(&opt);
    const int64_t id = next_within(g, TAP_WAIT_MS);
    const int64_t last = atomic_load(highest); /* of another pid: in the same tick, perhaps */
    const bool above = id > last || (id_pid(&layout, id) != id_pid(&layout, last) &&
                                     id_tick(&layout, id) == id_tick(&layout, last));
    if (!above)
        diag("got %" PRIi64 " after %" PRIi64, id, atomic_load(highest));
    sfid_close(g);
    return above;
}

static void late_writes(void) {
    unsigned trials = 0, unkept = 0, repeated = 0;
    int64_t failed = 0;
    for (unsigned n = 1; n <= MOST_STOPS; n += (unsigned)sized(7, 1, 11), trials++) {
        unkept += !held_at(n);
        failed += errors();
        lose_the_page();
        repeated += !goes_on_above();
    }
    is_u64(unkept, 0, "held at a system call (%u trials): another keeps", trials);
    is_i64(failed, 0, "held at a system call: no call fails");
    nobody_waited("held at a system call");
    is_u64(repeated, 0, "what a late keeper writes does not set the mark back");
}

/* Who opens the page first, too: a copy of the machine begins above half a window. */
static void no_further_than_half_a_window(void) {
    sfid_options opt = local_options("half", "local?share=1&lead_ms=1000", &layout);
    opt.max_ahead_ms = 10000;
    sfid *first = open_or_die(&opt);
    const struct sfid__generator *g = (const struct sfid__generator *)(const void *)first;
    is_u64(g->max_ahead, 11001 / 2,
           "the first process of a page is ahead of the clock by half a window at most");
    sfid_close(first);
}

int main(void) {
    seed();
    dirs_make();
    witness_begin();
    /* what is tested is not how long a disk takes */
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm);
    layout = layout_of(LAYOUT);
    workers = shared_memory(WORKERS * sizeof *workers);
    highest = shared_memory(sizeof *highest);
    longest = shared_memory(sizeof *longest);
    killed();
    stopped();
    seats();
    tried();
    after_idling(false);
    after_idling(true);
    without_directories();
    no_further_than_half_a_window();
    judge(LAYOUT, "per-file", UINT64_MAX, "killed and stopped");
    if (!can_trace()) {
        skip(5, "cannot trace a thread here");
        return done_testing();
    }
    late_writes();
    judge(LAYOUT, "per-file", UINT64_MAX, "late writes");
    return done_testing();
}
