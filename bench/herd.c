/* SPDX-License-Identifier: MIT */
/*
 * herd - many processes that open one new app at once.
 *
 *     herd [DIR [URL]]
 *
 * Processes of this program wait for one signal, then each opens the app with the default time for
 * it and generates an ID. Prints for each herd the time from the signal to the first ID, the
 * processor time that an open and an ID took, and how many processes got none: 10, 100 and 1,000
 * processes with a pid each, with one page for all, and with the server of URL (left out without
 * one); 1,000 beside four processes that do nothing but run; 100 on a disk whose every sync takes
 * 20 or 300 ms. The marks lie below DIR (the working directory), the rest in /dev/shm. Compare
 * herds of one run only: what else the machine does counts.
 */
#include <errno.h>
#include <sfid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1000, BUSY = 4, STAY_MS = 300 };

static const struct herd {
    const char *store; /* NULL: the server */
    int count, busy, sync_ms;
} herds[] = {{"local", 10, 0, 0},
             {"local", 100, 0, 0},
             {"local", 1000, 0, 0},
             {"local?share=1", 10, 0, 0},
             {"local?share=1", 100, 0, 0},
             {"local?share=1", 1000, 0, 0},
             {NULL, 10, 0, 0},
             {NULL, 100, 0, 0},
             {NULL, 1000, 0, 0},
             {"local?share=1", 1000, BUSY, 0},
             {NULL, 1000, BUSY, 0},
             {"local", 100, 0, 20},
             {"local", 100, 0, 300}};

/* What each process of a herd leaves here. */
static struct times {
    double first_ms, cpu_ms;
    int failed;
    char why[256];
} * all;

static int sync_ms;
static char run_dir[64] = "/dev/shm/sfid-herd-XXXXXX", state_dir[4096];

static double now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void nap(int ms) {
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

__attribute__((noreturn)) static void fail(const char *what) {
    fprintf(stderr, "herd: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- the syncs of the library, in place of libc's ------------------------------- */

static int slow(long call, int fd) {
    if (sync_ms)
        nap(sync_ms);
    return (int)syscall(call, fd);
}

int fsync(int fd) { return slow(SYS_fsync, fd); }
int fdatasync(int fd) { return slow(SYS_fdatasync, fd); }

/* ---- a process --------------------------------------------------------------------- */

__attribute__((noreturn)) static void live(int gate, const char *app, const char *store,
                                           struct times *mine) {
    static const sfid_layout layout = SFID_LAYOUT(31, 16, 16, 1000, SFID_EPOCH_MS);
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid *g = NULL;
    char none;
    opt.app = app;
    opt.store = store;
    opt.layout = &layout;
    opt.run_dir = run_dir;
    opt.state_dir = state_dir;
    opt.on_unknown = SFID_TRUST; /* the app is new */
    if (read(gate, &none, 1) != 0)
        _exit(1);
    const double begin = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    mine->failed = sfid_open(&g, &opt) < 0 || sfid_next(g) < 0;
    mine->first_ms = now_ms(CLOCK_MONOTONIC) - begin;
    mine->cpu_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (mine->failed)
        snprintf(mine->why, sizeof mine->why, "%s", sfid_last_error(g));
    nap(STAY_MS);
    sfid_close(g);
    _exit(0);
}

/* ---- a herd ------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const struct herd *h) {
    static double first[MOST], cpu[MOST];
    char name[64];
    int failed = 0, n = 0;
    for (int i = 0; i < h->count; i++) {
        failed += all[i].failed;
        if (!all[i].failed)
            first[n++] = all[i].first_ms;
        cpu[i] = all[i].cpu_ms;
    }
    qsort(first, (size_t)n, sizeof *first, by_size);
    qsort(cpu, (size_t)h->count, sizeof *cpu, by_size);
    snprintf(name, sizeof name, "%d, %s%s", h->count, h->store ? h->store : "a server",
             h->busy ? ", four busy loops" : "");
    if (h->sync_ms)
        snprintf(name + strlen(name), sizeof name - strlen(name), ", syncs of %d ms", h->sync_ms);
    printf("%-42s %9.1f %9.1f %9.2f %9.2f %9d\n", name, n ? first[n / 2] : 0,
           n ? first[n - 1 - n / 100] : 0, cpu[h->count / 2], cpu[h->count - 1 - h->count / 100],
           failed);
    for (int i = 0; i < h->count && failed; i++)
        if (all[i].failed) {
            printf("  one of them: %s\n", all[i].why);
            break;
        }
    fflush(stdout);
}

static void run(const struct herd *h, int number, const char *url) {
    pid_t busy[BUSY], members[MOST];
    char app[64];
    int gate[2], started = 0;
    snprintf(app, sizeof app, "herd-%d-%d", (int)getpid(), number);
    sync_ms = h->sync_ms;
    if (pipe(gate) < 0)
        fail("pipe");
    for (int i = 0; i < h->busy; i++)
        if ((busy[i] = fork()) == 0) {
            close(gate[1]);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                ;
        }
    for (; started < h->count && (members[started] = fork()) >= 0; started++)
        if (members[started] == 0) {
            close(gate[1]);
            live(gate[0], app, h->store ? h->store : url, &all[started]);
        }
    if (started < h->count)
        fprintf(stderr, "herd: %d of %d processes: %s\n", started, h->count, strerror(errno));
    close(gate[1]); /* the signal */
    close(gate[0]);
    for (int i = 0; i < started; i++)
        waitpid(members[i], NULL, 0);
    for (int i = 0; i < h->busy; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    if (started == h->count)
        print_row(h);
}

static void remove_all(const char *path) {
    const pid_t rm = fork();
    if (rm == 0) {
        execlp("rm", "rm", "-rf", path, (char *)NULL);
        _exit(1);
    }
    if (rm > 0)
        waitpid(rm, NULL, 0);
}

int main(int argc, char **argv) {
    const char *url = argc > 2 ? argv[2] : NULL;
    char state[4000];
    if (argc > 3) {
        fprintf(stderr, "usage: herd [DIR [URL]]\n");
        return 2;
    }
    snprintf(state, sizeof state, "%s/sfid-herd-XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(run_dir) == NULL || mkdtemp(state) == NULL || realpath(state, state_dir) == NULL)
        fail("a directory");
    all = mmap(NULL, MOST * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        fail("memory");
    printf("%-42s %19s %19s %9s\n%-42s %9s %9s %9s %9s\n", "", "first ID, ms", "processor, ms each",
           "without", "processes that open at once", "median", "99 %", "median", "99 %");
    for (int i = 0; i < (int)(sizeof herds / sizeof *herds); i++)
        if (herds[i].store || url)
            run(&herds[i], i, url);
    remove_all(run_dir);
    remove_all(state_dir);
    return 0;
}
