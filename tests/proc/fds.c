/* SPDX-License-Identifier: MIT */
/*
 * A guest in the process: no descriptor of the library reaches a program that is executed; a
 * process that closes all its descriptors, as daemons do, goes on drawing IDs, keeps its pid, and
 * never has another file of its own written to.
 *
 * Sizes: processes go on for 3 s after closing all descriptors (long: 70 s, past several renewals
 * of the window).
 */
#include "support/proc.h"

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define LAYOUT "41:2:20/1ms"

enum { DECOYS = 40, BURST = 50 };

static sfid_layout layout;

/* What the test and a process that goes on share. */
struct going_on {
    atomic_int ready, done, may_end; /* the test sets may_end */
    _Atomic int64_t bad;             /* calls that failed */
    int64_t ms;
    uint64_t pid;
};

/* ---- programs executed -------------------------------------------------- */

/* The program executed: exits with 0 when no descriptor leads to the library's files and there are
 * as many as expected (0: any number). */
static int list_fds(int expected) {
    char link[64], target[4300];
    int strange = 0, n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t len = readlink(link, target, sizeof target - 1);
        if (len < 0)
            continue;
        n++;
        target[len] = '\0';
        if (strstr(target, getenv("SFID_TEST_SHM")) || strstr(target, getenv("SFID_TEST_STATE"))) {
            fprintf(stderr, "# descriptor %d: %s\n", fd, target);
            strange++;
        }
    }
    if (expected > 0 && n != expected)
        fprintf(stderr, "# %d descriptors, %d expected\n", n, expected);
    return strange > 0 || (expected > 0 && n != expected);
}

static char *const *list_arguments(int fds) {
    static char number[16];
    static char *argv[] = {(char *)"self", (char *)"list", number, NULL};
    snprintf(number, sizeof number, "%d", fds);
    return argv;
}

static pid_t by_fork(char *const *argv) {
    const pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", argv);
        _exit(DIED);
    }
    return child;
}

static pid_t by_vfork(char *const *argv) {
    const pid_t child = vfork();
    if (child == 0) {
        execv("/proc/self/exe", argv);
        _exit(DIED);
    }
    return child;
}

static pid_t by_spawn(char *const *argv) {
    pid_t child = -1;
    return posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) == 0 ? child : -1;
}

static void *exec_from_thread(void *arg) {
    (void)arg;
    return (void *)(intptr_t)by_fork(list_arguments(0));
}

static void test_exec(void) {
    static pid_t (*const ways[])(char *const *) = {by_fork, by_vfork, by_spawn};
    static const char *const names[] = {"fork and exec", "vfork and exec", "posix_spawn"};
    const int fds = count_fds();
    const sfid_options opt = options_of("exec", 1, &layout);
    sfid *g = open_or_die(&opt);
    ok(sfid_next(g) >= 0, "a generator is open");
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        is_i64(child_wait(ways[i](list_arguments(fds)), TAP_WAIT_MS), 0,
               "%s: no descriptor of the library", names[i]);
        ok(sfid_next(g) >= 0, "%s: the generator goes on", names[i]);
    }
    sfid_close(g);
    is_i64(count_fds(), fds, "no descriptor is left after close");
}

/* Programs executed at every moment of an open: a descriptor without O_CLOEXEC would show now and
 * then. */
static void test_exec_while_opening(void) {
    const sfid_options opt = options_of("exec-race", 1, &layout);
    int bad = 0;
    for (uint64_t i = 0; i < sized(100, 500, 20); i++) {
        pthread_t thread;
        void *child = NULL;
        start_thread(&thread, exec_from_thread, NULL);
        sfid *g = NULL;
        const int rc = sfid_open(&g, &opt);
        pthread_join(thread, &child);
        sfid_close(g);
        bad += rc != 0 && rc != SFID_EBUSY;
        bad += child_wait((pid_t)(intptr_t)child, TAP_WAIT_MS) != 0;
    }
    is_i64(bad, 0,
           "no descriptor of the library reaches a program executed while a generator is opened");
}

/* ---- all descriptors closed --------------------------------------------- */

static void close_all_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0U, 0) < 0)
        for (int fd = (int)first; fd < 4096; fd++)
            close(fd);
}

static void go_on(struct going_on *s, sfid *g, struct idlog *log) {
    atomic_store(&s->ready, 1);
    const int64_t end = mono_ns() + s->ms * NS_PER_MS;
    for (; mono_ns() < end || !atomic_load(&s->may_end); nap_us(2000))
        for (int i = 0; i < BURST && !idlog_full(log); i++) {
            const int64_t id = sfid_next(g);
            if (id < 0)
                atomic_fetch_add(&s->bad, 1);
            else
                idlog_put(log, id);
        }
}

/* New files take the numbers of the closed descriptors; what the library writes or closes by number
 * hits them. */
static int decoys_spoilt(const int *fds) {
    struct stat st;
    int spoilt = 0;
    for (int i = 0; i < DECOYS; i++)
        spoilt += fstat(fds[i], &st) < 0 || st.st_size != 0 || st.st_nlink != 0;
    return spoilt;
}

static int close_everything(void *arg) {
    struct going_on *s = arg;
    const sfid_options opt = options_of("closer", (int64_t)s->pid, &layout);
    struct idlog log;
    int decoys[DECOYS];
    log_start(&log, (uint64_t)s->ms * BURST * 2 + 1000, 1, s->pid, "%" PRIu64 "-first", s->pid);
    sfid *g = open_or_die(&opt);
    idlog_put(&log, sfid_next(g));
    close_all_from(3);
    for (int i = 0; i < DECOYS; i++)
        decoys[i] = open(dirs.shm, O_TMPFILE | O_RDWR, 0600);
    go_on(s, g, &log);
    const int before = decoys_spoilt(decoys);
    if (s->pid == 2)
        return before;
    sfid_close(g);
    return before + decoys_spoilt(decoys);
}

/* Daemons: two forks, a session of their own, nothing open. */
static int daemonize(void *arg) {
    struct going_on *s = arg;
    const sfid_options opt = options_of("closer", (int64_t)s->pid, &layout);
    struct idlog log;
    log_start(&log, (uint64_t)s->ms * BURST * 2 + 1000, 1, s->pid, "%" PRIu64 "-first", s->pid);
    sfid *g = open_or_die(&opt);
    idlog_put(&log, sfid_next(g));
    if (fork() != 0)
        _exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    if (chdir("/") < 0)
        _exit(DIED);
    close_all_from(0);
    if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2)
        _exit(DIED);
    go_on(s, g, &log);
    atomic_store(&s->done, 2);
    _exit(0);
}

/* The pid goes to the next holder, above all that was drawn. */
static void test_going_on(int (*how)(void *), uint64_t pid, const char *what) {
    struct going_on *s = shared_memory(sizeof *s);
    const sfid_options opt = options_of("closer", (int64_t)pid, &layout);
    struct idlog log;
    s->ms = (int64_t)sized(3000, 70000, 3000);
    s->pid = pid;
    const pid_t child = child_start(how, s);
    ok(flag_wait(&s->ready, 1, TAP_WAIT_MS), "%s: it goes on", what);
    is_i64(try_open(&opt), SFID_EBUSY, "%s: its pid is kept", what);
    nap_us((long)s->ms * 1000 / 2);
    is_i64(try_open(&opt), SFID_EBUSY, "%s: its pid is kept later on", what);
    atomic_store(&s->may_end, 1);
    if (how == daemonize)
        ok(flag_wait(&s->done, 2, (unsigned)s->ms + TAP_WAIT_MS), "%s: it ends", what);
    is_i64(child_wait(child, (unsigned)s->ms + TAP_WAIT_MS), 0,
           "%s: it ends well, no file of its own touched", what);
    is_i64(s->bad, 0, "%s: no call fails", what);
    sfid *g = NULL;
    for (struct patience p = {0}; sfid_open(&g, &opt) != 0 && patient(&p, TAP_WAIT_MS);
         nap_us(2000))
        sfid_close(g); /* the daemon is nobody's child: its end is not waited for */
    log_start(&log, 100, 2, pid, "%" PRIu64 "-next", pid);
    while (!idlog_full(&log))
        idlog_put(&log, next_within(g, TAP_WAIT_MS));
    sfid_close(g);
    judge(LAYOUT, "pid", UINT64_MAX, what);
    munmap(s, sizeof *s);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "list") == 0)
        return list_fds(atoi(argv[2]));
    dirs_make();
    layout = layout_of(LAYOUT);
    const int fds = count_fds();
    int threads = count_threads();
    test_exec();
    test_exec_while_opening();
    test_going_on(close_everything, 1, "all descriptors closed");
    test_going_on(close_everything, 2, "all descriptors closed, ended without close");
    test_going_on(daemonize, 3, "daemon");
    is_i64(count_fds(), fds, "no descriptor is left");
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "no thread is left");
    return done_testing();
}
