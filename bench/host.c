/* SPDX-License-Identifier: MIT */
/*
 * host - what many short processes of one host pay for an ID: with a pid of their own, and with
 * `share`.
 *
 *     host [COUNT]
 *
 * Each of COUNT rounds (1000) starts /bin/true, a process with a pid of its own and one that
 * shares, in turn. Then 100 processes open at once. Prints medians, 99th percentiles and worst
 * cases, and what a process has open after it has attached.
 */
#include <dirent.h>
#include <errno.h>
#include <sfid.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 100, MOST = 100000 };

extern char **environ;
static const char *self;
static char dir[64];

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noreturn)) static void fail(const char *what, const char *why) {
    fprintf(stderr, "host: %s: %s\n", what, why);
    exit(1);
}

/* ---- a process ------------------------------------------------------------- */

static sfid *open_one(const char *app) {
    char run[80], state[80];
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid *g;
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(state, sizeof state, "%s/state", dir);
    opt.app = app;
    opt.store = strcmp(app, "shared") == 0 ? "local?share=1" : "local";
    opt.run_dir = run;
    opt.state_dir = state;
    opt.open_timeout_ms = 60000;
    if (sfid_open(&g, &opt) < 0)
        fail("open", sfid_last_error(g));
    return g;
}

/* Tells on its standard output how many microseconds it took from the open to the first ID. */
static int live(const char *app) {
    const double begin = now_us();
    sfid *g = open_one(app);
    if (sfid_next(g) < 0)
        fail("an ID", sfid_last_error(g));
    const double us = now_us() - begin;
    if (write(1, &us, sizeof us) != sizeof us)
        return 1;
    sfid_close(g);
    return 0;
}

/* argv[0] NULL: this program, for an app. *out, unless NULL, becomes the end of a pipe from its
 * standard output. */
static pid_t start(const char *program, const char *app, int *out) {
    char *const args[] = {(char *)(program ? program : self), (char *)app, dir, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child;
    if (pipe(ends) < 0)
        fail("pipe", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int why = posix_spawn(&child, args[0], &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (why != 0)
        fail(args[0], strerror(why));
    *out = ends[0];
    return child;
}

/* Waits for a process. Returns what it told, 0 if nothing. */
static double finish(pid_t child, int out) {
    double us = 0;
    int status;
    if (read(out, &us, sizeof us) < 0)
        us = 0;
    close(out);
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("a process", "it failed");
    return us;
}

/* ---- figures --------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *name, double *us, int n) {
    qsort(us, (size_t)n, sizeof *us, by_size);
    printf("%-58s %9.0f %9.0f %9.0f\n", name, us[n / 2], us[n - 1 - n / 100], us[n - 1]);
}

static int count_in(const char *path) {
    DIR *d = opendir(path);
    int n = 0;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static int count_mappings(void) {
    FILE *f = fopen("/proc/self/maps", "re");
    int n = 0;
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static void one_by_one(int count) {
    static const char *const names[] = {"true", "alone", "shared"};
    double *whole[3], *inside[3];
    for (int k = 0; k < 3; k++)
        if ((whole[k] = malloc(sizeof(double) * (size_t)count)) == NULL ||
            (inside[k] = malloc(sizeof(double) * (size_t)count)) == NULL)
            fail("memory", strerror(errno));
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            int out;
            const double begin = now_us();
            const pid_t child = start(k == 0 ? "/bin/true" : NULL, names[k], &out);
            inside[k][i] = finish(child, out);
            whole[k][i] = now_us() - begin;
        }
    print_row("/bin/true: started and ended", whole[0], count);
    print_row("a pid of its own, others hold theirs: open to first ID", inside[1], count);
    print_row("the same, started and ended", whole[1], count);
    print_row("share, others live: open to first ID", inside[2], count);
    print_row("the same, started and ended", whole[2], count);
    for (int k = 0; k < 3; k++) {
        free(whole[k]);
        free(inside[k]);
    }
}

/* A process that keeps the shared page, so that this one joins. It ends when this one does. */
static void start_keeper(void) {
    int ready[2], end[2];
    char byte;
    if (pipe(ready) < 0 || pipe(end) < 0)
        fail("pipe", strerror(errno));
    const pid_t child = fork();
    if (child < 0)
        fail("fork", strerror(errno));
    if (child == 0) {
        close(end[1]);
        sfid *g = open_one("shared");
        if (write(ready[1], "", 1) == 1 && read(end[0], &byte, 1) == 0)
            sfid_close(g);
        _exit(0);
    }
    close(ready[1]);
    close(end[0]);
    if (read(ready[0], &byte, 1) != 1)
        fail("a process", "it failed");
    close(ready[0]);
}

static void at_once(const char *app, const char *name) {
    pid_t children[AT_ONCE];
    int outs[AT_ONCE];
    double us[AT_ONCE];
    const double begin = now_us();
    for (int i = 0; i < AT_ONCE; i++)
        children[i] = start(NULL, app, &outs[i]);
    for (int i = 0; i < AT_ONCE; i++)
        us[i] = finish(children[i], outs[i]);
    const double all = now_us() - begin;
    print_row(name, us, AT_ONCE);
    printf("  all of them: %.0f us\n", all);
}

int main(int argc, char **argv) {
    self = argv[0];
    if (argc == 3) {
        snprintf(dir, sizeof dir, "%s", argv[2]);
        return live(argv[1]);
    }
    const int count = argc == 2 ? atoi(argv[1]) : 1000;
    if (argc > 2 || count < 100 || count > MOST) {
        fprintf(stderr, "usage: host [COUNT (100 to %d)]\n", MOST);
        return 2;
    }
    snprintf(dir, sizeof dir, "/dev/shm/sfid-bench-XXXXXX");
    if (mkdtemp(dir) == NULL)
        fail(dir, strerror(errno));
    start_keeper();
    sfid *alone = open_one("alone");
    const int fds = count_in("/proc/self/fd"), threads = count_in("/proc/self/task"),
              mappings = count_mappings();
    sfid *shared = open_one("shared");
    if (sfid_next(shared) < 0)
        fail("an ID", sfid_last_error(shared));
    printf("attached: %+d descriptors, %+d threads, %+d mappings\n",
           count_in("/proc/self/fd") - fds, count_in("/proc/self/task") - threads,
           count_mappings() - mappings);
    printf("%-58s %9s %9s %9s\n", "microseconds", "median", "99 %", "worst");
    one_by_one(count);
    at_once("alone", "100 at once, a pid each: open to first ID");
    at_once("shared", "100 at once, share: open to first ID");
    sfid_close(shared);
    sfid_close(alone);
    char *const args[] = {(char *)"rm", (char *)"-rf", dir, NULL};
    pid_t rm;
    return posix_spawn(&rm, "/bin/rm", NULL, NULL, args, environ) == 0 && waitpid(rm, NULL, 0) == rm
               ? 0
               : 1;
}
