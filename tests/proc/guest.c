/* SPDX-License-Identifier: MIT */
/*
 * A guest in its host: no signal of a file size limit arrives, and one that was the host's own
 * stays; a thread that is cancelled inside sfid_open() or sfid_close() finishes the call first; one
 * cancelled while sfid_next() sleeps leaves nothing behind. A handle of NULL is answered as one
 * that is closed, and so is one whose open failed.
 *
 * One size; a sanitizer takes the stack of a cancelled thread for one in use.
 */
#include "support/proc.h"

#include <sys/resource.h>

static void limit_files(rlim_t bytes) {
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    must(setrlimit(RLIMIT_FSIZE, &limit) >= 0, "setrlimit");
}

static bool is_pending(int number) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number) == 1;
}

static sigset_t mask_now(void) {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    return set;
}

/* ---- the limit on the size of files ------------------------------------------ */

enum { PAGE_BYTES = 1 << 18 }; /* of a program that locks its memory a page takes as much */

static const rlim_t limits[] = {0, 1, 4000, 5000, 8192, 100000, PAGE_BYTES - 1};

struct limited {
    rlim_t bytes;
    char text[600];
};

/* In a child, which any signal would end. */
static int open_limited(void *arg) {
    struct limited *l = arg;
    sfid_options opt = options_of("limited", 7, NULL);
    sfid *g = NULL;
    limit_files(l->bytes);
    const int rc = sfid_open(&g, &opt);
    snprintf(l->text, sizeof l->text, "%s", sfid_last_error(g));
    sfid_close(g);
    return rc != SFID_ESTATE || is_pending(SIGXFSZ) ||
           sigismember(&(sigset_t[]){mask_now()}[0], SIGXFSZ);
}

/* The keeper writes the mark, and so does close. */
static int limited_later(void *arg) {
    struct limited *l = arg;
    sfid_options opt = options_of("later", 7, NULL);
    opt.max_wait_ms = 3000;
    sfid *g = open_or_die(&opt);
    int64_t id = sfid_next(g);
    limit_files(l->bytes);
    id = id < 0 ? id : sfid_next(g);
    sfid_close(g);
    return id < 0 || is_pending(SIGXFSZ);
}

static int open_within(void *arg) {
    (void)arg;
    sfid_options opt = options_of("limited", 7, NULL);
    sfid_status_info st;
    limit_files(PAGE_BYTES);
    sfid *g = open_or_die(&opt);
    const bool good = sfid_next(g) >= 0 && sfid_status(g, &st) == 0 && st.ahead_ms <= 1000;
    sfid_close(g);
    return good ? 0 : 1;
}

/* Blocked and pending already: not ours to take. */
static int keeps_pending(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGXFSZ);
    raise(SIGPIPE);
    sfid_options opt = options_of("later", 7, NULL);
    sfid *g = open_or_die(&opt);
    limit_files(((struct limited *)arg)->bytes);
    sfid_close(g);
    return is_pending(SIGXFSZ) && is_pending(SIGPIPE) &&
                   sigismember(&(sigset_t[]){mask_now()}[0], SIGXFSZ)
               ? 0
               : 1;
}

static void test_limits(void) {
    struct limited *l = shared_memory(sizeof *l);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        l->bytes = limits[i];
        is_i64(child_run(open_limited, l, TAP_WAIT_MS), 0,
               "open below a limit of %lu bytes is refused", (unsigned long)limits[i]);
        ok(strstr(l->text, "RLIMIT_FSIZE") != NULL, "and says why: %s", l->text);
        is_i64(child_run(limited_later, l, TAP_WAIT_MS), 0,
               "a limit that comes later leaves an open one alone, and close");
    }
    is_i64(child_run(open_within, NULL, TAP_WAIT_MS), 0,
           "with 256 KiB it opens at once: nothing half made is left");
    is_i64(child_run(keeps_pending, l, TAP_WAIT_MS), 0,
           "signals that were pending before still are");
    munmap(l, sizeof *l);
}

/* ---- cancelled ------------------------------------------------------------------- */

struct call {
    sfid_options opt;
    sfid *g;
    int rc;
    _Atomic int begun;
};

static void *open_cancelled(void *arg) {
    struct call *c = arg;
    c->rc = 1;
    pthread_cancel(pthread_self());
    c->rc = sfid_open(&c->g, &c->opt);
    pthread_testcancel();
    return NULL;
}

static void *close_cancelled(void *arg) {
    struct call *c = arg;
    pthread_cancel(pthread_self());
    sfid_close(c->g);
    c->rc = 2;
    pthread_testcancel();
    return NULL;
}

static void *next_cancelled(void *arg) {
    struct call *c = arg;
    for (atomic_store(&c->begun, 1);;)
        if (sfid_next(c->g) < 0)
            return NULL;
}

static bool was_cancelled(void *(*fn)(void *), struct call *c) {
    pthread_t thread;
    void *result = NULL;
    start_thread(&thread, fn, c);
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED;
}

static void test_cancelled(void) {
    struct call c = {.opt = options_of("cancelled", 8, NULL)};
    const int fds = count_fds();
    ok(was_cancelled(open_cancelled, &c) && c.rc == 0 && sfid_next(c.g) >= 0,
       "a thread cancelled in sfid_open() opens first");
    ok(was_cancelled(close_cancelled, &c) && c.rc == 2,
       "one cancelled in sfid_close() closes first");
    is_i64(count_fds(), fds, "no descriptor is left");
    c.opt.exhaustion = SFID_WAIT;
    const sfid_layout tiny = layout_of("36:11:1/1s");
    c.opt = options_of("cancelled-next", 8, &tiny);
    c.opt.max_wait_ms = 100000;
    ok(was_cancelled(open_cancelled, &c) && c.rc == 0, "opened again");
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        void *result = NULL;
        atomic_store(&c.begun, 0);
        start_thread(&thread, next_cancelled, &c);
        flag_wait(&c.begun, 1, TAP_WAIT_MS);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        must(result == PTHREAD_CANCELED, "not cancelled");
    }
    ok(true, "threads that sleep in sfid_next() can be cancelled");
    sfid_close(c.g);
    is_i64(sfid_next(c.g), SFID_ECLOSED, "and keep nothing from closing");
    is_i64(count_fds(), fds, "nor leave a descriptor");
    ok(threads_are(&(int){1}) || tap_wait_until(threads_are, &(int){1}, TAP_WAIT_MS),
       "nor a thread");
}

/* ---- no generator ---------------------------------------------------------------- */

SFID_DEFINE(orders, SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS))

static void gives_none(const char *what, sfid *none) {
    int64_t ids[2];
    sfid_wide wide;
    is_i64(sfid_next(none), SFID_ECLOSED, "%s: sfid_next()", what);
    is_i64(sfid_try_next(none), SFID_ECLOSED, "%s: sfid_try_next()", what);
    is_i64(sfid_next_n(none, ids, 2), SFID_ECLOSED, "%s: sfid_next_n()", what);
    is_i64(sfid_next_n(none, ids, 0), 0, "%s: of none", what);
    is_i64(sfid_retry_ms(none), SFID_ECLOSED, "%s: sfid_retry_ms()", what);
    is_i64(sfid_pid(none), SFID_ECLOSED, "%s: sfid_pid()", what);
    is_i64(sfid_ready(none), 0, "%s: sfid_ready()", what);
    is_i64(orders_next((orders *)(void *)none), SFID_ECLOSED, "%s: the inline form", what);
    is_i64(sfid_next_wide(none, &wide), SFID_ECLOSED, "%s: sfid_next_wide()", what);
    is_i64(sfid_try_next_wide(none, &wide), SFID_ECLOSED, "%s: sfid_try_next_wide()", what);
    is_i64(sfid_next_n_wide(none, &wide, 1), SFID_ECLOSED, "%s: sfid_next_n_wide()", what);
}

static void test_null(void) {
    sfid_status_info st;
    sfid_lane *lane;
    sfid *volatile none = NULL;
    gives_none("NULL", none);
    is_i64(sfid_lane_next((sfid_lane *)(void *)none), SFID_ECLOSED, "NULL: sfid_lane_next()");
    is_i64(sfid_lane_open(&lane, none), SFID_EINVAL, "NULL: sfid_lane_open()");
    is_i64(sfid_status(none, &st), SFID_EINVAL, "NULL: sfid_status()");
    is_str(sfid_last_error(none), sfid_strerror(SFID_ENOMEM), "NULL: sfid_last_error()");
    sfid_lane_close(NULL);
    sfid_close(none);
    ok(true, "NULL: closed, which does nothing");
}

/* A program may ignore that an open failed. */
static void test_failed(const char *what, const sfid_options *opt, int code) {
    sfid *g = NULL;
    sfid_lane *lane;
    is_i64(sfid_open(&g, opt), code, "%s: an open fails", what);
    gives_none(what, g);
    must(sfid_lane_open(&lane, g) == 0, "%s: no lane", what);
    is_i64(sfid_lane_next(lane), SFID_ECLOSED, "%s: sfid_lane_next()", what);
    sfid_lane_close(lane);
    sfid_close(g);
}

/* Before any option is read, and when that is done. */
static void test_failures(void) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.size = 0;
    test_failed("no size", &opt, SFID_EINVAL);
    opt = options_of("failed", -1, NULL);
    opt.store = "local";
    opt.run_dir = "/dev/null";
    test_failed("no run directory", &opt, SFID_ESTATE);
    opt.share = 1;
    test_failed("no run directory to share", &opt, SFID_ESTATE);
}

int main(void) {
    dirs_make();
    test_null();
    test_failures();
    test_limits();
    if (SANITIZED)
        skip(8, "a sanitizer does not follow a thread that is cancelled");
    else
        test_cancelled();
    return done_testing();
}
