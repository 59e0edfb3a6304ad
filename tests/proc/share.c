/* SPDX-License-Identifier: MIT */
/*
 * Processes that share a page: one pid, one order, one descriptor and no thread for who joins, a
 * keeper when it is needed; the last one out gives the pid back with the exact position, so that
 * lives one after another leave no gap, however they end; one that never keeps; terms that differ;
 * a fixed pid; others that do not share; forked children; directories that are removed.
 */
#include "support/lives.h"

#include <glob.h>
#include <sys/file.h>

#define LAYOUT "41:10:12/1ms"
#define STORE "local?share=1"

enum { LIVES = 24, JOINS = 20 };

static sfid_layout layout;
static const sfid_layout *const slow = &SFID_LAYOUT_DEFAULT; /* ticks of a second */

static sfid_options shared(const char *app) { return local_options(app, STORE, &layout); }

static int64_t one(sfid *g) { return next_within(g, TAP_WAIT_MS); }

static void lose(const char *root, const char *app) {
    char dir[4400];
    snprintf(dir, sizeof dir, "%s/%s", root, app);
    remove_tree(dir);
}

/* ---- two processes -------------------------------------------------------- */

/* A keeper's thread has this name once it has sat down. */
static bool is_keeper(void *process) {
    return thread_named(*(pid_t *)process, "sfid-keeper", NULL) != 0;
}

static struct holder *keeper_start(const sfid_options *opt) {
    struct holder *h = holder_start(opt, true);
    ok(tap_wait_until(is_keeper, &h->child, TAP_WAIT_MS), "the process that opens first keeps");
    return h;
}

static bool keeps_here(void *g) {
    sfid_status_info st;
    return sfid_status(g, &st) == 0 && st.shared == 1 && st.keeper_here == 1;
}

static void in_one_order(void) {
    const sfid_options opt = shared("order");
    const int threads = threads_before(), fds = count_fds();
    struct holder *h = keeper_start(&opt);
    sfid *g = open_or_die(&opt);
    sfid_status_info st;
    ok(h->rc == 0 && h->pid == 0 && sfid_pid(g) == 0, "two processes have one pid");
    ok(h->first > 0 && one(g) > h->first, "an ID is above those that the other process had before");
    is_i64(count_threads(), threads, "no thread is started");
    is_i64(count_fds(), fds + 1 + fds_of_a_lock(tap_tmpdir()), "one descriptor more is open");
    ok(sfid_status(g, &st) == 0 && st.shared == 1 && st.keeper_here == 0,
       "the status says that the page is shared");
    is_i64(holder_end(h, false), 0, "the other closes");
    ok(one(g) > h->last, "and this one goes on above");
    sfid *again = open_or_die(&opt);
    const int64_t next = one(again);
    ok(sfid_pid(again) == 0 && next > 0 && one(g) > next,
       "two handles of one process share as well");
    sfid_close(again);
    ok(one(g) > next, "and one of them may be closed");
    sfid_close(g);
    is_i64(count_fds(), fds, "after the close no descriptor is left");
}

static void hear(void *keeps, const sfid_event *e) {
    if (e->kind == SFID_EVENT_KEEPS)
        atomic_store((atomic_int *)keeps, 1);
}

/* Counted again and again: a thread that finds another keeper ends at once. One with events has its
 * name before it has sat down. */
static void joins_without_a_thread(bool with_events) {
    const sfid_options opt = shared("threads");
    sfid_options first = opt;
    first.user = shared_memory(sizeof(atomic_int));
    first.on_event = with_events ? hear : NULL;
    const int threads = threads_before();
    struct holder *h = keeper_start(&first);
    if (with_events)
        ok(flag_wait(first.user, 1, TAP_WAIT_MS), "and has sat down");
    unsigned more = 0;
    for (int i = 0; i < JOINS; i++) {
        sfid *g = open_or_die(&opt);
        more += count_threads() > threads;
        sfid_close(g);
    }
    is_u64(more, 0, "%d opens beside it%s start no thread", JOINS,
           with_events ? ", which has events," : "");
    is_i64(holder_end(h, false), 0, "it closes");
}

/* Tries until there is no ID. Returns the code; *last becomes the last ID. */
static int64_t use_up(sfid *g, int64_t *last) {
    int64_t id, since = mono_ns();
    for (struct patience p = {0}; (id = sfid_try_next(g)) >= 0 && patient(&p, TAP_WAIT_MS);
         nap_us(1000)) {
        *last = id;
        since = mono_ns();
    }
    /* Asked at half of the window, and seconds ago since this thread was late, the keeper was
     * lost. */
    return id == SFID_ELEASE && mono_ns() - since > 1000 * (int64_t)NS_PER_MS ? SFID_EAGAIN : id;
}

/* The other process, which has opened first, ends. Nothing but try is called here, and the window
 * is 0.3 s. */
static void keeps_in_need(bool killed, bool asks_status) {
    sfid_options opt = local_options("in-need", "local?share=1&lead_ms=300", &layout);
    opt.max_ahead_ms = 0;
    int threads = threads_before();
    struct holder *h = keeper_start(&opt);
    sfid *g = open_or_die(&opt);
    int64_t last = h->first;
    sfid_status_info st;
    holder_end(h, killed);
    ok(use_up(g, &last) == SFID_EAGAIN && count_threads() == threads,
       "the keeper's process has %s: a call that may not sleep starts none",
       killed ? "been killed" : "closed");
    const int64_t id = asks_status ? sfid_status(g, &st) : sfid_next(g);
    ok(id >= 0 && tap_wait_until(keeps_here, g, TAP_WAIT_MS), "%s starts one",
       asks_status ? "sfid_status()" : "sfid_next()");
    is_i64(count_threads(), threads + 1, "it is the only thread");
    ok(next_within(g, TAP_WAIT_MS) > last, "and IDs go on");
    sfid_close(g);
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "no thread is left");
}

/* ---- the last one out ------------------------------------------------------ */

static void leaves_no_gap(void) {
    const sfid_options opt = local_options("exact", STORE, slow);
    lives_without_gap(&opt, LIVES);
}

/* ---- a process without a thread ---------------------------------------------- */

static void refused(const sfid_options *opt, int code, const char *word, const char *what) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, opt);
    ok(rc == code && strstr(sfid_last_error(g), word), "%s: %s", what, sfid_last_error(g));
    sfid_close(g);
}

struct hogging {
    const sfid_options *opt;
    _Atomic int *may_end; /* -1 until it has opened */
};

/* The window is 0.3 s: IDs go on only if the other process's thread extends it, for calls of this
 * one alone. */
static void joins(void) {
    sfid_options keeping = local_options("joins", "local?share=1&lead_ms=300", &layout),
                 opt = keeping;
    keeping.max_ahead_ms = opt.max_ahead_ms = 0;
    opt.share = 2;
    const int threads = threads_before();
    refused(&opt, SFID_ELEASE, "share 1", "a process that only joins finds nobody");
    struct holder *h = holder_start(&keeping, true);
    sfid *g = open_or_die(&opt);
    sfid_status_info st;
    int64_t last = h->first;
    unsigned failed = 0;
    ok(sfid_pid(g) == h->pid && sfid_status(g, &st) == 0 && st.shared == 1 && st.keeper_here == 0,
       "beside another it has its pid");
    for (const int64_t until = mono_ns() + 1500 * (int64_t)NS_PER_MS; mono_ns() < until;
         nap_us(1000)) {
        const int64_t id = next_within(g, TAP_WAIT_MS);
        failed += id <= last;
        last = id;
    }
    is_u64(failed, 0, "it generates for five windows, which the other extends");
    is_i64(count_threads(), threads, "and starts no thread");
    holder_end(h, true);
    sfid *again;
    const int rc = sfid_open(&again, &opt); /* the window lasts, unless the machine is slow */
    ok((rc == 0 || rc == SFID_ELEASE) && count_threads() == threads,
       "nor does another handle where nobody keeps");
    sfid_close(again);
    ok(use_up(g, &last) < 0 && sfid_next(g) < 0 && sfid_status(g, &st) == 0 && st.window_ms == 0,
       "the other is killed: IDs end with the window");
    is_i64(count_threads(), threads, "without a thread still");
    h = holder_start(&keeping, true);
    ok(h->rc == 0 && next_within(g, TAP_WAIT_MS) > h->first,
       "they go on when somebody keeps again");
    sfid_close(g);
    is_i64(holder_end(h, false), 0, "and the last one out gives the pid back");
    keeping.store = "local?share=1&lead_ms=60000"; /* its window does not end before the call */
    g = open_or_die(&keeping);
    ok(sfid_pid(g) == h->pid && sfid_try_next(g) > h->last, "to be used at once");
    sfid_close(g);
}

/* The first page is stuck for a while, so that there is a second one. */
static void joins_the_page_that_is_kept(void) {
    sfid_options opt = shared("second");
    char pattern[4400];
    glob_t found;
    sfid_close(open_or_die(&opt));
    snprintf(pattern, sizeof pattern, "%s/second/share*.0", dirs.run);
    need(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1, "no first page");
    const int fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
    need(fd >= 0 && flock(fd, LOCK_EX) == 0, "%s: %s", found.gl_pathv[0], strerror(errno));
    globfree(&found);
    struct holder *h = holder_start(&opt, true);
    flock(fd, LOCK_UN); /* the child has the descriptor, too */
    close(fd);
    opt.share = 2;
    sfid *g = open_or_die(&opt);
    ok(h->rc == 0 && h->pid == 1 && sfid_pid(g) == 1 && next_within(g, TAP_WAIT_MS) > h->first,
       "who only joins finds the second page");
    sfid_close(g);
    is_i64(holder_end(h, false), 0, "whose keeper closes");
    ok(sfid_open(&g, &opt) == SFID_ELEASE, "then nobody keeps one");
    sfid_close(g);
}

/* Uses up each tick of a page. */
static int hog(void *arg) {
    _Atomic int *may_end = ((struct hogging *)arg)->may_end;
    int64_t ids[64];
    sfid *g = open_or_die(((struct hogging *)arg)->opt);
    atomic_store(may_end, 0);
    while (atomic_load(may_end) == 0)
        if (sfid_next_n(g, ids, COUNT_OF(ids)) < 0)
            nap_us(100);
    sfid_close(g);
    return 0;
}

static void joins_beside_a_hog(void) {
    const sfid_layout few = layout_of("41:16:6/1ms");
    const sfid_options keeping = local_options("hogged", STORE, &few);
    sfid_options opt = keeping;
    struct hogging hogging = {&keeping, shared_memory(sizeof *hogging.may_end)};
    const int threads = threads_before();
    opt.share = 2;
    atomic_store(hogging.may_end, -1);
    const pid_t child = child_start(hog, &hogging);
    flag_wait(hogging.may_end, 0, TAP_WAIT_MS);
    sfid *g = open_or_die(&opt);
    unsigned failed = 0, more = 0;
    for (int i = 0; i < 1000; i++) {
        failed += next_within(g, TAP_WAIT_MS) < 0;
        more += count_threads() > threads;
    }
    is_u64(failed, 0, "beside one that uses up the page it waits for IDs");
    ok(more == 0 && sfid_pid(g) == 0, "and stays with the page");
    sfid_close(g);
    atomic_store(hogging.may_end, 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "the other one ends");
}

/* ---- terms ------------------------------------------------------------------ */

static void terms(void) {
    sfid_options opt = shared("terms");
    opt.max_ahead_ms = 1000;
    opt.store = "local?share=1&lead_ms=120000"; /* longer than this takes */
    sfid *g = open_or_die(&opt);
    sfid_options other = opt;
    other.store = "local?share=1&mark=none";
    refused(&other, SFID_EBUSY, "mark=none", "mark=none beside a mark that is synced");
    other.store = opt.store;
    other.layout = slow;
    refused(&other, SFID_ELAYOUT, "layout", "another layout");
    other.layout = opt.layout;
    other.pid_min = 5;
    other.pid_max = 9;
    refused(&other, SFID_EBUSY, "pid 0", "another range of pids");
    other = opt;
    other.store = "local?share=1&lead_ms=100";
    other.max_ahead_ms = 600000;
    sfid *wide = open_or_die(&other);
    sfid_status_info first = {.limit_tick = 0}, st = {.limit_tick = 1};
    const bool generates = sfid_status(g, &first) == 0 && one(wide) > 0;
    nap_us(300000);
    ok(generates && sfid_status(wide, &st) == 0 && st.limit_tick == first.limit_tick,
       "another window: the first one's counts, and needs no keeper yet");
    sfid_close(wide);
    sfid_close(g);
}

static bool draws_in_more_windows(void *g) {
    sfid_status_info st;
    /* the status may start a keeper */
    return sfid_status(g, &st) == 0 && sfid_try_next(g) > 0 && st.renewals >= 2;
}

/* It also counts when its process has ended, and another one keeps the page. */
static void window_of_the_first(void) {
    sfid_options opt = shared("window");
    opt.max_ahead_ms = 0;
    sfid_options other = opt;
    opt.store = "local?share=1&lead_ms=600";
    other.store = "local?share=1&lead_ms=60000";
    sfid *g = open_or_die(&opt), *wide = open_or_die(&other);
    sfid_status_info st = {.window_ms = -1};
    sfid_close(g);
    const bool renews =
        tap_wait_until(draws_in_more_windows, wide, TAP_WAIT_MS) && sfid_status(wide, &st) == 0;
    ok(renews && st.window_ms <= 601, "it keeps to that window: %" PRId64 " ms are left",
       st.window_ms);
    sfid_close(wide);
}

static void fixed_pid(void) {
    sfid_options opt = options_of("fixed", 7, &layout), alone = opt;
    opt.share = 1;
    sfid *g = open_or_die(&opt);
    struct holder *h = holder_start(&opt, true);
    ok(h->rc == 0 && h->pid == 7, "a fixed pid is shared");
    refused(&alone, SFID_EBUSY, "pid 7", "a process that does not share it");
    holder_end(h, false);
    sfid_close(g);
    g = open_or_die(&alone);
    refused(&opt, SFID_EBUSY, "pid 7",
            "and a process that would share it, beside one that does not");
    sfid_close(g);
}

/* ---- beside processes that do not share ------------------------------------- */

static void beside_others(void) {
    const sfid_options opt = shared("beside"), alone = local_options("beside", "local", &layout);
    sfid *g = open_or_die(&opt);
    const int64_t first = one(g);
    sfid *own = open_or_die(&alone);
    ok(sfid_pid(g) == 0 && sfid_pid(own) == 1, "a process that does not share has another pid");
    sfid_close(own);
    sfid_close(g);
    own = open_or_die(&alone);
    const int64_t second = one(own);
    ok(sfid_pid(own) == 0 && second > first,
       "when the last one is out, the pid is free, and goes on above");
    g = open_or_die(&opt);
    ok(sfid_pid(g) == 1 && one(g) > 0, "processes that share then have another one");
    sfid_close(own);
    own = open_or_die(&alone);
    ok(sfid_pid(own) == 0 && one(own) > second, "and the pid goes on alone");
    sfid_close(own);
    sfid_close(g);
}

/* ---- fork ------------------------------------------------------------------- */

static sfid *inherited;

static int draw_as_child(void *arg) {
    _Atomic int *go_on = arg;
    const int64_t first = sfid_next(inherited);
    if (!flag_wait(go_on, 1, TAP_WAIT_MS))
        return 1;
    const int64_t second = sfid_next(inherited);
    sfid_close(inherited);
    return first > 0 && second > first ? 0 : 2;
}

static void forked(void) {
    const sfid_options opt = shared("forked");
    _Atomic int *go_on = shared_memory(sizeof *go_on);
    inherited = open_or_die(&opt);
    const int64_t before = one(inherited);
    let_threads_start();
    const pid_t child = child_start(draw_as_child, (void *)go_on);
    sfid_close(inherited);
    sfid *g = open_or_die(&opt);
    ok(sfid_pid(g) == 0 && one(g) > before,
       "a child goes on with the page, and its parent joins it again");
    atomic_store(go_on, 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "the child generates and closes");
    ok(one(g) > before, "and the parent goes on");
    sfid_close(g);
}

/* ---- directories that are gone ---------------------------------------------- */

/* The mark shows who is the last one then. With a mark that stays ahead, the next one would have no
 * ID yet. */
static void ends_without_a_page(void) {
    sfid_options opt = options_of("ended", 5, &layout);
    opt.share = 1;
    opt.max_ahead_ms = 0;
    sfid *g = open_or_die(&opt), *other = open_or_die(&opt);
    const int64_t before = one(g);
    lose(dirs.run, "ended");
    sfid_close(g);
    const int64_t last = sfid_try_next(other);
    ok(last > before, "the run directory is gone: one closes, and another goes on");
    sfid_close(other);
    g = open_or_die(&opt);
    ok(sfid_try_next(g) > last, "the last one has given the pid back");
    sfid_close(g);
}

static void without_directories(void) {
    sfid_options opt = local_options("gone", "local?share=1&lead_ms=200", &layout);
    opt.max_ahead_ms = 0;
    sfid *g = open_or_die(&opt);
    const int64_t first = one(g);
    lose(dirs.run, "gone");
    sfid *other = open_or_die(&opt);
    ok(sfid_pid(other) == 1 && one(other) > 0,
       "the run directory is gone: a newcomer has another pid");
    nap_us(500000);
    ok(one(g) > first, "and the others go on");
    sfid_close(other);
    sfid_close(g);

    opt.app = "lost";
    g = open_or_die(&opt);
    struct holder *h = holder_start(&opt, true);
    int64_t failed = 0, last = one(g);
    lose(dirs.state, "lost");
    other = open_or_die(&opt);
    const int64_t of_other = one(other); /* with their pid, if they have a new mark already */
    ok(of_other > 0 && (sfid_pid(other) != 0 || of_other > last),
       "the state directory is gone: a newcomer has another pid, or their new mark");
    const int64_t until = mono_ns() + 1500 * (int64_t)NS_PER_MS;
    for (int64_t id; mono_ns() < until; nap_us(2000)) {
        failed += (id = next_within(g, TAP_WAIT_MS)) <= last;
        last = id;
    }
    is_i64(failed, 0, "and the others go on with theirs, above");
    is_i64(holder_end(h, false), 0, "and end");
    sfid_close(other);
    sfid_close(g);
}

int main(void) {
    dirs_make();
    layout = layout_of(LAYOUT);
    in_one_order();
    joins_without_a_thread(false);
    joins_without_a_thread(true);
    keeps_in_need(false, false);
    keeps_in_need(true, true);
    leaves_no_gap();
    joins();
    joins_the_page_that_is_kept();
    joins_beside_a_hog();
    terms();
    window_of_the_first();
    fixed_pid();
    beside_others();
    forked();
    ends_without_a_page();
    without_directories();
    return done_testing();
}
