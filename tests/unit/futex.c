/* SPDX-License-Identifier: MIT */
/* A wait on a word: it lasts as long as it was told, whatever the width of time_t, and where the
 * kernel has no wide form. */
#include "base/futex.h"

#include "base/clock.h"

#include "support/scene.h"

#include <pthread.h>

static _Atomic uint32_t word;

static struct { struct took some_ms, over_a_second; /* of a child as well */ } * waited;

/* Nobody wakes it: so a wait that ends early did not understand its time. A signal would, and there
 * is none. */
static struct took wait_ms(int64_t ms) {
    const int64_t begin = tap_now_ms();
    sfid__futex_wait(&word, SFID__FUTEX_SHARED, 0, ms);
    return took_since(begin);
}

static int waits(void) {
    waited->some_ms = wait_ms(60);
    waited->over_a_second = wait_ms(1050);
    return 0;
}

/* The clock of the test is in whole milliseconds. */
static void have_lasted(const char *what) {
    lasted(waited->some_ms, 60 - 1, "%s: a wait of 60 ms", what);
    lasted(waited->over_a_second, 1050 - 1, "%s: one of 1050 ms", what);
}

static void without_the_wide_form(uint32_t error) {
#ifdef SYS_futex_time64
    refuse_call(SYS_futex_time64, error);
#else
    (void)error;
#endif
}

/* The clock's sleep has the futex for its second way. */
static int sleeps_in_child(void *unused) {
    (void)unused;
    refuse_call(SYS_clock_nanosleep, EPERM);
#ifdef SYS_clock_nanosleep_time64
    refuse_call(SYS_clock_nanosleep_time64, EPERM);
#endif
    const int64_t begin = tap_now_ms();
    errno = 4711;
    sfid__system_clock.sleep_ns(&sfid__system_clock, 60000000);
    waited->some_ms = took_since(begin);
    return errno == 4711 ? 0 : 1;
}

static int waits_in_child(void *error) {
    without_the_wide_form(*(uint32_t *)error);
    return waits();
}

static void waits_without(uint32_t error, const char *name) {
    is_i64(status_of(spawn(waits_in_child, &error)), 0,
           "it waits where SYS_futex_time64 fails with %s", name);
    have_lasted(name);
}

static void *wake_it(void *arg) {
    atomic_store(&word, 1);
    sfid__futex_wake(&word, SFID__FUTEX_PRIVATE, *(int *)arg);
    return NULL;
}

int main(void) {
    waited = shared_memory(sizeof *waited);
    waits();
    have_lasted("as the kernel has it");
    waits_without(ENOSYS, "ENOSYS");
    waits_without(EPERM, "EPERM");

    is_i64(status_of(spawn(sleeps_in_child, NULL)), 0,
           "the clock sleeps where clock_nanosleep fails, and keeps errno");
    lasted(waited->some_ms, 60 - 1, "for as long as it was told");

    sfid__futex_wait(&word, SFID__FUTEX_SHARED, 7, INT64_MAX);
    ok(true, "a word of another value is not waited for");
    pthread_t thread;
    int one = 1;
    need(pthread_create(&thread, NULL, wake_it, &one) == 0, "no thread");
    while (atomic_load(&word) == 0)
        sfid__futex_wait(&word, SFID__FUTEX_PRIVATE, 0, INT64_MAX);
    pthread_join(thread, NULL);
    ok(true, "a wait without end ends when it is woken");
    errno = 4711;
    sfid__futex_wake(&word, SFID__FUTEX_SHARED, 1);
    sfid__futex_wake(&word, 64, 1); /* no such operation */
    is_i64(errno, 4711, "waking keeps errno, also where it fails");
    return done_testing();
}
