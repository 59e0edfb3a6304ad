/* SPDX-License-Identifier: MIT */
/*
 * exit() out of on_event, while other threads generate: the process ends, with that status, also if
 * a function of atexit() closes the generator. The next process goes on above its IDs.
 *
 * Sizes: 10 processes each (long: 200; sanitizer: 5).
 */
#include "support/local.h"

enum { STATUS = 7, THREADS = 3 };

static sfid_layout layout;
static _Atomic int64_t *highest; /* of all processes */
static sfid *handle;
static sfid_options opt;

static void quit(void *user, const sfid_event *event) {
    (void)user;
    if (event->kind == SFID_EVENT_EXHAUSTED)
        exit(STATUS);
}

static void close_it(void) { sfid_close(handle); }

static void *generate(void *arg) {
    for (;;) {
        const int64_t id = sfid_next(handle);
        if (id > 0)
            raise_to(highest, id);
    }
    return arg;
}

static int live(void *closes) {
    pthread_t thread;
    opt.on_event = quit;
    handle = open_or_die(&opt);
    if (closes && atexit(close_it) != 0)
        return 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, generate, NULL) != 0)
            return 1;
    for (;;)
        pause();
}

static void lives(const char *what, void *closes) {
    const unsigned n = (unsigned)sized(10, 200, 5);
    unsigned wrong = 0, below = 0;
    for (unsigned i = 0; i < n; i++) {
        wrong += child_run(live, closes, TAP_WAIT_MS) != STATUS;
        const int64_t before = atomic_load(highest);
        sfid *g = open_or_die(&opt);
        below += before == 0 || next_within(g, TAP_WAIT_MS) <= before;
        sfid_close(g);
    }
    is_u64(wrong, 0, "%s: %u processes end by exit() in on_event", what, n);
    is_u64(below, 0, "%s: each next one goes on above", what);
}

/* ---- the tests' own options ----------------------------------------------- */

static void *say_who(void *tid) {
    atomic_store((atomic_int *)tid, (int)gettid());
    return NULL;
}

static bool ended(void *tid) {
    const pid_t task = atomic_load((atomic_int *)tid);
    return task != 0 && task_state(getpid(), task) == '?';
}

static int leave_thread(void *arg) {
    atomic_int tid = 0;
    pthread_t thread;
    (void)arg;
    start_thread(&thread, say_who, &tid);
    return tap_wait_until(ended, &tid, TAP_WAIT_MS) ? 0 : 1;
}

int main(void) {
    dirs_make();
    layout = layout_of("41:10:4/1ms"); /* used up at once */
    highest = shared_memory(sizeof *highest);
    opt = local_options("quits", "local", &layout);
    lives("as it is", NULL);
    lives("with a close", &layout);
    is_i64(child_run(leave_thread, NULL, TAP_WAIT_MS), 0,
           "who leaves a thread that has ended is not told of it by a sanitizer");
    return done_testing();
}
