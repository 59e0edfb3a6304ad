/* SPDX-License-Identifier: MIT */
/*
 * first - the first ID of a new process, with the local store: what the disk costs, and what the
 * library costs.
 *
 *     first [DIR [COUNT]]
 *
 * Each of COUNT rounds (200) starts five processes in turn: one that opens a new app, one that
 * resumes the pid that its predecessor gave back, for each of them one without the library that
 * makes, writes and syncs the same files and starts a thread, and one that has opened and closed
 * before: what it does not pay again is what every process pays once, such as page faults. The
 * marks lie below DIR (the working directory), the rest in /dev/shm. Prints the time from the open
 * to the first ID, how much of it was spent in fsync() and fdatasync(), and the rest. Their costs
 * differ from run to run: compare those of one.
 */
#include "remove.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sfid.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 10000, KINDS = 5, BLOCK = 4096, MARK_BLOCKS = 8 };

static double synced_us;
static const char *run_dir, *state_dir;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noreturn)) static void fail(const char *what, const char *why) {
    fprintf(stderr, "first: %s: %s\n", what, why);
    exit(1);
}

/* ---- the syncs of this program and of the library, in place of libc's ----------- */

static int timed(long call, int fd) {
    const double begin = now_us();
    const long rc = syscall(call, fd);
    synced_us += now_us() - begin;
    return (int)rc;
}

#define TIMED(call) \
    int call(int fd) { return timed(SYS_##call, fd); }
TIMED(fsync)
TIMED(fdatasync)

/* ---- the same files without the library ------------------------------------------ */

static void must(int rc, const char *what) {
    if (rc < 0)
        fail(what, strerror(errno));
}

static int open_at(int dir, const char *name, int flags) {
    const int fd = openat(dir, name, flags | O_CLOEXEC, 0600);
    must(fd, name);
    return fd;
}

static void write_at(int fd, size_t size, off_t at) {
    static const char zeros[MARK_BLOCKS * BLOCK];
    if (pwrite(fd, zeros, size, at) != (ssize_t)size)
        fail("write", strerror(errno));
}

static int make_folder(const char *path, const char *app) {
    const int parent = open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (mkdirat(parent, app, 0700) == 0)
        must(fsync(parent), path);
    const int dir = open_at(parent, app, O_RDONLY | O_DIRECTORY);
    close(parent);
    return dir;
}

static void make_mark(int state) {
    const int layout = open_at(state, "layout.new", O_WRONLY | O_CREAT | O_EXCL);
    write_at(layout, 22, 0);
    must(fsync(layout), "layout");
    close(layout);
    must(renameat(state, "layout.new", state, "layout"), "layout");
    close(open_at(state, "lock", O_RDWR | O_CREAT));
    const int mark = open_at(state, "pid-0", O_RDWR | O_CREAT);
    write_at(mark, MARK_BLOCKS * BLOCK, 0);
    close(mark);
}

static void make_page(int run) {
    close(open_at(run, "lock", O_RDWR | O_CREAT));
    const int page = open_at(run, "pid-0.new", O_RDWR | O_CREAT | O_EXCL);
    write_at(page, BLOCK, 0);
    must(ftruncate(page, 1 << 20), "page");
    must(renameat(run, "pid-0.new", run, "pid-0"), "page");
    close(page);
}

static void *wait_forever(void *none) {
    for (;;)
        pause();
    return none;
}

/* What an open does: of a new app all of it, otherwise the end. A lease needs a thread that renews
 * it. */
static void make_files(const char *app) {
    const int state = make_folder(state_dir, app);
    struct stat st;
    const int is_new = fstatat(state, "layout", &st, 0) < 0;
    if (is_new)
        make_mark(state);
    const int run = make_folder(run_dir, app), mark = open_at(state, "pid-0", O_RDWR);
    if (is_new)
        make_page(run);
    write_at(mark, 80, 0);
    must(fdatasync(mark), "mark");
    if (is_new)
        must(fsync(state), "the folder");
    close(mark);
    close(run);
    close(state);
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_forever, NULL) != 0)
        fail("a thread", "it did not start");
}

/* ---- a process --------------------------------------------------------------------- */

struct times {
    double all_us, synced_us;
};

/* Tells its times on its standard output. */
static int live(const char *how, const char *app) {
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid *g = NULL;
    opt.app = app;
    opt.store = "local";
    opt.run_dir = run_dir;
    opt.state_dir = state_dir;
    if (strcmp(how, "again") == 0) {
        if (sfid_open(&g, &opt) < 0 || sfid_next(g) < 0)
            fail("an ID", sfid_last_error(g));
        sfid_close(g);
        g = NULL;
        synced_us = 0;
    }
    const double begin = now_us();
    if (strcmp(how, "bare") == 0)
        make_files(app);
    else if (sfid_open(&g, &opt) < 0 || sfid_next(g) < 0)
        fail("an ID", sfid_last_error(g));
    const struct times times = {now_us() - begin, synced_us};
    sfid_close(g);
    return write(1, &times, sizeof times) == sizeof times ? 0 : 1;
}

static struct times start(const char *self, const char *how, const char *app) {
    char *const args[] = {(char *)self,    (char *)how,       (char *)app,
                          (char *)run_dir, (char *)state_dir, NULL};
    posix_spawn_file_actions_t actions;
    struct times times;
    int ends[2], status;
    pid_t child;
    must(pipe(ends), "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    const int why = posix_spawn(&child, self, &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (why != 0)
        fail(self, strerror(why));
    if (read(ends[0], &times, sizeof times) != sizeof times ||
        waitpid(child, &status, 0) != child || status != 0)
        fail("a process", "it failed");
    close(ends[0]);
    return times;
}

/* ---- figures ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_column(double *us, int n) {
    qsort(us, (size_t)n, sizeof *us, by_size);
    printf(" %9.0f %9.0f", us[n / 2], us[n - 1 - n / 100]);
}

static void print_row(const char *name, const struct times *times, int n) {
    static double all[MOST], synced[MOST], rest[MOST];
    for (int i = 0; i < n; i++) {
        all[i] = times[i].all_us;
        synced[i] = times[i].synced_us;
        rest[i] = all[i] - synced[i];
    }
    printf("%-44s", name);
    print_column(all, n);
    print_column(synced, n);
    print_column(rest, n);
    printf("\n");
}

int main(int argc, char **argv) {
    static const char *const names[KINDS] = {"a new app", "the same files and a thread without it",
                                             "a pid that was given back",
                                             "the same writes and a thread without it",
                                             "a pid given back, opened before by this process"};
    static const char *const hows[KINDS] = {"sfid", "bare", "sfid", "bare", "again"};
    static struct times times[KINDS][MOST];
    static char run[64] = "/dev/shm/sfid-first-XXXXXX", state[4096];
    if (argc == 5) {
        run_dir = argv[3];
        state_dir = argv[4];
        return live(argv[1], argv[2]);
    }
    const int count = argc > 2 ? atoi(argv[2]) : 200;
    if (argc > 3 || count < 100 || count > MOST) {
        fprintf(stderr, "usage: first [DIR [COUNT (100 to %d)]]\n", MOST);
        return 2;
    }
    snprintf(state, sizeof state, "%s/sfid-first-XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(run) == NULL || mkdtemp(state) == NULL)
        fail("a directory", strerror(errno));
    run_dir = run;
    state_dir = realpath(state, NULL);
    for (int i = -1; i < count; i++) /* the first round makes the files of all apps */
        for (int kind = 0; kind < KINDS; kind++) {
            char app[32];
            if (kind < 2)
                snprintf(app, sizeof app, "%s-%d", hows[kind], i + 1);
            else
                snprintf(app, sizeof app, "%s-resumed", hows[kind]);
            const struct times t = start(argv[0], hows[kind], app);
            if (i >= 0)
                times[kind][i] = t;
        }
    printf("%-44s %19s %19s %19s\n", "microseconds: medians and 99 %", "all", "in fsync",
           "the rest");
    for (int kind = 0; kind < KINDS; kind++)
        print_row(names[kind], times[kind], count);
    remove_all(run_dir);
    remove_all(state_dir);
    return 0;
}
