/* SPDX-License-Identifier: MIT */
/*
 * worker.c - a service in small: generates an ID every ten milliseconds, one a
 * line, until it is told to end. doc/tour.md kills and restarts it.
 *
 * cc worker.c $(pkg-config --cflags --libs sfid); ./a.out APP STORE
 */
#include <inttypes.h>
#include <sfid.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile sig_atomic_t told_to_end;

static void on_signal(int signal) { told_to_end = signal; }

static void work(sfid *g) {
    const struct timespec pause = {0, 10 * 1000 * 1000};
    while (!told_to_end) {
        const int64_t id = sfid_next(g);
        if (id < 0)
            /* and try again: an error is often over soon */
            fprintf(stderr, "%s\n", sfid_last_error(g));
        else if (printf("%" PRId64 "\n", id) < 0)
            return;
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv) {
    sfid *g = NULL;
    const struct sigaction end = {.sa_handler = on_signal};
    if (argc != 3) {
        fputs("usage: worker APP STORE\n", stderr);
        return 2;
    }
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0); /* each ID at once, as a row of a database would be */
    const int rc = sfid_open_app(&g, argv[1], argv[2]);
    if (rc < 0)
        fprintf(stderr, "%s\n", sfid_last_error(g));
    else
        work(g);
    sfid_close(g); /* gives the pid back; a killed process keeps it for its successor */
    return rc < 0;
}
