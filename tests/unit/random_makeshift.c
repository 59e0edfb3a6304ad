/* SPDX-License-Identifier: MIT */
/*
 * random_makeshift.c - random bytes where the kernel gives none: no two calls return the same, in
 * one thread, in several and in a forked child, though no clock moves. The program has a
 * getrandom() and a clock_gettime() of its own, which the library calls instead of the system's.
 */
#include "base/random.h"

#include "support/scene.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

enum { CALLS = 1000, THREADS = 3, ALL = CALLS * (THREADS + 1) };

static bool gives_some; /* the kernel returns fewer bytes than were asked for */
static _Atomic int asked;

ssize_t getrandom(void *bytes, size_t n, unsigned flags) {
    (void)flags;
    atomic_fetch_add(&asked, 1);
    if (gives_some && n > 1) {
        memset(bytes, 0, n - 1);
        return (ssize_t)n - 1;
    }
    errno = ENOSYS;
    return -1;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    (void)clock;
    *t = (struct timespec){1000, 500};
    return 0;
}

static uint64_t *numbers; /* shared with children */

static void *fill(void *from) {
    for (int i = 0; i < CALLS; i++)
        sfid__random((uint64_t *)from + i, sizeof(uint64_t));
    return NULL;
}

static int fill_in_child(void *from) {
    fill(from);
    return 0;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static unsigned repeated(size_t n) {
    unsigned same = 0;
    qsort(numbers, n, sizeof *numbers, by_value);
    for (size_t i = 1; i < n; i++)
        same += numbers[i] == numbers[i - 1];
    return same;
}

int main(void) {
    pthread_t threads[THREADS];
    char a[SFID__UUID_STR_LEN], b[SFID__UUID_STR_LEN];
    numbers = shared_memory(ALL * sizeof *numbers);
    fill(numbers);
    is_i64(atomic_load(&asked), CALLS, "the kernel is asked each time");
    is_u64(repeated(CALLS), 0, "and refuses: no two calls return the same");
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&threads[i], NULL, fill, numbers + i * CALLS) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    is_u64(repeated(THREADS * CALLS), 0, "nor do two threads");
    const pid_t child = spawn(fill_in_child, numbers + CALLS);
    fill(numbers);
    is_i64(status_of(child), 0, "a child goes on by itself");
    is_u64(repeated(2 * CALLS), 0, "with bytes that its parent does not get");
    gives_some = true;
    fill(numbers);
    is_u64(repeated(CALLS), 0, "a kernel that gives too few counts as one that gives none");
    sfid__random_uuid(a);
    sfid__random_uuid(b);
    ok(strcmp(a, b) != 0 && a[14] == '4' && b[14] == '4', "two UUIDs differ: %s, %s", a, b);
    unsigned char bytes[3][32];
    for (int i = 0; i < 3; i++)
        sfid__random(bytes[i], sizeof bytes[i]);
    ok(memcmp(bytes[0], bytes[1], 32) != 0 && memcmp(bytes[1], bytes[2], 32) != 0,
       "longer ones differ");
    bool shifted = false; /* the stream of one call must not be that of the next, a byte later */
    for (int i = 1; i < 16; i++)
        shifted |= memcmp(bytes[0] + i, bytes[1], 16) == 0;
    ok(!shifted, "and are not the same bytes moved along");
    return done_testing();
}
