/* SPDX-License-Identifier: MIT */
/* The witness of tap.h tells a machine that stands still from a program that is late. */
#include "support/tap.h"

#include <signal.h>
#include <time.h>

enum { LIMIT_MS = 60, STOP_MS = 300 };

static void nap_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

/* What a child found of itself. */
struct found {
    struct took took;
    bool good;
};

/* A child that is stopped for stop_ms, and late by itself for own_ms: of a machine that runs, so that only the notes decide. */
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
        for (int64_t last = began, now; stop_ms && (now = tap_now_ms()) - last < stop_ms; last = now)
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
        need(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "the child does not stop");
        nap_ms(stop_ms);
        kill(child, SIGCONT);
    }
    need(waitpid(child, &status, 0) == child && WIFEXITED(status), "the child crashed");
    close(ready[0]), close(ready[1]);
    return *found;
}

int main(void) {
    const struct found stopped = judged(STOP_MS, 0);
    const struct took seen = {stopped.took.stood_ms, 0};
    lasted(stopped.took, STOP_MS, "a stop of %d ms makes a child late", STOP_MS);
    lasted(seen, STOP_MS - 20, "its witness has seen nearly all of it");
    ok(stopped.good, "the child is not blamed");
    ok(!judged(0, 5 * LIMIT_MS).good, "five times the limit without a stop: blamed");
    ok(!judged(STOP_MS, 5 * LIMIT_MS).good, "the same beside a stop: blamed as well");
    return done_testing();
}
