/* SPDX-License-Identifier: MIT */
/* The number of a process: kept by all its threads, and by no relative of it, whatever its process
 * ID. */
#include "base/process.h"

#include "support/scene.h"

#include <pthread.h>

enum { THREADS = 8, CHILDREN = 20 };

static uint64_t *shared;
static pthread_barrier_t start;

static void *ask(void *out) {
    pthread_barrier_wait(&start);
    *(uint64_t *)out = sfid__process();
    return NULL;
}

/* All at once, and before anybody has asked in this process. */
static unsigned threads_that_differ(void) {
    pthread_t thread[THREADS];
    uint64_t number[THREADS];
    unsigned differ = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&thread[i], NULL, ask, &number[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        differ += number[i] != sfid__process();
    return differ;
}

static int has_number(void *number) { return sfid__process() == *(uint64_t *)number; }

static int in_child(void *arg) {
    uint64_t *number = arg;
    const unsigned differ = threads_that_differ();
    *number = sfid__process();
    const int same = status_of(spawn(has_number, number));
    return differ == 0 && same == 0 && sfid__process() == *number ? 0 : 1;
}

int main(void) {
    shared = shared_memory(CHILDREN * sizeof *shared);
    is_u64(threads_that_differ(), 0,
           "threads that ask at once, for the first time, get one number");
    const uint64_t mine = sfid__process();
    ok(mine != 0 && mine >> SFID__PROCESS_BITS == 0, "it is not 0, and of as many bits as it says");
    unsigned bad = 0, same = 0;
    for (int i = 0; i < CHILDREN; i++) {
        bad += status_of(spawn(in_child, &shared[i])) != 0;
        for (int k = 0; k < i; k++)
            same += shared[k] == shared[i];
        same += shared[i] == mine || shared[i] == 0;
    }
    is_u64(bad, 0, "children and theirs have one as well");
    is_u64(same, 0, "and each of them another");
    is_u64(sfid__process(), mine, "that of the parent stays");
    return done_testing();
}
