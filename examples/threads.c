/* SPDX-License-Identifier: MIT */
/*
 * threads.c - threads that share one generator, without a lock and without
 * anything of their own. No two threads get the same ID, and the IDs of each
 * thread increase.
 *
 * cc threads.c -pthread $(pkg-config --cflags --libs sfid)
 */
#include <inttypes.h>
#include <pthread.h>
#include <sfid.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define EACH 1000

struct worker {
    pthread_t thread;
    sfid *g;
    int64_t ids[EACH];
    int failed;
};

static void *work(void *arg) {
    struct worker *w = arg;
    for (int i = 0; i < EACH; i++) {
        w->ids[i] = sfid_next(w->g);
        if (w->ids[i] < 0) {
            /* this thread has its own copy of the text */
            fprintf(stderr, "%s\n", sfid_last_error(w->g));
            w->failed = 1;
            break;
        }
    }
    return NULL;
}

/* Starts the threads and waits for those that started. Returns how many succeeded. */
static int run(struct worker *workers, sfid *g) {
    int started = 0, done = 0;
    for (; started < THREADS; started++) {
        workers[started].g = g;
        const int rc = pthread_create(&workers[started].thread, NULL, work, &workers[started]);
        if (rc != 0) {
            fprintf(stderr, "no thread: %s\n", strerror(rc));
            break;
        }
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        done += !workers[i].failed;
    }
    return done;
}

int main(void) {
    static struct worker workers[THREADS];
    sfid *g = NULL;
    if (sfid_open_app(&g, "threads", "local") < 0) {
        fprintf(stderr, "%s\n", sfid_last_error(g));
        sfid_close(g);
        return 1;
    }
    const int done = run(workers, g);
    sfid_close(g); /* after the threads: later calls return SFID_ECLOSED */
    if (done < THREADS)
        return 1;
    for (int i = 0; i < THREADS; i++)
        for (int n = 0; n < EACH; n++)
            printf("%" PRId64 " thread %d\n", workers[i].ids[n], i);
    return 0;
}
