/* SPDX-License-Identifier: MIT */
/*
 * memory - what a generator takes, beside the pages of its slot and its mark.
 *
 *     memory [DIR [URL]]
 *
 * A process opens 1,000 generators of one app, each with a pid of its own, and generates an ID with
 * each. Prints what is in use of the heap for one of them, and by how much the process has grown,
 * by the kernel's count, which has a page of 4 KiB of each slot: with pids of this host, and of the
 * server of URL (left out without one). The marks lie below DIR (the working directory), the rest
 * in /dev/shm.
 */
#include <errno.h>
#include <malloc.h>
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remove.h"

enum { COUNT = 1000 };

static char run_dir[64] = "/dev/shm/sfid-memory-XXXXXX", state_dir[4096];

/* Of the process, in bytes. */
static double resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static int open_one(sfid **g, const char *store) {
    static const sfid_layout layout = SFID_LAYOUT(31, 16, 16, 1000, SFID_EPOCH_MS);
    sfid_options opt = SFID_OPTIONS_INIT;
    char app[40];
    snprintf(app, sizeof app, "memory-%d", (int)getpid());
    opt.app = app;
    opt.store = store;
    opt.layout = &layout;
    opt.run_dir = run_dir;
    opt.state_dir = state_dir;
    opt.on_unknown = SFID_TRUST; /* the app is new */
    if (sfid_open(g, &opt) >= 0 && sfid_next(*g) >= 0)
        return 0;
    fprintf(stderr, "memory: %s: %s\n", store, sfid_last_error(*g));
    return -1;
}

static void row(const char *store, const char *name) {
    static sfid *all[COUNT];
    sfid *first;
    if (open_one(&first, store) < 0) /* the crew and what a process has once */
        return;
    const double heap = (double)mallinfo2().uordblks, before = resident();
    int n = 0;
    while (n < COUNT && open_one(&all[n], store) == 0)
        n++;
    if (n == COUNT)
        printf("%-40s %9.1f %9.1f\n", name, ((double)mallinfo2().uordblks - heap) / COUNT / 1024,
               (resident() - before) / COUNT / 1024);
    while (n > 0)
        sfid_close(all[--n]);
    sfid_close(first);
}

/* In a process of its own: none finds what another row has left on the heap. */
static void row_apart(const char *store, const char *name) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        row(store, name);
        fflush(stdout);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

int main(int argc, char **argv) {
    char state[4000];
    if (argc > 3) {
        fprintf(stderr, "usage: memory [DIR [URL]]\n");
        return 2;
    }
    snprintf(state, sizeof state, "%s/sfid-memory-XXXXXX", argc > 1 ? argv[1] : ".");
    if (mkdtemp(run_dir) == NULL || mkdtemp(state) == NULL || realpath(state, state_dir) == NULL) {
        fprintf(stderr, "memory: a directory: %s\n", strerror(errno));
        return 1;
    }
    printf("%-40s %9s %9s\n", "a generator, KiB", "heap", "in all");
    row_apart("local", "a pid of this host");
    if (argc > 2)
        row_apart(argv[2], "a pid of a server");
    remove_all(run_dir);
    remove_all(state_dir);
    return 0;
}
