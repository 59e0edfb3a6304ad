/* SPDX-License-Identifier: MIT */
/*
 * prefork.c - a server that forks its workers. Parent and children share one
 * generator, opened before the fork: one pid, one sequence, no ID twice.
 *
 * cc prefork.c $(pkg-config --cflags --libs sfid)
 */
#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define REQUESTS 3

/* A worker needs nothing of its own: the handle it inherited keeps working. */
static int serve(sfid *g, int worker) {
    for (int request = 0; request < REQUESTS; request++) {
        const int64_t id = sfid_next(g);
        if (id < 0) {
            fprintf(stderr, "worker %d: %s\n", worker, sfid_last_error(g));
            return 1;
        }
        printf("%" PRId64 " worker %d\n", id, worker);
    }
    fflush(stdout);
    sfid_close(g); /* the last of the family to close releases the pid */
    return 0;
}

int main(void) {
    sfid *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = "prefork";
    opt.pid = 1;
    if (sfid_open(&g, &opt) < 0) {
        fprintf(stderr, "%s\n", sfid_last_error(g));
        sfid_close(g);
        return 1;
    }
    int failed = 0, status;
    for (int worker = 1; worker <= WORKERS; worker++) {
        const pid_t pid = fork();
        if (pid == 0)
            _exit(serve(g, worker));
        failed += pid < 0;
    }
    failed += serve(g, 0);
    while (wait(&status) > 0)
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed != 0;
}
