/* SPDX-License-Identifier: MIT */
/*
 * Each kind of event, raised by what it stands for: its fields are as sfid.h says and its text is
 * one sentence that can be printed. All come from the one background thread, one at a time, in the
 * order things happened; sfid_next, sfid_status and sfid_parse work inside, sfid_close does nothing
 * there. None comes after sfid_close has returned.
 *
 * Sizes: 200 times opened and closed while events are told (long: 2000; sanitizer: 40). The clock
 * is moved by a preloaded shim; an event about a file system that is no tmpfs takes one.
 */
#include "support/disk.h"
#include "listener.h"

#include <sys/resource.h>
#include <sys/vfs.h>

#define LAYOUT "41:4:8/1ms"

enum { TMPFS = 0x01021994 };

/* ---- the kinds ---------------------------------------------------------- */

/*
 * Files may not be written until the event has come and the window is over: nothing is said
 * meanwhile, since standard output may be one. Returns what the last call did.
 */
static int64_t refuse_writes_until(struct wanted *w) {
    struct rlimit files;
    int64_t id = 0;
    signal(SIGXFSZ, SIG_IGN);
    must(getrlimit(RLIMIT_FSIZE, &files) >= 0 &&
             setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, files.rlim_max}) >= 0,
         "setrlimit: %s", strerror(errno));
    tap_wait_until(has_come, w, TAP_WAIT_MS);
    for (struct patience p = {0}; id >= 0 && patient(&p, TAP_WAIT_MS); nap_us(100))
        id = sfid_next(w->g);
    setrlimit(RLIMIT_FSIZE, &files);
    return id;
}

/* A keeper that is late tells of what is left by then: one that is not will come. Draws
 * meanwhile. */
static bool long_window_told(void *arg) {
    struct wanted *w = arg;
    (void)!sfid_next(w->g);
    const int n = atomic_load(&w->l->n);
    for (int i = w->from; i < n && i < MOST; i++)
        if (w->l->seen[i].kind == SFID_EVENT_RENEWED && w->l->seen[i].value > 100)
            return true;
    return false;
}

static int64_t longest_window(const struct listener *l) {
    int64_t longest = 0;
    for (int i = 0; i < l->n && i < MOST; i++)
        if (l->seen[i].kind == SFID_EVENT_RENEWED && l->seen[i].value > longest)
            longest = l->seen[i].value;
    return longest;
}

static void test_window(void) {
    sfid_options opt = local_options("window", "local?lead_ms=300", &layout);
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = 20;
    opt.pid_min = opt.pid_max = 5;
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    atomic_store(&l->g, g);
    const struct seen *e = event_of(l, SFID_EVENT_LEASED, 0, NULL, "LEASED");
    ok(e->pid == 5 && e->code == 0 && strchr(e->text, '5'),
       "LEASED: its pid is the one that is held");
    const struct seen *renewed = event_of(l, SFID_EVENT_RENEWED, 0, g, "RENEWED");
    ok(renewed > e && renewed->pid == 5 && renewed->code == 0,
       "RENEWED: after LEASED, for the same pid");
    const bool is_long = tap_wait_until(
        long_window_told, &(struct wanted){l, SFID_EVENT_RENEWED, 0, g, NULL}, TAP_WAIT_MS);
    ok(is_long && longest_window(l) <= 304, "RENEWED: the value is the window it has now");
    int from = l->n;
    is_i64(refuse_writes_until(&(struct wanted){l, SFID_EVENT_RENEW_FAILED, from, g, NULL}),
           SFID_ELEASE, "the window ends");
    e = event_of(l, SFID_EVENT_RENEW_FAILED, from, NULL, "RENEW_FAILED");
    ok(e->code == SFID_ESTATE && e->pid == 5, "RENEW_FAILED: its code is why");
    ok(strstr(e->text, dirs.state) && strstr(e->text, "pid-5"),
       "RENEW_FAILED: the text names the file");
    from = l->n;
    event_of(l, SFID_EVENT_RENEWED, from, g, "RENEWED, when it can be");
    sfid_status_info st;
    ok(sfid_status(g, &st) == 0 && st.renewals >= 2 && st.renew_failures == 0, "and counted");
    event_of(l, SFID_EVENT_RENEWED, l->n, g, "RENEWED, a third of the window later");
    ok(sfid_status(g, &st) == 0 && st.waits > 0, "%" PRIu64 " calls waited", st.waits);
    ok(l->calls > 0, "IDs were drawn inside");
    close_and_check(g, l, "window");
    is_i64(l->by_kind[SFID_EVENT_EXHAUSTED], 0, "EXHAUSTED: not because a window ended");
    free(l);
}

static void test_clock(void) {
    sfid_options opt = local_options("clock", "local", &layout);
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    atomic_store(&l->g, g);
    const int64_t begin = mono_ns();
    bool good = sfid_next(g) > 0;
    atomic_fetch_sub(&disk.control->clock_offset_ns, 5000 * (int64_t)NS_PER_MS);
    good = good && sfid_next(g) > 0;
    const struct seen *e = event_of(l, SFID_EVENT_REGRESSION, 0, g, "REGRESSION");
    const int64_t took_ms = (mono_ns() - begin) / NS_PER_MS; /* the clock went on meanwhile */
    ok(good && e->value >= 4900 - took_ms && e->value <= 5100,
       "REGRESSION: the value is how far the clock went back");
    ok(e->pid == sfid_pid(g), "REGRESSION: pid");
    atomic_fetch_add(&disk.control->clock_offset_ns, 5000 * (int64_t)NS_PER_MS);
    good = sfid_next(g) > 0;
    atomic_fetch_sub(&disk.control->clock_offset_ns, 500 * (int64_t)NS_PER_MS);
    for (int i = 0; i < 1000; i++)
        good = good && sfid_next(g) > 0;
    atomic_fetch_add(&disk.control->clock_offset_ns, 500 * (int64_t)NS_PER_MS);
    close_and_check(g, l, "clock");
    ok(good && l->by_kind[SFID_EVENT_REGRESSION] == 1, "half a second is not worth an event");
    free(l);
}

static bool exhaustion_told(void *arg) {
    const struct listener *l = ((void **)arg)[0];
    const int64_t refused = *(int64_t *)((void **)arg)[1];
    int64_t told = 0;
    for (int i = 0; i < l->n && i < MOST; i++)
        told += l->seen[i].kind == SFID_EVENT_EXHAUSTED ? l->seen[i].value : 0;
    return told == refused;
}

static void test_exhausted(void) {
    sfid_options opt = local_options("exhausted", "local", &layout);
    opt.exhaustion = SFID_FAIL;
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    int64_t refused = 0;
    void *both[] = {l, &refused};
    for (int i = 0; i < 100000; i++)
        refused += sfid_next(g) == SFID_EAGAIN;
    ok(refused > 0, "%" PRIi64 " calls are refused", refused);
    const struct seen *e = event_of(l, SFID_EVENT_EXHAUSTED, 0, NULL, "EXHAUSTED");
    ok(e->value > 0 && e->pid == sfid_pid(g), "EXHAUSTED: the value is how many calls");
    ok(tap_wait_until(exhaustion_told, both, TAP_WAIT_MS), "EXHAUSTED: all of them, each once");
    close_and_check(g, l, "exhausted");
    free(l);
}

/*
 * The app is a copy of the caller's, and NULL where the caller gave none: also of flake, whose
 * parts are leased under a name. The pid is the one of the IDs, of flake the worker.
 */
static void test_apps(void) {
    char app[] = "copied", text[40];
    sfid_wide_layout flake;
    sfid_options opts[3] = {local_options(app, "local", &layout), SFID_OPTIONS_INIT,
                            SFID_OPTIONS_INIT};
    opts[1].pid = opts[2].pid = 3;
    opts[2].wide = &flake;
    must(sfid_wide_layout_parse("flake", &flake) >= 0, "no flake");
    for (size_t i = 0; i < COUNT_OF(opts); i++) {
        struct listener *l = listener_new(&opts[i]);
        l->app = i == 0 ? "copied" : NULL;
        sfid *g = open_or_die(&opts[i]);
        memset(app, 'x', sizeof app - 1);
        const struct seen *e = event_of(l, SFID_EVENT_LEASED, 0, NULL, "LEASED");
        is_i64(e->pid, sfid_pid(g), "LEASED: its pid is the one of the IDs");
        snprintf(text, sizeof text, "pid %" PRIi64 " is held", sfid_pid(g));
        is_str(e->text, text, "LEASED: so says the text");
        close_and_check(g, l, i == 0 ? "copied" : "no app");
        free(l);
    }
}

/* Each kind has the name, and the number that it had from the first release on. */
static void test_names(void) {
    int n = 0;
#define NAMED(name, number, level, text, value) \
    n++; \
    is_i64(SFID_EVENT_##name, number, "%s", text); \
    is_str(sfid_event_name(SFID_EVENT_##name), #name, "its name");
    SFID_EVENT_LIST(NAMED)
#undef NAMED
    is_i64(n, SFID_EVENT_KINDS - 1, "numbers have no gap");
    ok(SFID_EVENT_LEASED == 1 && SFID_EVENT_LEASED_AGAIN == 10 && SFID_EVENT_NO_STATE_DIR == 18,
       "nor were they given anew");
    ok(!sfid_event_name((sfid_event_kind)0) && !sfid_event_name((sfid_event_kind)SFID_EVENT_KINDS),
       "others have no name");
}

/* A layout that ends in about 200 days. */
static void test_end_of_life(void) {
    char text[80];
    const int64_t days = 86400000, now = wall_ns() / NS_PER_MS, life = (INT64_C(1) << 35),
                  epoch = now - life + 200 * days;
    snprintf(text, sizeof text, "35:4:8/1ms@%" PRIi64, epoch);
    const sfid_layout ending = layout_of(text);
    sfid_options opt = local_options("ending", "local", &ending);
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    const struct seen *e = event_of(l, SFID_EVENT_END_OF_LIFE, 0, NULL, "END_OF_LIFE");
    ok(e->value > 200 * days - 60000 && e->value <= 200 * days,
       "END_OF_LIFE: the value is what is left");
    close_and_check(g, l, "end of life");
    free(l);
}

static bool on_tmpfs(const char *path) {
    struct statfs fs;
    return statfs(path, &fs) == 0 && fs.f_type == TMPFS;
}

static void test_not_tmpfs(void) {
    char run[4300];
    const bool tmp = on_tmpfs(dirs.state);
    if (tmp && on_tmpfs(".")) {
        skip(2, "no file system here but tmpfs");
        return;
    }
    snprintf(run, sizeof run, "%s-run", tmp ? "tests/proc/events" : dirs.state);
    sfid_options opt = local_options("disk", "local", &layout);
    struct listener *l = listener_new(&opt);
    opt.run_dir = run;
    sfid *g = open_or_die(&opt);
    const struct seen *e = event_of(l, SFID_EVENT_NOT_TMPFS, 0, NULL, "NOT_TMPFS");
    ok(e->pid == sfid_pid(g) && sfid_next(g) > 0, "NOT_TMPFS: it works all the same");
    close_and_check(g, l, "not a tmpfs");
    remove_tree(run);
    free(l);
}

static void test_not_durable(void) {
    sfid_options opt = local_options("unsynced", "local?mark=none", &layout);
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    const struct seen *e = event_of(l, SFID_EVENT_NOT_DURABLE, 0, NULL, "NOT_DURABLE");
    ok(strstr(e->text, "power") != NULL, "NOT_DURABLE: the text says when it matters");
    event_of(l, SFID_EVENT_LEASED, 0, NULL, "LEASED, too");
    is_i64(l->by_kind[SFID_EVENT_NOT_DURABLE], 1, "NOT_DURABLE: once");
    is_i64(l->by_kind[SFID_EVENT_NOT_TMPFS] + l->by_kind[SFID_EVENT_END_OF_LIFE] +
               l->by_kind[SFID_EVENT_SLOT_REPLACED],
           0, "and nothing that is not so");
    close_and_check(g, l, "not durable");
    free(l);
}

static void test_slot_replaced(void) {
    sfid_options opt = local_options("spoilt", "local", &layout);
    char page[200];
    is_i64(pid_of_open(&opt), 0, "a pid is had and given back");
    snprintf(page, sizeof page, "%s/spoilt/pid-0", dirs.run);
    const int fd = open(page, O_WRONLY | O_CLOEXEC);
    ok(fd >= 0 && pwrite(fd, "nonsense", 8, 8) == 8 && close(fd) == 0, "its page is spoilt");
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    const struct seen *e = event_of(l, SFID_EVENT_SLOT_REPLACED, 0, NULL, "SLOT_REPLACED");
    ok(e->pid == 0 && sfid_pid(g) == 0 && sfid_next(g) > 0,
       "SLOT_REPLACED: the pid has another page");
    close_and_check(g, l, "slot replaced");
    free(l);
}

static void test_lost(void) {
    sfid_options opt = local_options("lost", "local?lead_ms=300", &layout);
    char state[4300];
    struct idlog log;
    opt.max_ahead_ms = 0;
    struct listener *l = listener_new(&opt);
    sfid *g = open_or_die(&opt);
    log_start(&log, 1000000, 1, IDLOG_ANY_PID, "lost");
    event_of(l, SFID_EVENT_RENEWED, 0, g, "RENEWED");
    idlog_put(&log, sfid_next(g));
    snprintf(state, sizeof state, "%s/lost", dirs.state);
    remove_tree(state);
    const struct seen *lost = event_of(l, SFID_EVENT_LOST, 0, g, "LOST"),
                      *again = event_of(l, SFID_EVENT_LEASED_AGAIN, 0, g, "LEASED_AGAIN");
    ok(lost->code < 0 && strstr(lost->text, state), "LOST: code and text tell why");
    is_i64(lost->pid, -1, "LOST: no pid is held");
    ok(again > lost && again->pid == sfid_pid(g) && again->code == 0,
       "LEASED_AGAIN: after LOST, with the pid that is held now");
    event_of(l, SFID_EVENT_RENEWED, (int)(again - l->seen), g, "RENEWED, as before");
    sfid_status_info st;
    ok(sfid_status(g, &st) == 0 && st.losses == 1, "the loss is counted");
    is_i64(l->by_kind[SFID_EVENT_LEASED], 1, "LEASED is told once");
    for (int i = 0; i < 1000; i++)
        idlog_put(&log, sfid_next(g));
    close_and_check(g, l, "lost");
    judge(LAYOUT, "per-file", UINT64_MAX, "lost");
    free(l);
}

/* ---- closed while events are told --------------------------------------- */

struct noise {
    sfid *g;
    pthread_t thread;
};

/* Uses up the sequence and sees the clock jump, until the handle is closed. */
static void *make_noise(void *arg) {
    struct noise *n = arg;
    for (int i = 0; sfid_next(n->g) != SFID_ECLOSED; i++)
        if (i % 500 == 0)
            atomic_fetch_add(&disk.control->clock_offset_ns,
                             (i / 500 % 2 ? 1 : -1) * 1500 * (int64_t)NS_PER_MS);
    return NULL;
}

static bool is_inside(void *arg) { return atomic_load(&((struct listener *)arg)->inside) > 0; }

/* The close begins at any moment, or inside a callback. */
static void close_amid_events(struct listener *l, sfid_options *opt, uint64_t *rng, bool inside) {
    struct noise n;
    l->linger_us = (long)(draw_random(rng) % 1500);
    l->awaits_close = inside;
    n.g = open_or_die(opt);
    atomic_store(&l->noisy, n.g);
    start_thread(&n.thread, make_noise, &n);
    nap_us((long)(draw_random(rng) % 8000));
    if (inside)
        tap_wait_until(is_inside, l, TAP_WAIT_MS);
    sfid_close(n.g);
    atomic_store(&l->closed, 1);
    pthread_join(n.thread, NULL);
}

static void test_closed(uint64_t *rng) {
    const uint64_t times = sized(200, 2000, 40);
    uint64_t late = 0, bad = 0, events = 0, in_the_middle = 0;
    /* freed in the end: whoever is late may still write there */
    struct listener **all = calloc(times, sizeof *all);
    for (uint64_t i = 0; all && i < times; i++) {
        sfid_options opt = local_options("noise", "local?lead_ms=100&mark=none", &layout);
        opt.exhaustion = SFID_FAIL;
        struct listener *l = all[i] = listener_new(&opt);
        close_amid_events(l, &opt, rng, i % 4 == 0);
        in_the_middle += (uint64_t)l->saw_close;
        events += (uint64_t)l->n;
        bad += l->bad_texts || l->bad_apps || l->foreign || l->many;
    }
    for (uint64_t i = 0; all && i < times; i++) {
        late += (uint64_t)all[i]->late;
        free(all[i]);
    }
    free(all);
    diag("figure: opened and closed %" PRIu64 " times: %" PRIu64 " events", times, events);
    is_u64(late, 0, "none comes, or goes on, after sfid_close has returned");
    is_u64(bad, 0, "all come from one thread, one at a time, with sentences");
    is_u64(in_the_middle, times / 4, "a fourth of the closes begin inside one");
    atomic_store(&disk.control->clock_offset_ns, 0);
}

int main(void) {
    uint64_t rng = 0;
    dirs_make();
    disk_begin(&rng);
    go_on_with_shim();
    rng = seed();
    layout = layout_of(LAYOUT);
    test_names();
    test_apps();
    test_window();
    test_clock();
    test_exhausted();
    test_end_of_life();
    test_not_tmpfs();
    test_not_durable();
    test_slot_replaced();
    test_lost();
    test_closed(&rng);
    return done_testing();
}
