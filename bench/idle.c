/* SPDX-License-Identifier: MIT */
/*
 * idle - the first ID after a pause in which the window of the generator has ended: the call asks
 * the keeper, which rests.
 *
 *     idle [SECONDS [COUNT [DIR [STORE]]]]
 *
 * Starts COUNT processes (50), each with a generator of STORE (local) and an app of its own. Each
 * generates an ID, does nothing for SECONDS (75), and then generates one more, one process after
 * the other. Only calls that found no window count. The marks lie below DIR (the working
 * directory), the pages in /dev/shm. Beside it what such a call cannot do without: the time that
 * the process spends in fdatasync() meanwhile, and a thread that is woken, and wakes the caller in
 * turn.
 */
#include "remove.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sfid.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000, PAUSE_US = 20000 }; /* after a pause all threads sleep again */

static _Atomic int64_t synced_ns; /* of this process */
static _Atomic uint32_t asked, answered;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noreturn)) static void fail(const char *what, const char *why) {
    fprintf(stderr, "idle: %s: %s\n", what, why);
    exit(1);
}

/* In place of libc's. */
int fdatasync(int fd) {
    const int64_t begin = now_ns();
    const long rc = syscall(SYS_fdatasync, fd);
    atomic_fetch_add(&synced_ns, now_ns() - begin);
    return (int)rc;
}

/* ---- a thread that is woken ------------------------------------------------------- */

static void await(_Atomic uint32_t *word, uint32_t value) {
    uint32_t seen;
    while ((seen = atomic_load(word)) != value)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void tell(_Atomic uint32_t *word, uint32_t value) {
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *answer(void *none) {
    await(&asked, 1);
    tell(&answered, 1);
    return none;
}

/* ---- a process --------------------------------------------------------------------- */

struct times {
    bool waited;
    double took_us, synced_us, woken_us;
};

static uint64_t waits_of(sfid *g) {
    sfid_status_info info;
    if (sfid_status(g, &info) < 0)
        fail("status", "it failed");
    return info.waits;
}

/* Says over `end` that it is open, waits for an answer, and tells its times. */
static int live(const sfid_options *opt, int end) {
    sfid *g = NULL;
    pthread_t thread;
    char byte = 0;
    if (sfid_open(&g, opt) < 0 || sfid_next(g) < 0)
        fail("an ID", sfid_last_error(g));
    if (pthread_create(&thread, NULL, answer, NULL) != 0)
        fail("a thread", "it did not start");
    if (write(end, &byte, 1) != 1 || read(end, &byte, 1) != 1)
        fail("a process", "its parent is gone");
    usleep(PAUSE_US);
    const int64_t woken = now_ns();
    tell(&asked, 1);
    await(&answered, 1);
    struct times times = {.woken_us = (double)(now_ns() - woken) / 1e3};
    pthread_join(thread, NULL);
    usleep(PAUSE_US);
    const uint64_t waits = waits_of(g);
    const int64_t synced = atomic_load(&synced_ns), begin = now_ns();
    if (sfid_next(g) < 0)
        fail("an ID", sfid_last_error(g));
    times.took_us = (double)(now_ns() - begin) / 1e3;
    times.synced_us = (double)(atomic_load(&synced_ns) - synced) / 1e3;
    times.waited = waits_of(g) != waits;
    sfid_close(g);
    return write(end, &times, sizeof times) == sizeof times ? 0 : 1;
}

/* Returns this process's end. */
static int start(const sfid_options *opt) {
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        fail("a socket", strerror(errno));
    const pid_t child = fork();
    if (child == 0)
        _exit(live(opt, ends[1]));
    close(ends[1]);
    if (child < 0 || read(ends[0], &byte, 1) != 1)
        fail("a process", "it failed");
    return ends[0];
}

static struct times end_of(int end) {
    struct times times;
    char byte = 0;
    if (write(end, &byte, 1) != 1 || read(end, &times, sizeof times) != sizeof times)
        fail("a process", "it failed");
    close(end);
    wait(NULL);
    return times;
}

/* ---- figures ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *name, double *us, int n) {
    qsort(us, (size_t)n, sizeof *us, by_size);
    printf("%-44s %9.0f %9.0f %9.0f\n", name, us[0], us[n / 2], us[n - 1]);
}

int main(int argc, char **argv) {
    static int ends[MOST];
    static double took[MOST], synced[MOST], rest[MOST], woken[MOST];
    static char run[64] = "/dev/shm/sfid-idle-XXXXXX", state[4096], app[32], title[64];
    sfid_options opt = SFID_OPTIONS_INIT;
    const int seconds = argc > 1 ? atoi(argv[1]) : 75;
    const int count = argc > 2 ? atoi(argv[2]) : 50;
    if (argc > 5 || seconds < 1 || count < 1 || count > MOST) {
        fprintf(stderr, "usage: idle [SECONDS [COUNT (1 to %d) [DIR [STORE]]]]\n", MOST);
        return 2;
    }
    snprintf(state, sizeof state, "%s/sfid-idle-XXXXXX", argc > 3 ? argv[3] : ".");
    if (mkdtemp(run) == NULL || mkdtemp(state) == NULL)
        fail("a directory", strerror(errno));
    opt.on_unknown = SFID_TRUST; /* the apps are new */
    opt.app = app;
    opt.store = argc > 4 ? argv[4] : "local";
    opt.run_dir = run;
    opt.state_dir = realpath(state, NULL);
    for (int i = 0; i < count; i++) {
        snprintf(app, sizeof app, "idle-%d", i);
        ends[i] = start(&opt);
    }
    sleep((unsigned)seconds);
    int n = 0;
    for (int i = 0; i < count; i++) {
        const struct times t = end_of(ends[i]);
        woken[i] = t.woken_us;
        took[n] = t.took_us;
        synced[n] = t.synced_us;
        rest[n] = t.took_us - t.synced_us;
        n += t.waited;
    }
    remove_all(run);
    remove_all(opt.state_dir);
    if (n == 0)
        fail("no call", "found its window over");
    snprintf(title, sizeof title, "microseconds, of %d calls", n);
    printf("%-44s %9s %9s %9s\n", title, "least", "median", "most");
    print_row("the first ID after a pause", took, n);
    print_row("  in fdatasync()", synced, n);
    print_row("  the rest", rest, n);
    print_row("a thread is woken, and wakes the caller", woken, count);
    return 0;
}
