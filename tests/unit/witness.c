/* SPDX-License-Identifier: MIT */
/* The witness of tap.h tells a machine that stands still from a program that is late. */
#include "support/tap.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { LIMIT_MS = 60, STOP_MS = 300 };

static void nap_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

/* What a child found of itself. */
struct found {
    struct took took;
    bool good;
};

/* A child that is stopped for stop_ms, and late by itself for own_ms: of a machine that runs, so
 * that only the notes decide. */
static struct found judged(int stop_ms, int own_ms) {
    struct found *found = shared_memory(sizeof *found);
    int ready[2];
    need(pipe(ready) == 0, "no pipe");
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        need(freopen("/dev/null", "w", stdout), "no output");
        witness_begin();
        const int64_t began = tap_now_ms();
        need(write(ready[1], "x", 1) == 1, "the parent is gone");
        /* The stop falls into this: it ends once the stop is over, however late the parent is. */
        for (int64_t last = began, now; stop_ms && (now = tap_now_ms()) - last < stop_ms;
             last = now)
            nap_ms(1);
        do {
            nap_ms(1);
            found->took = took_since(began);
        } while (found->took.ms - found->took.stood_ms < own_ms);
        found->good = in_time(found->took, LIMIT_MS, "judged");
        _exit(0);
    }
    char byte;
    int status;
    need(read(ready[0], &byte, 1) == 1, "the child is gone");
    if (stop_ms) {
        kill(child, SIGSTOP);
        need(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status),
             "the child does not stop");
        nap_ms(stop_ms);
        kill(child, SIGCONT);
    }
    need(waitpid(child, &status, 0) == child && WIFEXITED(status), "the child crashed");
    close(ready[0]), close(ready[1]);
    return *found;
}

/* ---- the steps of the system ---------------------------------------------------- */

enum step { NONE, SYNC, START };

static atomic_int held, holding; /* the step that is held up; it is there */

static void hold_up(enum step step) {
    while (atomic_load(&held) == (int)step) {
        atomic_store(&holding, step);
        nap_ms(1);
    }
}

/* Two calls of the witness, before the C library's. */
int fsync(int fd) {
    hold_up(SYNC);
    return fdatasync(fd);
}

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) {
    int (*next)(int (*)(void *), void *, int, void *, ...);
    *(void **)&next = dlsym(RTLD_NEXT, "clone");
    hold_up(START);
    return next(fn, stack, flags, arg);
}

static bool is_there(void *step) { return atomic_load(&holding) == (int)*(enum step *)step; }

/* What the witness says of a step that takes STOP_MS, while it lasts and after it. */
static void test_step(enum step step, const char *what) {
    const int64_t began = tap_now_ms();
    atomic_store(&held, step);
    ok(tap_wait_until(is_there, &step, TAP_WAIT_MS), "%s is under way", what);
    const int64_t from = tap_now_ms();
    nap_ms(STOP_MS);
    const struct took seen = {witness_longest_step_ms(began), 0}, meanwhile = took_since(from),
                      under_way = {meanwhile.stood_ms, 0};
    lasted(seen, STOP_MS - 20, "%s that takes long is seen while it does", what);
    lasted(under_way, STOP_MS - 20, "%s: and taken off what goes on beside it", what);
    atomic_store(&held, NONE);
    for (int64_t now; now = tap_now_ms(), took_between(now - 1, now).stood_ms != 0;)
        nap_ms(1);
    const struct took after = {witness_longest_step_ms(began), 0};
    const struct took before = {after.ms - witness_longest_step_ms(from + STOP_MS / 2), 0};
    lasted(after, STOP_MS - 20, "%s: also when it is over", what);
    lasted(before, STOP_MS / 2 - 20, "%s: without what was before, if it is asked of a part", what);
}

int main(void) {
    const struct found stopped = judged(STOP_MS, 0);
    const struct took seen = {stopped.took.stood_ms, 0};
    lasted(stopped.took, STOP_MS, "a stop of %d ms makes a child late", STOP_MS);
    lasted(seen, STOP_MS - 20, "its witness has seen nearly all of it");
    ok(stopped.good, "the child is not blamed");
    ok(!judged(0, 5 * LIMIT_MS).good, "five times the limit without a stop: blamed");
    ok(!judged(STOP_MS, 5 * LIMIT_MS).good, "the same beside a stop: blamed as well");
    is_i64(witness_longest_step_ms(0), 0, "nobody watches the system: no step is long");
    witness_system();
    test_step(SYNC, "a sync");
    if (SANITIZED || tap_under_valgrind())
        skip(5, "a sanitizer or valgrind takes what clone() begins for a fork");
    else
        test_step(START, "the start of a process");
    return done_testing();
}
