/* SPDX-License-Identifier: MIT */
/*
 * The store "ordinal:" in whole processes: a pid that another host may have used waits without a
 * mark, until all that may have been issued there is past, however often it starts meanwhile; with
 * its mark it goes on at once. On one host it is held once.
 *
 * One size.
 */
#include "support/local.h"

#define LAYOUT "41:4:12/1ms"

enum { LEAD_MS = 300, BUDGET_MS = 1000, WAIT_MS = LEAD_MS + 1 + BUDGET_MS, TRIES = 5 };

static sfid_layout layout;

/* Short waits, and nothing ahead of the clock. */
static sfid_options options(const char *app, const char *store) {
    sfid_options opt = local_options(app, store, &layout);
    opt.max_ahead_ms = 0;
    opt.skew_budget_ms = BUDGET_MS;
    return opt;
}

static void number(const char *text) {
    must(setenv("SFID_TEST_ORDINAL", text, 1) >= 0, "setenv: %s", strerror(errno));
}

#define ENV "ordinal:env=SFID_TEST_ORDINAL?lead_ms=300"
/* for calls that may not wait: no window ends before them */
#define ENV_LONG "ordinal:env=SFID_TEST_ORDINAL?lead_ms=60000"

static void lose(const char *below, const char *app) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", below, app);
    remove_tree(path);
}

/* ---- no mark ---------------------------------------------------------------- */

/* A process without a mark, while its wait lasts. */
struct at_first {
    sfid *g;
    uint64_t begin, soon; /* before the open, after the look */
    int64_t refused;
    int ready, retry_ms;
    char text[400];
};

/* False if the machine was so slow that the wait may have been over. */
static bool look_at_first(const sfid_options *opt, struct at_first *f) {
    f->begin = tick_now(&layout);
    f->g = open_or_die(opt);
    f->refused = sfid_try_next(f->g);
    f->ready = sfid_ready(f->g);
    f->retry_ms = sfid_retry_ms(f->g);
    snprintf(f->text, sizeof f->text, "%s", sfid_last_error(f->g));
    f->soon = tick_now(&layout);
    return f->soon < f->begin + WAIT_MS;
}

/* A window may end between two calls of a machine that is slow. */
static bool draws_and_is_ready(void *g) { return sfid_next(g) >= 0 && sfid_ready(g) == 1; }

static void waits(void) {
    static const char *const apps[TRIES] = {"waits", "waits-2", "waits-3", "waits-4", "waits-5"};
    sfid_options opt = options(apps[0], ENV);
    struct at_first f;
    bool seen;
    number("orders-3");
    for (int i = 0; !(seen = look_at_first(&opt, &f)) && i + 1 < TRIES;) {
        sfid_close(f.g);
        opt.app = apps[++i];
    }
    const uint64_t bound = mark_tick(opt.app, 3, &layout);
    is_i64(sfid_pid(f.g), 3, "host orders-3 has pid 3");
    ok(seen, "it is looked at while it waits");
    ok(strstr(f.text, "may have been issued before the run directory or the mark was lost") != NULL,
       "it says \"%s\"", f.text);
    is_i64(f.refused, SFID_EAGAIN, "without a mark it has no ID at first");
    is_i64(f.ready, 0, "it is not ready");
    ok(f.retry_ms > 0 && f.retry_ms <= WAIT_MS + 1, "sfid_retry_ms says %d", f.retry_ms);
    const int64_t id = next_within(f.g, TAP_WAIT_MS);
    ok(id >= 0 && id_tick(&layout, id) >= f.begin + WAIT_MS,
       "its first ID comes after window and skew budget");
    ok(bound >= f.begin + WAIT_MS && bound <= f.soon + WAIT_MS,
       "which its mark said, and not later");
    is_i64(id_pid(&layout, id), 3, "and bears the pid");
    ok(tap_wait_until(draws_and_is_ready, f.g, TAP_WAIT_MS), "now it is ready");
    sfid_close(f.g);
    opt.store = ENV_LONG;
    sfid *g = open_or_die(&opt);
    ok(sfid_try_next(g) > id, "closed and opened, it has an ID at once");
    sfid_close(g);
}

/* The operator says that the pid was used nowhere else. */
static void trusts(void) {
    sfid_options opt = options("trusts", ENV_LONG);
    opt.on_unknown = SFID_TRUST;
    sfid *g = open_or_die(&opt);
    ok(sfid_try_next(g) >= 0, "SFID_TRUST: an ID at once, without a mark");
    sfid_close(g);
    lose(dirs.state, "trusts");
    opt.on_unknown = SFID_WAIT_OUT;
    g = open_or_die(&opt);
    is_i64(sfid_ready(g), 0,
           "the mark is lost: the page of this host does not say what others did, so it waits");
    sfid_close(g);
}

static int open_and_die(void *arg) {
    (void)!open_or_die(arg);
    return 0;
}

/* Each start would find a later moment, if the first had not left it in the mark. */
static void starts_again_and_again(void) {
    sfid_options opt = options("again", "ordinal:env=SFID_TEST_ORDINAL?lead_ms=60000");
    opt.skew_budget_ms = 60000;
    const uint64_t begin = tick_now(&layout);
    is_i64(child_run(open_and_die, &opt, TAP_WAIT_MS), 0,
           "a process without a mark dies before its first ID");
    const uint64_t first = mark_tick("again", 3, &layout);
    ok(first >= begin + 120000, "its mark says what it waits for");
    for (int i = 0; i < 3; i++) {
        lose(dirs.run, "again");
        is_i64(child_run(open_and_die, &opt, TAP_WAIT_MS), 0, "so does the next, its page lost");
    }
    is_u64(mark_tick("again", 3, &layout), first, "the moment stays the same");
    is_i64(pid_of_open(&opt), 3, "one is closed before it");
    is_u64(mark_tick("again", 3, &layout), first, "and stays the same");
}

/*
 * One host draws as far ahead as it may, and ends. The pid comes to another host at once, which has
 * neither mark nor page. So few numbers a tick are used up faster than the clock goes on any
 * machine.
 */
static void moves(void) {
    const sfid_layout few = layout_of("41:4:6/1ms");
    sfid_options opt = options("moves", ENV);
    int64_t last = 0, ids[512];
    char run[4400], state[4400];
    opt.layout = &few;
    opt.max_wait_ms = TAP_WAIT_MS;
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 1000;
    opt.on_unknown = SFID_TRUST;
    sfid *g = open_or_die(&opt);
    sfid_status_info st = {.ahead_ms = 0};
    const int64_t far_ms = shares() ? 600 : 950; /* who shares goes half a window ahead at most */
    while (last >= 0 && st.ahead_ms < far_ms && sfid_status(g, &st) == 0) {
        const int64_t n = sfid_next_n(g, ids, COUNT_OF(ids));
        last = n > 0 ? ids[n - 1] : -1;
    }
    ok(last > 0, "a host issues %" PRId64 " ms ahead of the clock", st.ahead_ms);
    sfid_close(g);
    snprintf(run, sizeof run, "%s.other", dirs.run);
    snprintf(state, sizeof state, "%s.other", dirs.state);
    opt.run_dir = run;
    opt.state_dir = state;
    opt.on_unknown = SFID_WAIT_OUT;
    g = open_or_die(&opt);
    const int64_t first = next_within(g, TAP_WAIT_MS);
    ok(first > last, "the pid comes to another host: its IDs lie above");
    diag("figure: the first one %" PRId64 " ms above",
         (int64_t)id_tick(&few, first) - (int64_t)id_tick(&few, last));
    sfid_close(g);
    remove_tree(run);
    remove_tree(state);
}

/* ---- the mark is here ------------------------------------------------------- */

static void continues(void) {
    sfid_options opt = options("continues", ENV_LONG);
    opt.on_unknown = SFID_TRUST;
    struct holder *h = holder_start(&opt, false);
    const int64_t last = h->last;
    ok(h->pid == 3 && last >= 0, "a process has pid 3");
    opt.on_unknown = SFID_WAIT_OUT;
    is_i64(holder_end(h, true), 0, "it is killed");
    munmap(h, sizeof *h);
    sfid *g = open_or_die(&opt);
    const int64_t id = sfid_try_next(g);
    ok(id_pid(&layout, id) == 3 && id > last, "the next one goes on at once, above");
    sfid_close(g);
    lose(dirs.run, "continues");
    g = open_or_die(&opt);
    is_i64(sfid_ready(g), 1,
           "where its state directory has moved to, with no page, it goes on at once");
    ok(next_within(g, TAP_WAIT_MS) > id, "above");
    sfid_close(g);
}

static void is_held_once(void) {
    const sfid_options opt = options("once", ENV), fixed = options_of("once", 3, &layout);
    sfid *g = NULL;
    struct holder *h = holder_start(&opt, true);
    is_i64(h->pid, 3, "a process has pid 3");
    is_i64(sfid_open(&g, &opt), SFID_EBUSY,
           "another one with the same ordinal on this host does not get it");
    ok(strstr(sfid_last_error(g), "pid 3 is in use") != NULL, "it says \"%s\"", sfid_last_error(g));
    sfid_close(g);
    is_i64(try_open(&fixed), SFID_EBUSY, "nor does one that fixes the pid");
    number("orders-4");
    is_i64(pid_of_open(&opt), 4, "another ordinal is another pid");
    number("orders-16");
    is_i64(try_open(&opt), SFID_EINVAL, "a number that no pid has is refused");
    number("orders");
    is_i64(try_open(&opt), SFID_EINVAL, "so is a name without one");
    number("orders-3");
    holder_end(h, false);
    is_i64(pid_of_open(&opt), 3, "it is given back");
    munmap(h, sizeof *h);
}

/* A process that holds the pid has used it alone: for a lost mark it does not stop. */
static void loses_its_mark(void) {
    sfid_options opt = options("loses", ENV);
    opt.on_unknown = SFID_TRUST;
    opt.max_wait_ms = 1;
    sfid *g = open_or_die(&opt);
    sfid_status_info st = {.losses = 0};
    struct patience p = {0};
    int64_t id = next_within(g, TAP_WAIT_MS);
    sfid_close(g);
    opt.on_unknown = SFID_WAIT_OUT;
    opt.skew_budget_ms = 3600000;
    g = open_or_die(&opt);
    lose(dirs.state, "loses");
    while (st.losses == 0 && patient(&p, TAP_WAIT_MS) && sfid_status(g, &st) == 0)
        id = next_within(g, TAP_WAIT_MS);
    ok(id >= 0 && st.losses > 0, "the state directory is removed under a process");
    /* what it had before is used up by then */
    const uint64_t then = tick_now(&layout) + 2 * (LEAD_MS + 1);
    while (id >= 0 && id_tick(&layout, id) < then)
        id = next_within(g, TAP_WAIT_MS);
    ok(id >= 0, "it makes the mark anew, and goes on");
    sfid_close(g);
}

/* Processes of one host, with one pid. */
static void shares_it(void) {
    sfid_options opt = options("shares", ENV "&share=1");
    opt.on_unknown = SFID_TRUST;
    struct holder *a = holder_start(&opt, true), *b = holder_start(&opt, true);
    ok(a->pid == 3 && b->pid == 3, "share=1: two processes have pid 3");
    ok(a->first >= 0 && b->first >= 0 && a->first != b->first, "and different IDs");
    holder_end(a, false);
    holder_end(b, false);
    munmap(a, sizeof *a);
    munmap(b, sizeof *b);
}

int main(void) {
    dirs_make();
    layout = layout_of(LAYOUT);
    number("orders-3");
    waits();
    trusts();
    starts_again_and_again();
    moves();
    continues();
    is_held_once();
    loses_its_mark();
    shares_it();
    return done_testing();
}
